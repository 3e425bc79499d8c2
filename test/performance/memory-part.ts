import { setTimeout as delay } from "node:timers/promises";

import type { ComponentKind } from "../../api/component.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { buildDist } from "../build/dist-folder.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { type Cluster, type Profile, startFleet } from "../fleet/fleet.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../support/controller-process.ts";
import { kilobytes, medianOf, megabytes } from "./figures.ts";
import { allAre, componentsOn, createAll } from "./fleet-components.ts";
import type { Goal } from "./goals.ts";
import { usageOf } from "./process-usage.ts";

/** Resident memory of a controller at rest that was started again and so applied nothing: of each start, in bytes. */
export interface MemoryResult {
  /** Both components Ready on each of two spokes. */
  readonly few: readonly number[];
  /** The same processes, after eight further spokes like these have joined them one after another. */
  readonly joined: readonly number[];
  /** Started with all ten. */
  readonly all: readonly number[];
}

const fewSpokes = 2;
const allSpokes = 10;
// The collector frees the objects of a start bit by bit, as timers end and streams close.
const restMs = 30_000;
const kinds: readonly ComponentKind[] = ["KnativeEventing", "KnativeServing"];

/**
 * Starts a hub and ten spokes with both components, and a controller again and again: with two of the spokes, which the others join then, and with all at once.
 */
export async function measureMemory(
  runs: number,
  say: (line: string) => void,
): Promise<MemoryResult> {
  await using fleet = await startFleet({ spokes: allSpokes, log: say });
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
  const first = profiles.slice(0, fewSpokes);
  const others = profiles.slice(fewSpokes);
  say(`Memory: installing both components on ${fewSpokes} spokes`);
  await install(fleet.hub, componentsOn(first, kinds), options);
  say(`Memory: installing them on the other ${allSpokes - fewSpokes}`);
  await install(fleet.hub, componentsOn(others, kinds), options);
  const few: number[] = [];
  const joined: number[] = [];
  const all: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const told = (what: string, bytes: number): void =>
      say(`Memory, start ${run} of ${runs}: ${what} ${megabytes(bytes)}`);
    await areHealthy(others, false);
    const growth = await residentWhileJoined(options, { hub: fleet.hub, others });
    few.push(growth.before);
    joined.push(growth.after);
    told(`${fewSpokes} spokes`, growth.before);
    told(`${allSpokes - fewSpokes} joined`, growth.after);
    const resident = await residentAtRest(options);
    all.push(resident);
    told(`all ${allSpokes}`, resident);
  }
  return { few, joined, all };
}

async function install(
  hub: Cluster,
  components: readonly Manifest[],
  options: ControllerProcessOptions,
): Promise<void> {
  await using _controller = await startControllerProcess(options);
  await createAll(hub, components);
  await allAre(hub, components, ["Ready", isReady]);
}

function isReady(component: KubeObject | undefined): boolean {
  return conditionOf(component, "Ready")?.status === "True";
}

async function residentAtRest(options: ControllerProcessOptions): Promise<number> {
  await using controller = await started(options);
  return await restingBytes(controller, allSpokes);
}

interface Growth {
  readonly before: number;
  readonly after: number;
}

/** The others are not healthy when it starts, and become so one after another. */
async function residentWhileJoined(
  options: ControllerProcessOptions,
  { hub, others }: { readonly hub: Cluster; readonly others: readonly Profile[] },
): Promise<Growth> {
  await using controller = await started(options);
  const before = await restingBytes(controller, fewSpokes);
  for (const [at, other] of others.entries()) {
    await areHealthy([other], true);
    await connected(controller, fewSpokes + at + 1);
  }
  // Until then nothing of them is watched.
  await allAre(hub, componentsOn(others, kinds), ["Ready", isReady]);
  return { before, after: await restingBytes(controller, allSpokes) };
}

function started(options: ControllerProcessOptions): Promise<ControllerProcess> {
  // As in the chart: its connections are guarded, which takes memory, too.
  return startControllerProcess({ ...options, leaderElection: true });
}

async function restingBytes(controller: ControllerProcess, spokes: number): Promise<number> {
  await connected(controller, spokes);
  await delay(restMs);
  return (await usageOf(controller.pid)).residentBytes;
}

async function connected(controller: ControllerProcess, spokes: number): Promise<void> {
  const line = new RegExp(String.raw`^knfleet_connected_spokes ${spokes}$`, "m");
  await waitFor(`${spokes} spokes to be connected`, async () =>
    line.test(await controller.metrics()),
  );
}

async function areHealthy(profiles: readonly Profile[], healthy: boolean): Promise<void> {
  await Promise.all(profiles.map((profile) => profile.update({ healthy })));
}

/** What a fleet at rest may keep. */
export function memoryGoals({ few, joined, all }: MemoryResult): readonly Goal[] {
  const further = allSpokes - fewSpokes;
  const resident = medianOf(all);
  const range = `${megabytes(Math.min(...all))} to ${megabytes(Math.max(...all))}`;
  const before = megabytes(medianOf(few));
  const growths = joined.map((bytes, at) => bytes - (few[at] ?? bytes));
  return [
    {
      text: `Resident memory with ${allSpokes} spokes and 20 components, started again (${range})`,
      value: resident,
      limit: 200_000_000,
      show: megabytes,
    },
    {
      text: `Memory of a further idle spoke with both components that joins ${fewSpokes} others (${before})`,
      value: medianOf(growths) / further,
      limit: 1_000_000,
      show: kilobytes,
    },
    {
      text: "The same, started with all of them against started with those",
      value: (resident - medianOf(few)) / further,
      limit: 1_000_000,
      show: kilobytes,
    },
  ];
}
