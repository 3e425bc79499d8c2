import { startFleet } from "../fleet/fleet.ts";
import { commandFaults, commandOptionsOf, commandUsage } from "./commands/command-faults.ts";
import { startFaultBench } from "./fault-bench.ts";
import { faultCases } from "./fault-cases.ts";
import { optionsOf, usage, type FaultOptions } from "./fault-options.ts";
import { runFaults, setSweepOf } from "./run-faults.ts";
import { spokesOfSets, startSetBench } from "./sets/set-bench.ts";
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
    await using fleet = await startFleet({ spokes: spokesOfSets, log: say });
    await using bench = await startSetBench(fleet, say);
    results.push(...(await sweepSets(bench, setPlan)));
  }
  if (results.length === 0) throw new Error("No case has that description");
  process.stdout.write(`${tableOf(results, seed)}\n`);
  return results.every(({ survived, late }) => survived && late.length === 0) ? 0 : 1;
}

const [bench, ...args] = process.argv.slice(2);
const isOfCommands = bench === "commands";
const help = isOfCommands ? commandUsage : usage;
try {
  const run = isOfCommands ? commandRun(args) : faultRun(process.argv.slice(2));
  if (run === undefined) process.stdout.write(`${help}\n`);
  else process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}\n`);
  process.exitCode = 1;
}

type Run = (() => Promise<number>) | undefined;

function faultRun(line: readonly string[]): Run {
  const options = optionsOf(line);
  return options && (() => faults(options));
}

function commandRun(line: readonly string[]): Run {
  const options = commandOptionsOf(line);
  return options && (() => commandFaults(options));
}
