/** Returns the value that was found for a key moments ago, or finds it. A failure is not remembered. */
export type BriefMemory<Value> = (key: unknown, find: () => Promise<Value>) => Promise<Value>;

const maxKept = 1_000;

/** A memory of at most 1,000 values, each for `keptMs` milliseconds of the monotonic clock `now`. Keys are compared as JSON. */
export function createBriefMemory<Value>(
  now: () => number,
  keptMs: (value: Value) => number,
): BriefMemory<Value> {
  const kept = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  return async (key, find) => {
    const id = JSON.stringify(key);
    const found = kept.get(id);
    if (found !== undefined && now() < found.untilMs) return found.value;
    const value = await find();
    kept.delete(id);
    kept.set(id, { value, untilMs: now() + keptMs(value) });
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}
