import type { Clock } from "../../access/time/clock.ts";

/** Returns the value that was found for a key moments ago, or finds it. A failure is not remembered. */
export type BriefMemory<Value> = (key: unknown, find: () => Promise<Value>) => Promise<Value>;

const maxKept = 1_000;

/** A memory of at most 1,000 values, each for `keptMs` milliseconds. Keys are compared as JSON. */
export function createBriefMemory<Value>(
  clock: Pick<Clock, "now">,
  keptMs: (value: Value) => number,
): BriefMemory<Value> {
  const kept = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  return async (key, find) => {
    const id = JSON.stringify(key);
    const found = kept.get(id);
    if (found !== undefined && clock.now() < found.untilMs) return found.value;
    const value = await find();
    kept.delete(id);
    kept.set(id, { value, untilMs: clock.now() + keptMs(value) });
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}
