import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

import type { ComponentKind } from "../../api/component.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { buildDist } from "../build/dist-folder.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { requestsTo } from "../e2e/requests.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import { type Cluster, type Fleet, type Profile, startFleet } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { startControllerProcess } from "../support/controller-process.ts";
import { medianOf, megabytes, seconds } from "./figures.ts";
import { allAre, componentsOn, createAll, removeAll } from "./fleet-components.ts";
import type { Goal } from "./goals.ts";
import { keepGuard } from "./kept-guard.ts";
import { runKubectl } from "./kubectl-install.ts";
import { type Usage, usageOf } from "./process-usage.ts";
import { wipe } from "./wipe.ts";
import { manifestsOf, scratch } from "./workbench.ts";

/** Twenty components on ten real spokes, and two replicas of the controller that take turns: medians of all runs. */
export interface FleetOfTen {
  /** One Eventing on one spoke: from its creation to the answer of the write that applied the last object. */
  readonly oneMs: number;
  /** Twenty components, created at once: the same, for the last of all. */
  readonly allMs: number;
  /** What the controller's process computed meanwhile: it cannot be faster on a machine on which the servers need no time. */
  readonly allCpuMs: number;
  /** What the processes of the ten spokes computed meanwhile, divided by the processors of this machine: nobody can be faster on it. */
  readonly floorMs: number;
  /** The same objects by ten `kubectl apply --server-side` at once: what the servers need on this machine. */
  readonly kubectlMs: number;
  /**
   * Sixteen on the first eight spokes while the other two hang: with nothing for those, and beside four components for them. Hung servers give their
   * share of the processors back, so what ran with all ten is no measure for it.
   */
  readonly healthyMs: number;
  readonly healthyBesideHungMs: number;
  /** Of the controller's process with all of them installed, after it has installed and removed them several times. */
  readonly residentBytes: number;
  /** From SIGTERM to the other replica's start of work: median. */
  readonly handoverMs: number;
}

const spokes = 10;
const hung = 2;
const rttMs = 50;
const handovers = 5;
const restMs = 20_000;
const kinds: readonly ComponentKind[] = ["KnativeEventing", "KnativeServing"];

interface Stage {
  readonly fleet: Fleet;
  readonly profiles: readonly Profile[];
  readonly manifests: readonly Manifest[];
  /** Of the controller's process until now. */
  readonly usage: () => Promise<Usage>;
}

/** Starts a hub and ten spokes, and measures installs of a fleet, each `runs` times in turns, memory, and the change of the leader. */
export async function measureFleetOfTen(
  runs: number,
  say: (line: string) => void,
): Promise<FleetOfTen> {
  // Nodes would take the processors that API servers need; what is measured ends before pods begin.
  const plain = { kwok: false, rttMs };
  await using fleet = await startFleet({
    spokes: Array.from({ length: spokes }, () => plain),
    log: say,
  });
  await keepGuard(fleet);
  const profiles: Profile[] = [];
  for (const spoke of fleet.spokes) {
    profiles.push(await fleet.addProfile(spoke, { plugin: "kubeconfig-secretreader" }));
  }
  await using dist = await buildDist();
  const options = {
    program: dist.path("knfleet-controller.js"),
    kubeconfig: await fleet.controllerKubeconfig(),
    providerFile: await fleet.providerFile(),
    releaseDir: await releaseDir(),
  };
  const sets = await Promise.all(kinds.map((kind) => manifestsOf(kind, options.releaseDir)));
  await using controller = await startControllerProcess(options);
  const usage = (): Promise<Usage> => usageOf(controller.pid);
  const stage: Stage = { fleet, profiles, manifests: sets.flat(), usage };
  say("Fleet: the guard of every spoke");
  await round(stage, { profiles, kinds: kinds.slice(0, 1) });
  const turns: Turn[] = [];
  for (let run = 1; run <= runs; run += 1) {
    turns.push(await turn(stage, (line) => say(`Fleet, run ${run} of ${runs}: ${line}`)));
  }
  // What the next leaders find to work on.
  const wanted = componentsOn(profiles, kinds);
  await createAll(fleet.hub, wanted);
  await installed(fleet.hub, wanted);
  await controller.stop();
  say("Fleet: changes of the leader");
  const leaders: number[] = [];
  for (let change = 1; change <= handovers; change += 1) leaders.push(await handover(options));
  const median = (figure: keyof Turn): number => medianOf(turns.map((one) => one[figure]));
  return {
    oneMs: median("oneMs"),
    allMs: median("allMs"),
    allCpuMs: median("allCpuMs"),
    floorMs: median("floorMs"),
    kubectlMs: median("kubectlMs"),
    healthyMs: median("healthyMs"),
    healthyBesideHungMs: median("healthyBesideHungMs"),
    residentBytes: median("residentBytes"),
    handoverMs: medianOf(leaders),
  };
}

type Turn = Omit<FleetOfTen, "handoverMs">;

/** Everything once, on empty clusters before and after. */
async function turn(stage: Stage, say: (line: string) => void): Promise<Turn> {
  const { fleet, profiles, usage } = stage;
  say("one component on one spoke");
  const one = await round(stage, { profiles: profiles.slice(0, 1), kinds: kinds.slice(0, 1) });
  say("20 components on 10 spokes");
  const all = await round(stage, { profiles, kinds });
  say("the same with kubectl");
  const kubectlMs = await withKubectl(stage);
  const healthy = profiles.slice(0, spokes - hung);
  const hanging = profiles.slice(-hung);
  say(`8 spokes while ${hung} others hang, and nothing is to be on those`);
  for (const { spoke } of hanging) spoke.pause();
  const alone = await round(stage, { profiles: healthy, kinds });
  say(`all while ${hung} spokes hang`);
  const beside = await round(stage, { profiles, kinds, awaited: healthy });
  for (const { spoke } of hanging) spoke.resume();
  const wanted = componentsOn(profiles, kinds);
  await installed(fleet.hub, wanted);
  await delay(restMs);
  const { residentBytes } = await usage();
  await removeAll(fleet.hub, wanted);
  await wipeAll(profiles, stage.manifests);
  return {
    oneMs: Math.max(...one.tookMs),
    allMs: Math.max(...all.tookMs),
    allCpuMs: all.cpuMs,
    floorMs: all.spokesCpuMs / availableParallelism(),
    kubectlMs,
    healthyMs: Math.max(...alone.tookMs),
    healthyBesideHungMs: Math.max(...beside.tookMs),
    residentBytes,
  };
}

interface Round {
  readonly profiles: readonly Profile[];
  readonly kinds: readonly ComponentKind[];
  /** Whose components are waited for; default: all. */
  readonly awaited?: readonly Profile[];
}

interface RoundTimes {
  /** For each profile that was waited for. */
  readonly tookMs: readonly number[];
  /** Of the controller, until all that was waited for is applied. */
  readonly cpuMs: number;
  /** Of all spokes. */
  readonly spokesCpuMs: number;
}

/**
 * Creates the components at once on empty clusters and waits until all is applied. A round that waits for all removes everything again.
 */
async function round(
  { fleet, manifests, usage }: Stage,
  { profiles, kinds: wantedKinds, awaited = profiles }: Round,
): Promise<RoundTimes> {
  const { hub } = fleet;
  const wanted = componentsOn(profiles, wantedKinds);
  const since = new Date();
  const before = await usage();
  const spokesBefore = await spokesCpuMs(fleet);
  await createAll(hub, wanted);
  await installed(hub, componentsOn(awaited, wantedKinds));
  const used = {
    cpuMs: (await usage()).cpuMs - before.cpuMs,
    spokesCpuMs: (await spokesCpuMs(fleet)) - spokesBefore,
  };
  const created = await hub.auditLog.requests({ verb: "create", since });
  const startedAt = Math.min(
    ...created
      .filter(({ resource }) => resource.startsWith("knative"))
      .map(({ receivedAt }) => receivedAt.getTime()),
  );
  const tookMs = await Promise.all(
    awaited.map(async ({ spoke }) => (await lastWrite(spoke, since)) - startedAt),
  );
  if (awaited === profiles) {
    await removeAll(hub, wanted);
    await wipeAll(profiles, manifests);
  }
  return { tookMs, ...used };
}

async function spokesCpuMs(fleet: Fleet): Promise<number> {
  const usages = await Promise.all(fleet.spokes.flatMap(({ pids }) => pids.map(usageOf)));
  return usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** Applies everything to all spokes with one kubectl each, all at once; milliseconds until the last of them has ended. */
async function withKubectl({ fleet, profiles, manifests }: Stage): Promise<number> {
  const kubectl = (await ensureBinaries(["kubectl"]))("kubectl");
  const file = scratch(fleet, "fleet.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
  const calls: (readonly string[])[] = [];
  for (const profile of profiles) {
    const { spoke } = profile;
    const kubeconfig = await spoke.writeKubeconfig("bench.kubeconfig", {
      identity: { token: await profile.renew() },
      server: spoke.proxy.url,
    });
    const cache = scratch(fleet, `kubectl-cache-${spoke.name}`);
    const common = ["--kubeconfig", kubeconfig, "--cache-dir", cache];
    await runKubectl(kubectl, [...common, "api-resources"]);
    calls.push([...common, "apply", "--server-side", "--force-conflicts", "-f", file]);
  }
  const startedAt = performance.now();
  await Promise.all(calls.map((args) => runKubectl(kubectl, args)));
  const tookMs = performance.now() - startedAt;
  await wipeAll(profiles, manifests);
  return tookMs;
}

async function wipeAll(
  profiles: readonly Profile[],
  manifests: readonly Manifest[],
): Promise<void> {
  for (const { spoke } of profiles) spoke.proxy.setRtt(0);
  for (const { spoke } of profiles) await wipe(spoke, manifests);
  for (const { spoke } of profiles) spoke.proxy.setRtt(rttMs);
}

/** Waits until everything of them is applied: then their Deployments are spoken of. */
function installed(hub: Cluster, components: readonly Manifest[]): Promise<void> {
  return allAre(hub, components, ["installed", hasManifests]);
}

function hasManifests(component: KubeObject | undefined): boolean {
  return JSON.stringify(valueAt(component?.["status"], "manifests") ?? "") !== '""';
}

async function lastWrite(spoke: Cluster, since: Date): Promise<number> {
  const requests = await requestsTo(spoke, since);
  const writes = requests.filter(
    ({ verb, code, name }) =>
      ["create", "patch"].includes(verb) && code < 300 && !name.endsWith("-root-owner"),
  );
  return Math.max(...writes.map(({ answeredAt }) => answeredAt.getTime()));
}

/** Starts two replicas, stops the one that leads, and tells how long it took until the other one worked. */
async function handover(options: Parameters<typeof startControllerProcess>[0]): Promise<number> {
  const replica = { ...options, leaderElection: true };
  await using first = await startControllerProcess(replica);
  await first.logged({ msg: "Reconciling" }, 60_000);
  await using second = await startControllerProcess(replica);
  await second.logged({ msg: "Waiting to become the leader" });
  const stoppedAt = Date.now();
  first.signal("SIGTERM");
  const { time } = await second.logged({ msg: "Reconciling" }, 60_000);
  await Promise.all([first.stop(), second.stop()]);
  return new Date(String(time)).getTime() - stoppedAt;
}

function ratio(value: number): string {
  return value.toFixed(2);
}

/** What a fleet may take. */
export function fleetGoals(result: FleetOfTen): readonly Goal[] {
  const { oneMs, allMs, allCpuMs, floorMs, kubectlMs, healthyMs, healthyBesideHungMs } = result;
  const { residentBytes, handoverMs } = result;
  return [
    {
      text: `20 components on 10 spokes (${seconds(allMs)}, of which their servers compute ${seconds(floorMs)} on each processor) against one (${seconds(oneMs)})`,
      value: allMs / oneMs,
      limit: 4,
      show: ratio,
    },
    {
      text: `The same against ten kubectl at once (${seconds(kubectlMs)})`,
      value: allMs / kubectlMs,
      limit: 1,
      show: ratio,
    },
    {
      text: `What the controller computes for the 20 (${seconds(allCpuMs)}) against one`,
      value: allCpuMs / oneMs,
      limit: 4,
      show: ratio,
    },
    {
      text: `8 spokes beside 2 that hang (${seconds(healthyBesideHungMs)}) against beside none (${seconds(healthyMs)})`,
      value: healthyBesideHungMs / healthyMs,
      limit: 1.1,
      show: ratio,
    },
    {
      text: "Resident memory with 10 spokes and 20 components, after several installs",
      value: residentBytes,
      limit: 150_000_000,
      show: megabytes,
    },
    { text: "SIGTERM to the next leader's work", value: handoverMs, limit: 1_000, show: seconds },
  ];
}
