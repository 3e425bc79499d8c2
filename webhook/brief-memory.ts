/** Gives what was found out moments ago, or finds it out; what failed is not remembered. */
export type BriefMemory<Value> = (
  key: readonly string[],
  find: () => Promise<Value>,
) => Promise<Value>;

const maxKept = 500;

/** A memory of at most 500 things for some milliseconds of a monotonic clock. */
export function createBriefMemory<Value>(now: () => number, keptMs: number): BriefMemory<Value> {
  const kept = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  return async (key, find) => {
    const id = JSON.stringify(key);
    const found = kept.get(id);
    if (found !== undefined && now() < found.untilMs) return found.value;
    const value = await find();
    kept.delete(id);
    kept.set(id, { value, untilMs: now() + keptMs });
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}
