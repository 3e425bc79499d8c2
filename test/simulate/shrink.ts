import { type RunOptions, runSeed } from "./run-seed.ts";
import { scenarioOf } from "./scenario.ts";

/** Leaves out the events of a failing seed, one after the other, without which it still fails. Returns a line for each event that is left. */
export async function shrink(seed: number, options: RunOptions): Promise<readonly string[]> {
  const { events } = scenarioOf(seed, options);
  const dropped = new Set<number>();
  for (const index of events.keys()) {
    dropped.add(index);
    // oxlint-disable-next-line no-await-in-loop -- each run builds on the one before it
    const { problems } = await runSeed(seed, { ...options, dropped });
    if (problems.length === 0) dropped.delete(index);
  }
  const left = events.filter((_, index) => !dropped.has(index));
  return [
    `${left.length} of ${events.length} events are enough:`,
    ...left.map(({ atMs, kind }) => `  ${(atMs / 1_000).toFixed(1)} s ${kind}`),
  ];
}
