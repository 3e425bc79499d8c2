import { startFaultBench } from "./fault-bench.ts";
import { faultCases } from "./fault-cases.ts";
import { optionsOf, usage, type FaultOptions } from "./fault-options.ts";
import { runFaults, setSweepOf } from "./run-faults.ts";
import { startSetBench } from "./sets/set-bench.ts";
import { sweepSets } from "./sets/set-sweep.ts";
import { tableOf } from "./table.ts";
import type { FaultResult } from "./trial.ts";

async function faults({ seed, isGuarded, list, ...plan }: FaultOptions): Promise<number> {
  if (list) {
    const lines = faultCases.map(
      ({ id, fault, isQuick }) => `${id.padEnd(5)} ${isQuick ? "quick" : "     "} ${fault}`,
    );
    process.stdout.write(`${lines.join("\n")}\n`);
    return 0;
  }
  const startedAt = performance.now();
  const say = (line: string): void => {
    const elapsed = Math.round((performance.now() - startedAt) / 1_000);
    process.stderr.write(`[${String(elapsed).padStart(5)} s] ${line}\n`);
  };
  say(`Seed ${seed}`);
  const results: FaultResult[] = [];
  if (plan.point.kind !== "Set") {
    await using bench = await startFaultBench({ seed, isGuarded, say });
    results.push(...(await runFaults(bench, plan)));
  }
  const setPlan = setSweepOf(plan);
  if (setPlan !== undefined) {
    await using bench = await startSetBench(say);
    results.push(...(await sweepSets(bench, setPlan)));
  }
  if (results.length === 0) throw new Error("No case has that description");
  process.stdout.write(`${tableOf(results, seed)}\n`);
  return results.every(({ survived, late }) => survived && late.length === 0) ? 0 : 1;
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options === undefined) process.stdout.write(`${usage}\n`);
  else process.exitCode = await faults(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
  process.exitCode = 1;
}
