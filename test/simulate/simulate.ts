import { parseArgs } from "node:util";

import { FreshInstalls } from "./fresh-install.ts";
import { type RunOptions, runSeed } from "./run-seed.ts";
import { shrink } from "./shrink.ts";
import type { RunResult } from "./simulation.ts";
import { openSurroundings } from "./surroundings.ts";

const hourMs = 3_600_000;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    runs: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    trace: { type: "boolean", default: false },
  },
});

await using surroundings = await openSurroundings();
const options = { surroundings, installs: new FreshInstalls(surroundings), quietMs: hourMs };
const areGood =
  values.seed === undefined
    ? await runMany(Number(values.from), Number(values.runs))
    : await runOne(Number(values.seed));
process.exitCode = areGood ? 0 : 1;

/** Runs many seeds, and says what they met. */
async function runMany(first: number, count: number): Promise<boolean> {
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

/** Runs one seed. When it fails, leaves out as many events as it can while it still fails. */
async function runOne(seed: number): Promise<boolean> {
  const traced: RunOptions = values.trace ? { ...options, onLine: say } : options;
  const result = await runSeed(seed, traced);
  say(`Trace ${result.traceHash}`);
  if (result.problems.length === 0) return true;
  say(problemsOf(seed, result));
  if (!values.trace) for (const line of await shrink(seed, options)) say(line);
  return false;
}

function problemsOf(seed: number, { problems }: RunResult): string {
  return `Seed ${seed} fails:\n  ${problems.join("\n  ")}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
