import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";

import { type AccessResult, measureAccess } from "./access-part.ts";
import { cliGoals, type CliResult, measureCli } from "./cli-part.ts";
import { clustersGoals, type ClustersResult, measureClusters } from "./clusters-part.ts";
import { firstGoals, type FirstOnSpoke, firstReport, measureFirst } from "./first-part.ts";
import { fleetGoals, type FleetOfTen, measureFleetOfTen } from "./fleet-part.ts";
import { type Goal, goalTable } from "./goals.ts";
import { installGoals } from "./install-goals.ts";
import { bringGuard, measureInstall, type InstallResult } from "./install-part.ts";
import { type LostSpoke, lostSpokeGoals, lostSpokeReport, measureLostSpoke } from "./lost-part.ts";
import { measureMemory, memoryGoals, type MemoryResult } from "./memory-part.ts";
import { measureRender, type RenderResult } from "./render-part.ts";
import { measureRepairs, type Repair, repairGoals, repairReport } from "./repair-part.ts";
import {
  accessGoals,
  installReport,
  renderGoals,
  renderReport,
  steadyGoals,
  steadyReport,
} from "./report.ts";
import { measureScale, scaleGoals, scaleReport, type ScaleResult } from "./scale-part.ts";
import { measureSets, setsGoals, setsReport, type SetsResult } from "./sets-part.ts";
import { measureSteady, type SteadyResult } from "./steady-part.ts";
import { measureUi, uiGoals, type UiResult } from "./ui-part.ts";
import { measureWebhook, webhookGoals, type WebhookResult } from "./webhook-part.ts";
import { startWorkbench } from "./workbench.ts";

const fleetParts = ["eventing", "serving", "repair", "lost", "steady"] as const;
const parts = [
  ...fleetParts,
  "first",
  "render",
  "access",
  "fleet",
  "memory",
  "webhook",
  "cli",
  "sets",
  "clusters",
  "ui",
  "scale",
] as const;
/** It takes 45 minutes, so it runs only when it is asked for. */
const onDemand = ["scale"];
const usage = `Usage: npm run bench -- [--only ${parts.join("|")}] [--json FILE] [--quick] [--runs N] [--rtt MS,MS,…] [--spokes N] [--replicas N]

Compares knfleet-controller with kubectl apply --server-side on real control planes, in one run.
  --only NAME   one part: installs and removals of Eventing or of Serving + Kourier, the first component on a fresh spoke, repairs, a spoke that is lost in five ways, the steady state,
                rendering (without any cluster), the way to spokes, ten spokes at once, the memory of idle spokes, the admission
                webhook, kubectl knfleet with 200 spokes, decisions about large fleet sets (without any cluster),
                how long a cluster takes to be registered and discovered, the page of kubectl knfleet ui with 1,000 installations
                in a browser, or a thousand simulated spokes (45 minutes, and only when it is asked for)
  --json FILE   write all figures to FILE too
  --runs N      installations per figure, of which the median counts (default 5)
  --quick       the webhook for 10 s instead of 60 s, with a tenth of the certificates
  --spokes N    simulated spokes of the part scale (default 1000)
  --replicas N  controllers that share them in its experiments f, with twice as many shards (default 3; 1 leaves f out)
  --rtt LIST    round-trip times in ms (default 0,50,200)`;

interface Options {
  readonly only: string | undefined;
  readonly json: string | undefined;
  readonly quick: boolean;
  readonly runs: number;
  readonly rtts: readonly number[];
  readonly spokes: number;
  readonly replicas: number;
}

function optionsOf(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      json: { type: "string" },
      quick: { type: "boolean", default: false },
      runs: { type: "string", default: "5" },
      spokes: { type: "string", default: "1000" },
      replicas: { type: "string", default: "3" },
      rtt: { type: "string", default: "0,50,200" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const runs = wholeNumber("--runs", values.runs, 1);
  const spokes = wholeNumber("--spokes", values.spokes, 10);
  const replicas = wholeNumber("--replicas", values.replicas, 1);
  const rtts = values.rtt.split(",").map(Number);
  if (!rtts.every((rtt) => Number.isFinite(rtt) && rtt >= 0)) {
    throw new Error("--rtt takes milliseconds, separated by commas");
  }
  if (values.only !== undefined && !parts.some((part) => part === values.only)) {
    throw new Error(`--only takes one of ${parts.join(", ")}`);
  }
  const { only, json, quick } = values;
  return { only, json, quick, runs, rtts, spokes, replicas };
}

function wholeNumber(flag: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least) return number;
  throw new Error(`${flag} takes a whole number from ${least}`);
}

async function bench({ json, ...options }: Options): Promise<void> {
  // Found out now and not after ten minutes.
  if (json !== undefined) await writeFile(json, "");
  const startedAt = performance.now();
  const say = (line: string): void => {
    const elapsed = Math.round((performance.now() - startedAt) / 1000);
    process.stderr.write(`[${String(elapsed).padStart(4)} s] ${line}\n`);
  };
  say(`Load of this machine before the start: ${loadavg()[0]?.toFixed(1)}`);
  const results: Results = {
    ...(await measureParts(options, say)),
    ...(fleetParts.some((part) => isWanted(part, options.only))
      ? await measureFleet(options, say)
      : noFleet),
  };
  const goals = goalsOf(results);
  process.stdout.write(`\n${[...tablesOf(results), goalTable(goals)].join("\n\n")}\n`);
  if (json !== undefined) {
    const figures = goals.map(({ text, value, limit }) => ({ text, value, limit }));
    const all = { ...results, goals: figures };
    await writeFile(json, `${JSON.stringify(all, undefined, 2)}\n`);
  }
}

/** The parts that start what they need by themselves, one after the other. */
async function measureParts(
  { only, quick, runs, rtts, spokes, replicas }: Omit<Options, "json">,
  say: (line: string) => void,
): Promise<Omit<Results, keyof FleetResult>> {
  return {
    first: isWanted("first", only) ? await measureFirst({ runs, rtts }, say) : [],
    renders: isWanted("render", only) ? await measureRender(runs, say) : [],
    access: isWanted("access", only) ? await measureAccess(say) : null,
    fleet: isWanted("fleet", only) ? await measureFleetOfTen(runs, say) : null,
    memory: isWanted("memory", only) ? await measureMemory(runs, say) : null,
    webhook: isWanted("webhook", only) ? await measureWebhook(quick, say) : null,
    cli: isWanted("cli", only) ? await measureCli(say) : null,
    sets: isWanted("sets", only) ? measureSets(say) : [],
    clusters: isWanted("clusters", only) ? await measureClusters(runs, say) : null,
    ui: isWanted("ui", only) ? await measureUi(runs, say) : null,
    scale: isWanted("scale", only)
      ? await measureScale({ spokes, replicas, shards: 2 * replicas }, say)
      : null,
  };
}

interface Results extends FleetResult {
  readonly first: readonly FirstOnSpoke[];
  readonly renders: readonly RenderResult[];
  readonly access: AccessResult | null;
  readonly fleet: FleetOfTen | null;
  readonly memory: MemoryResult | null;
  readonly webhook: WebhookResult | null;
  readonly cli: CliResult | null;
  readonly sets: readonly SetsResult[];
  readonly clusters: ClustersResult | null;
  readonly ui: UiResult | null;
  readonly scale: ScaleResult | null;
}

function goalsOf(results: Results): readonly Goal[] {
  return [
    ...renderGoals(results.renders),
    ...(results.access === null ? [] : accessGoals(results.access)),
    ...(results.fleet === null ? [] : fleetGoals(results.fleet)),
    ...(results.memory === null ? [] : memoryGoals(results.memory)),
    ...(results.webhook === null ? [] : webhookGoals(results.webhook)),
    ...(results.cli === null ? [] : cliGoals(results.cli)),
    ...setsGoals(results.sets),
    ...(results.clusters === null ? [] : clustersGoals(results.clusters)),
    ...(results.ui === null ? [] : uiGoals(results.ui)),
    ...(results.scale === null ? [] : scaleGoals(results.scale)),
    ...installGoals(results.installs),
    ...firstGoals(results.first),
    ...(results.steady === null ? [] : steadyGoals(results.steady)),
    ...(results.repairs.length === 0 ? [] : repairGoals(results.repairs)),
    ...(results.lost.length === 0 ? [] : lostSpokeGoals(results.lost)),
  ];
}

function isWanted(part: (typeof parts)[number], only: string | undefined): boolean {
  return only === undefined ? !onDemand.includes(part) : only === part;
}

interface FleetResult {
  readonly installs: readonly InstallResult[];
  readonly steady: SteadyResult | null;
  readonly repairs: readonly Repair[];
  readonly lost: readonly LostSpoke[];
}

const noFleet: FleetResult = { installs: [], steady: null, repairs: [], lost: [] };

async function measureFleet(
  { only, runs, rtts }: Pick<Options, "only" | "runs" | "rtts">,
  say: (line: string) => void,
): Promise<FleetResult> {
  await using workbench = await startWorkbench(say);
  const installs: InstallResult[] = [];
  for (const subject of workbench.subjects) {
    if (!isWanted(subject.name, only)) continue;
    await bringGuard(workbench, subject);
    for (const rttMs of rtts) {
      installs.push(await measureInstall(workbench, { subject, rttMs, runs }, say));
    }
  }
  return {
    installs,
    repairs: isWanted("repair", only) ? await measureRepairs(workbench, say) : [],
    lost: isWanted("lost", only) ? await measureLostSpoke(workbench, say) : [],
    // Last: it leaves everything installed.
    steady: isWanted("steady", only) ? await measureSteady(workbench, say) : null,
  };
}

function tablesOf({
  renders,
  installs,
  first,
  steady,
  repairs,
  lost,
  sets,
  scale,
}: FleetResult & Pick<Results, "renders" | "first" | "sets" | "scale">): readonly string[] {
  return [
    ...(renders.length === 0 ? [] : [renderReport(renders)]),
    ...(installs.length === 0 ? [] : [installReport(installs)]),
    ...(first.length === 0 ? [] : [firstReport(first)]),
    ...(repairs.length === 0 ? [] : [repairReport(repairs)]),
    ...(lost.length === 0 ? [] : [lostSpokeReport(lost)]),
    ...(sets.length === 0 ? [] : [setsReport(sets)]),
    ...(scale === null ? [] : [scaleReport(scale)]),
    ...(steady === null ? [] : [steadyReport(steady)]),
  ];
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options === undefined) process.stdout.write(`${usage}\n`);
  else await bench(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
  process.exitCode = 1;
}
