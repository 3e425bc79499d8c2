import { setTimeout as delay } from "node:timers/promises";

import type { ComponentKind } from "../../api/component.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { buildDist } from "../build/dist-folder.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { type Cluster, type Profile, startFleet } from "../fleet/fleet.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
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
  /** The same on each of ten. */
  readonly all: readonly number[];
}

const fewSpokes = 2;
const allSpokes = 10;
// What a start leaves behind is let go bit by bit: see cmd/idle-memory.ts.
const restMs = 30_000;
const kinds: readonly ComponentKind[] = ["KnativeEventing", "KnativeServing"];

/** Starts a hub and ten spokes, and a controller again and again: with both components on two of the spokes, and then on all. */
export async function measureMemory(
  runs: number,
  say: (line: string) => void,
): Promise<MemoryResult> {
  await using fleet = await startFleet({ hub: { kwok: false }, spokes: allSpokes, log: say });
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
  const residentsOf = async (spokes: number): Promise<readonly number[]> => {
    const residents: number[] = [];
    for (let run = 1; run <= runs; run += 1) {
      const bytes = await residentAtRest(options, spokes);
      say(`Memory with ${spokes} spokes, start ${run} of ${runs}: ${megabytes(bytes)}`);
      residents.push(bytes);
    }
    return residents;
  };
  say(`Memory: installing both components on ${fewSpokes} spokes`);
  await install(fleet.hub, componentsOn(profiles.slice(0, fewSpokes), kinds), options);
  const few = await residentsOf(fewSpokes);
  say(`Memory: installing them on the other ${allSpokes - fewSpokes}`);
  await install(fleet.hub, componentsOn(profiles.slice(fewSpokes), kinds), options);
  return { few, all: await residentsOf(allSpokes) };
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

async function residentAtRest(options: ControllerProcessOptions, spokes: number): Promise<number> {
  // As in the chart: its connections are guarded, which takes memory, too.
  await using controller = await startControllerProcess({ ...options, leaderElection: true });
  const connected = new RegExp(String.raw`^knfleet_connected_spokes ${spokes}$`, "m");
  await waitFor("all spokes to be connected", async () =>
    connected.test(await controller.metrics()),
  );
  await delay(restMs);
  return (await usageOf(controller.pid)).residentBytes;
}

/** What a fleet at rest may keep. */
export function memoryGoals({ few, all }: MemoryResult): readonly Goal[] {
  const resident = medianOf(all);
  const range = `${megabytes(Math.min(...all))} to ${megabytes(Math.max(...all))}`;
  return [
    {
      text: `Resident memory with ${allSpokes} spokes and 20 components, started again (${range})`,
      value: resident,
      limit: 150_000_000,
      show: megabytes,
    },
    {
      text: `Memory of a further idle spoke with both components, against ${fewSpokes} spokes (${megabytes(medianOf(few))})`,
      value: (resident - medianOf(few)) / (allSpokes - fewSpokes),
      limit: 1_000_000,
      show: kilobytes,
    },
  ];
}
