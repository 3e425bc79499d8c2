import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { type AccessResult, measureAccess } from "./access-part.ts";
import { measureInstall, type InstallResult } from "./install-part.ts";
import { measureRender } from "./render-part.ts";
import { accessReport, installReport, renderReport, steadyReport } from "./report.ts";
import { measureSteady, type SteadyResult } from "./steady-part.ts";
import { startWorkbench } from "./workbench.ts";

const parts = ["eventing", "serving", "steady", "render", "access"] as const;
const usage = `Usage: npm run bench -- [--only ${parts.join("|")}] [--json FILE] [--runs N] [--rtt MS,MS,…]

Compares knfleet-controller with kubectl apply --server-side on real control planes, in one run.
  --only NAME   one part: installs of Eventing, installs of Serving + Kourier, the steady state, rendering (without any cluster), or the way to spokes
  --json FILE   write all figures to FILE too
  --runs N      installations per figure, of which the median counts (default 3)
  --rtt LIST    round-trip times in ms (default 0,50,200)`;

interface Options {
  readonly only: string | undefined;
  readonly json: string | undefined;
  readonly runs: number;
  readonly rtts: readonly number[];
}

function optionsOf(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      json: { type: "string" },
      runs: { type: "string", default: "3" },
      rtt: { type: "string", default: "0,50,200" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const runs = Number(values.runs);
  const rtts = values.rtt.split(",").map(Number);
  if (!Number.isInteger(runs) || runs < 1) throw new Error("--runs takes a whole number from 1");
  if (!rtts.every((rtt) => Number.isFinite(rtt) && rtt >= 0)) {
    throw new Error("--rtt takes milliseconds, separated by commas");
  }
  if (values.only !== undefined && !parts.some((part) => part === values.only)) {
    throw new Error(`--only takes one of ${parts.join(", ")}`);
  }
  return { only: values.only, json: values.json, runs, rtts };
}

async function bench({ only, json, runs, rtts }: Options): Promise<void> {
  // Found out now and not after ten minutes.
  if (json !== undefined) await writeFile(json, "");
  const startedAt = performance.now();
  const say = (line: string): void => {
    const elapsed = Math.round((performance.now() - startedAt) / 1000);
    process.stderr.write(`[${String(elapsed).padStart(4)} s] ${line}\n`);
  };
  const renders = only === undefined || only === "render" ? await measureRender(runs, say) : [];
  if (renders.length > 0) process.stdout.write(`${renderReport(renders)}\n\n`);
  let access: AccessResult | null = null;
  if (only === undefined || only === "access") {
    access = await measureAccess(say);
    process.stdout.write(`${accessReport(access)}\n\n`);
  }
  const alone = only === "render" || only === "access";
  const fleet = alone ? noFleet : await measureFleet({ only, runs, rtts }, say);
  if (json !== undefined) {
    const { installs, steady = null } = fleet;
    await writeFile(
      json,
      `${JSON.stringify({ installs, steady, renders, access }, undefined, 2)}\n`,
    );
  }
}

interface FleetResult {
  readonly installs: readonly InstallResult[];
  readonly steady?: SteadyResult;
}

const noFleet: FleetResult = { installs: [] };

async function measureFleet(
  { only, runs, rtts }: Omit<Options, "json">,
  say: (line: string) => void,
): Promise<FleetResult> {
  await using workbench = await startWorkbench(say);
  const installs: InstallResult[] = [];
  for (const subject of workbench.subjects) {
    if (only !== undefined && only !== subject.name) continue;
    for (const rttMs of rtts) {
      installs.push(await measureInstall(workbench, { subject, rttMs, runs }, say));
    }
  }
  let steady: SteadyResult | undefined;
  if (only === undefined || only === "steady") steady = await measureSteady(workbench, say);
  if (installs.length > 0) process.stdout.write(`${installReport(installs)}\n`);
  if (steady !== undefined) process.stdout.write(`\n${steadyReport(steady)}\n`);
  return steady === undefined ? { installs } : { installs, steady };
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options === undefined) process.stdout.write(`${usage}\n`);
  else await bench(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
  process.exitCode = 1;
}
