import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

import { allFaults, faultNamed } from "./known-faults.ts";
import { putBack } from "./put-back.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    runs: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    trace: { type: "boolean", default: false },
    fault: { type: "string" },
    "known-faults": { type: "boolean", default: false },
  },
});

process.exitCode = (await run()) ? 0 : 1;

async function run(): Promise<boolean> {
  if (values["known-faults"]) return findAll();
  const fault = values.fault === undefined ? undefined : faultNamed(values.fault);
  if (fault !== undefined) putBack(fault);
  // Only now: the fault has to be there before the modules of the product are loaded.
  const { find, runMany, runOne } = await import("./runs.ts");
  const seeds = { first: Number(values.seed ?? values.from), count: Number(values.runs) };
  if (values.seed !== undefined) return runOne(seeds, values.trace);
  return fault === undefined ? runMany(seeds) : find(fault, seeds);
}

/** Looks for the first seed that finds each fault, in a process for each: a module is loaded once. */
function findAll(): boolean {
  const searches = allFaults.map(({ name }) => {
    const args = [import.meta.filename, "--fault", name, "--runs", "200"];
    return spawnSync(process.execPath, args, { stdio: "inherit" }).status === 0;
  });
  return searches.every((isFound) => isFound);
}
