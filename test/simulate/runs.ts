import { FreshInstalls } from "./fresh-install.ts";
import type { Fault } from "./known-faults.ts";
import { type RunOptions, runSeed } from "./run-seed.ts";
import { shrink } from "./shrink.ts";
import type { RunResult } from "./simulation.ts";
import { openSurroundings } from "./surroundings.ts";

const hourMs = 3_600_000;

/** Seeds of a run. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
}

/** Runs many seeds, and says what they met. Returns whether all are good. */
export async function runMany({ first, count }: Seeds): Promise<boolean> {
  await using options = await openOptions();
  const began = performance.now();
  const results = new Map<number, RunResult>();
  for (let seed = first; seed < first + count; seed += 1) {
    // oxlint-disable-next-line no-await-in-loop -- they share the processor
    const result = await runSeed(seed, options);
    results.set(seed, result);
    if (result.problems.length > 0) say(problemsOf(seed, result));
  }
  const all = [...results.values()];
  const sum = (countOf: (result: RunResult) => number): number =>
    all.reduce((total, result) => total + countOf(result), 0);
  const hours = (sum(({ virtualMs }) => virtualMs) / hourMs).toFixed(1);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  say(`${count} seeds, ${hours} virtual hours in ${seconds} s`);
  say(`${sum(({ events }) => events)} events, ${sum(({ requests }) => requests)} requests`);
  const kinds = new Set(all.flatMap(({ faults }) => [...faults.keys()]));
  const faults = [...kinds].map((kind) => `${kind} ${sum((one) => one.faults.get(kind) ?? 0)}`);
  say(`Faults met: ${faults.join(", ")}`);
  const failed = [...results].flatMap(([seed, { problems }]) => (problems.length > 0 ? seed : []));
  say(`Seeds failed: ${failed.length === 0 ? "none" : failed.join(", ")}`);
  return failed.length === 0;
}

/** Runs one seed. When it fails, leaves out as many events as it can while it still fails. Returns whether it is good. */
export async function runOne({ first: seed }: Seeds, isTraced: boolean): Promise<boolean> {
  await using options = await openOptions();
  const traced: RunOptions = isTraced ? { ...options, onLine: say } : options;
  const result = await runSeed(seed, traced);
  say(`Trace ${result.traceHash}`);
  if (result.problems.length === 0) return true;
  say(problemsOf(seed, result));
  if (!isTraced) for (const line of await shrink(seed, options)) say(line);
  return false;
}

/** Runs seeds until one shows the fault that was put back. Returns whether one does. */
export async function find({ name, problem }: Fault, seeds: Seeds): Promise<boolean> {
  say(`A controller that ${name}`);
  await using open = await openOptions();
  // No known fault shows only then.
  const options = { ...open, quietMs: 0 };
  const { first, count } = seeds;
  for (let seed = first; seed < first + count; seed += 1) {
    // oxlint-disable-next-line no-await-in-loop -- until one of them finds it
    const { problems } = await runSeed(seed, options);
    const [shown] = problems;
    const isMeant = shown?.includes(problem) === true;
    if (shown !== undefined) say(`Seed ${seed} ${isMeant ? "finds it" : "fails"}: ${shown}`);
    if (isMeant) return true;
  }
  say(`None of ${count} seeds finds it`);
  return false;
}

async function openOptions(): Promise<RunOptions & AsyncDisposable> {
  const surroundings = await openSurroundings();
  return {
    surroundings,
    installs: new FreshInstalls(surroundings),
    quietMs: hourMs,
    [Symbol.asyncDispose]: () => surroundings[Symbol.asyncDispose](),
  };
}

function problemsOf(seed: number, { problems }: RunResult): string {
  return `Seed ${seed} fails:\n  ${problems.join("\n  ")}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
