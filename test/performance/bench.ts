import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { inspect, parseArgs } from "node:util";

import { FleetError } from "../../api/errors.ts";
import { type FoundFiles, foundFiles } from "../support/found-releases.ts";
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
import {
  measureTenantOnHub,
  tenantHubGoals,
  tenantHubReport,
  type TenantOnHub,
} from "./tenant-hub-part.ts";
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
  "tenant",
  "clusters",
  "ui",
  "scale",
] as const;
/** It takes 45 minutes, so it runs only when it is asked for. */
const onDemand = ["scale"];
const usage = `Usage: npm run bench -- [--only ${parts.join("|")}] [--json FILE] [--quick] [--runs N] [--rtt MS,MS,…] [--spokes N] [--replicas N] [--release-dir DIR]

Compares knfleet-controller with kubectl apply --server-side on real control planes, in one run.
  --only NAME   one part: installs and removals of Eventing or of Serving + Kourier, the first component on a fresh spoke, repairs, a spoke that is lost in five ways, the steady state,
                rendering (without any cluster), the way to spokes, ten spokes at once, the memory of idle spokes, the admission
                webhook, kubectl knfleet with 200 spokes, large fleet sets and 2,000 of one tenant (without any cluster),
                2,000 fleet sets of one tenant on a real hub,
                how long a cluster takes to be registered and discovered, the page of kubectl knfleet ui with 1,000 installations
                in a browser, or a thousand simulated spokes (45 minutes, and only when it is asked for)
  --json FILE   write all figures to FILE too
  --runs N      installations per figure, of which the median counts (default 5)
  --quick       the webhook for 10 s instead of 60 s, with a tenth of the certificates
  --spokes N    simulated spokes of the part scale (default 1000)
  --replicas N  controllers that share them in its experiments f, with twice as many shards (default 3; 1 leaves f out)
  --rtt LIST    round-trip times in ms (default 0,50,200)
  --release-dir DIR  release files (default: those of KNFLEET_RELEASE_DIR, else of the cache); test/fixtures/release is the
                sample. Only comparisons with upstream need Knative's own files, and are left out without them`;

/** Parts in which nothing is rendered. */
const withoutReleases: readonly string[] = ["access", "cli", "sets", "tenant", "clusters", "ui"];

interface Options {
  readonly only: string | undefined;
  readonly json: string | undefined;
  readonly releaseDir: string | undefined;
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
      "release-dir": { type: "string" },
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
  const { only, json, quick, "release-dir": dir } = values;
  return { only, json, releaseDir: dir, quick, runs, rtts, spokes, replicas };
}

function wholeNumber(flag: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least) return number;
  throw new Error(`${flag} takes a whole number from ${least}`);
}

async function bench({ json, releaseDir, ...options }: Options): Promise<void> {
  // Found out now and not after ten minutes.
  const releases = await releasesFor(options, releaseDir);
  if (json !== undefined) await writeFile(json, "");
  const startedAt = performance.now();
  const say = (line: string): void => {
    const elapsed = Math.round((performance.now() - startedAt) / 1000);
    process.stderr.write(`[${String(elapsed).padStart(4)} s] ${line}\n`);
  };
  for (const line of fileLines(releases)) say(line);
  say(`Load of this machine before the start: ${loadavg()[0]?.toFixed(1)}`);
  const results: Results = {
    ...(await measureParts(options, say)),
    ...(fleetParts.some((part) => isWanted(part, options.only))
      ? await measureFleet(options, say)
      : noFleet),
  };
  const goals = goalsOf(results, releases);
  const texts = [...fileLines(releases), ...tablesOf(results), goalTable(goals)];
  process.stdout.write(`\n${[...texts, ...leftOut(results, releases)].join("\n\n")}\n`);
  if (json !== undefined) {
    const figures = goals.map(({ text, value, limit }) => ({ text, value, limit }));
    const all = { releases, ...results, goals: figures };
    await writeFile(json, `${JSON.stringify(all, undefined, 2)}\n`);
  }
}

/** Finds the release files for all parts, which look for them by themselves; null when no part needs any. */
async function releasesFor(
  { only = "" }: Pick<Options, "only">,
  named: string | undefined,
): Promise<FoundFiles | null> {
  if (withoutReleases.includes(only)) return null;
  const found = await foundFiles(named, (line) => void process.stderr.write(`${line}\n`));
  process.env["KNFLEET_RELEASE_DIR"] = found.dir;
  return found;
}

function fileLines(releases: FoundFiles | null): readonly string[] {
  return releases === null ? [] : [`Release files: ${releases.title}`];
}

function leftOut({ first }: Results, releases: FoundFiles | null): readonly string[] {
  if (first.length === 0 || releases?.isKnative !== false) return [];
  const what = "the comparison with the upstream operator";
  return [`Left out: ${what}, whose figures are for Knative's own release files`];
}

/** The parts that start what they need by themselves, one after the other. */
async function measureParts(
  { only, quick, runs, rtts, spokes, replicas }: Omit<Options, "json" | "releaseDir">,
  say: (line: string) => void,
): Promise<Omit<Results, keyof FleetResult>> {
  const when = async <Result>(
    part: (typeof parts)[number],
    measure: () => Promise<Result>,
  ): Promise<Result | null> => (isWanted(part, only) ? await measure() : null);
  return {
    first: (await when("first", () => measureFirst({ runs, rtts }, say))) ?? [],
    renders: (await when("render", () => measureRender(runs, say))) ?? [],
    access: await when("access", () => measureAccess(say)),
    fleet: await when("fleet", () => measureFleetOfTen(runs, say)),
    memory: await when("memory", () => measureMemory(runs, say)),
    webhook: await when("webhook", () => measureWebhook(quick, say)),
    cli: await when("cli", () => measureCli(say)),
    sets: await when("sets", () => measureSets(say)),
    tenant: await when("tenant", () => measureTenantOnHub(say)),
    clusters: await when("clusters", () => measureClusters(runs, say)),
    ui: await when("ui", () => measureUi(runs, say)),
    scale: await when("scale", () => measureScale({ spokes, replicas, shards: 2 * replicas }, say)),
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
  readonly sets: SetsResult | null;
  readonly tenant: TenantOnHub | null;
  readonly clusters: ClustersResult | null;
  readonly ui: UiResult | null;
  readonly scale: ScaleResult | null;
}

function goalsOf(results: Results, releases: FoundFiles | null): readonly Goal[] {
  return [
    ...renderGoals(results.renders),
    ...goalsIf(results.access, accessGoals),
    ...goalsIf(results.fleet, fleetGoals),
    ...goalsIf(results.memory, memoryGoals),
    ...goalsIf(results.webhook, webhookGoals),
    ...goalsIf(results.cli, cliGoals),
    ...setsGoals(results.sets),
    ...goalsIf(results.tenant, tenantHubGoals),
    ...goalsIf(results.clusters, clustersGoals),
    ...goalsIf(results.ui, uiGoals),
    ...goalsIf(results.scale, scaleGoals),
    ...installGoals(results.installs),
    ...firstGoals(results.first, releases),
    ...goalsIf(results.steady, steadyGoals),
    ...(results.repairs.length === 0 ? [] : repairGoals(results.repairs)),
    ...(results.lost.length === 0 ? [] : lostSpokeGoals(results.lost)),
  ];
}

/** The goals of a part that was measured. */
function goalsIf<Result>(
  result: Result | null,
  goals: (result: Result) => readonly Goal[],
): readonly Goal[] {
  return result === null ? [] : goals(result);
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
  tenant,
  scale,
}: FleetResult &
  Pick<Results, "renders" | "first" | "sets" | "tenant" | "scale">): readonly string[] {
  return [
    ...(renders.length === 0 ? [] : [renderReport(renders)]),
    ...(installs.length === 0 ? [] : [installReport(installs)]),
    ...(first.length === 0 ? [] : [firstReport(first)]),
    ...(repairs.length === 0 ? [] : [repairReport(repairs)]),
    ...(lost.length === 0 ? [] : [lostSpokeReport(lost)]),
    ...(sets === null ? [] : [setsReport(sets)]),
    ...(tenant === null ? [] : [tenantHubReport(tenant)]),
    ...(scale === null ? [] : [scaleReport(scale)]),
    ...(steady === null ? [] : [steadyReport(steady)]),
  ];
}

let options: Options | undefined;
try {
  options = optionsOf(process.argv.slice(2));
  if (options === undefined) process.stdout.write(`${usage}\n`);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`Error: ${text}\n\n${usage}\n`);
  process.exitCode = 1;
}
if (options !== undefined) await bench(options).catch(failed);

/** One line for what a user can meet. */
function failed(error: unknown): void {
  process.exitCode = 1;
  const text = error instanceof FleetError ? `Error: ${error.message}` : inspect(error);
  const isMissing = error instanceof FleetError && error.reason === "ReleasesUnavailable";
  const next = "; name a folder with --release-dir, such as test/fixtures/release, the sample";
  process.stderr.write(`${text}${isMissing ? next : ""}\n`);
  // A connection that nobody answers would keep the process for a while.
  setTimeout(() => process.exit(), 200).unref();
}
