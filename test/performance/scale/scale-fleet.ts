import { join } from "node:path";

import { operatorApiVersion, type ComponentKind } from "../../../api/component.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import { type DistFolder, buildDist } from "../../build/dist-folder.ts";
import { builtInProviderFile, replicaKubeconfig } from "../../e2e/built-in-access.ts";
import { releaseDir } from "../../e2e/release-dir.ts";
import { requestsTo, writingVerbs } from "../../e2e/requests.ts";
import type { AuditedRequest } from "../../fleet/audit-log.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { applyFile } from "../../fleet/hub-access.ts";
import { conditionOf } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { profileNamespace, publishSpokes } from "../../simulator/publish.ts";
import { type SimulatedSpoke, type Simulator, startSimulator } from "../../simulator/simulator.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../../support/controller-process.ts";
import { componentsOn } from "../fleet-components.ts";

export interface ScaleOptions {
  readonly spokes: number;
  /** The controller and the plugin; absent: as they are built for the image. */
  readonly dist?: DistFolder;
  /** Absent: Knative's releases. */
  readonly releases?: string;
}

/** A real hub, many virtual spokes that are published on it, and how a controller comes to them. */
export interface ScaleFleet extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly simulator: Simulator;
  readonly spokes: readonly SimulatedSpoke[];
  readonly dist: DistFolder;
  readonly providerFile: string;
  startController(flags?: readonly string[]): Promise<ControllerProcess>;
}

/** A fleet, and the controllers that work on it now. */
export interface ControlledFleet {
  readonly scale: ScaleFleet;
  readonly controllers: readonly ControllerProcess[];
}

// The one that the roles in docs/ are for.
const replica = { name: "knfleet-controller" };
const setsRoleFile = join(import.meta.dirname, "../../../docs/sets-role.yaml");
const kinds: readonly ComponentKind[] = ["KnativeEventing", "KnativeServing"];
// Above what any step takes that makes progress.
const limitMs = 1_800_000;
// More often the questions themselves would be measured.
const pollMs = 1_000;
const connectedMs = 250;

/** Waits for something that takes long with many spokes. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  everyMs = pollMs,
): Promise<void> {
  await waitFor(what, check, { timeoutMs: limitMs, everyMs });
}

/** Prepares a fleet that has only a hub and stays its owner's, and starts the simulator. Nothing is installed yet, and no controller runs. */
export async function startScaleFleet(
  fleet: Fleet,
  options: ScaleOptions,
  say: (line: string) => void,
): Promise<ScaleFleet> {
  await using undo = new AsyncDisposableStack();
  const dist = options.dist ?? undo.use(await buildDist());
  const simulator = undo.use(await startSimulator({ spokes: options.spokes }));
  await fleet.controllerKubeconfig();
  await applyFile(fleet.hub, setsRoleFile);
  say(`Publishing ${options.spokes} simulated spokes`);
  await publishSpokes(fleet.hub.admin, simulator);
  const usual: ControllerProcessOptions = {
    program: dist.path("knfleet-controller.js"),
    kubeconfig: await replicaKubeconfig(fleet.hub, replica),
    providerFile: await builtInProviderFile(fleet, replica),
    releaseDir: options.releases ?? (await releaseDir()),
    // As in the chart: its connections are guarded, which takes memory, too.
    leaderElection: true,
    environment: { POD_NAMESPACE: "knfleet-system" },
  };
  const running = undo.move();
  return {
    fleet,
    simulator,
    spokes: simulator.spokes,
    dist,
    providerFile: usual.providerFile ?? "",
    startController: (flags = []) => startControllerProcess({ ...usual, flags }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Starts so many controllers at once, one by default. Disposing the answer stops them. */
export async function startControllers(
  scale: ScaleFleet,
  {
    replicas = 1,
    flags = [],
  }: { readonly replicas?: number; readonly flags?: readonly string[] } = {},
): Promise<ControlledFleet & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const starts = Array.from({ length: replicas }, async () =>
    undo.use(await scale.startController(flags)),
  );
  const controllers = await Promise.all(starts);
  const running = undo.move();
  return { scale, controllers, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Both components for each of some spokes. */
export function componentsFor(spokes: readonly SimulatedSpoke[]): readonly Manifest[] {
  const profiles = spokes.map(({ name }) => ({ namespace: profileNamespace, name }));
  return componentsOn(profiles, kinds);
}

/** All components on the hub. */
export async function readComponents({ fleet }: ScaleFleet): Promise<readonly KubeObject[]> {
  const type = { apiVersion: operatorApiVersion };
  const lists = await Promise.all(kinds.map((kind) => fleet.hub.admin.list({ ...type, kind })));
  return lists.flat();
}

export function isTrue(component: unknown, type: string): boolean {
  return conditionOf(component, type)?.status === "True";
}

/** Waits until so many components have a condition that is True. */
export async function areTrue(
  scale: ScaleFleet,
  count: number,
  types: readonly string[],
): Promise<void> {
  const isSo = (component: KubeObject): boolean => types.every((type) => isTrue(component, type));
  await until(
    `${count} components with ${types.join(" and ")}`,
    async () => (await readComponents(scale)).filter(isSo).length >= count,
  );
}

/** Removes all components, and waits until they are gone. */
export async function removeAll(scale: ScaleFleet): Promise<void> {
  const { admin } = scale.fleet.hub;
  const all = await readComponents(scale);
  await Promise.all(all.map((component) => admin.remove(keyOf(component))));
  await until("all to be gone", async () => (await readComponents(scale)).length === 0);
}

/** How many controllers share the fleet, and in how many parts. */
export interface Sharing {
  readonly replicas: number;
  readonly shards: number;
}

/** The flags of controllers that share the fleet in so many parts. */
export function sharingFlags({ shards }: Pick<Sharing, "shards">): readonly string[] {
  return shards === 1 ? [] : [`--shards=${shards}`];
}

/** Waits until the controllers are connected to all spokes, each to its share. */
export async function allConnected(
  { scale, controllers }: ControlledFleet,
  { replicas, shards }: Sharing,
): Promise<void> {
  const { spokes } = scale;
  const metrics = (name: string): Promise<readonly number[]> =>
    Promise.all(controllers.map((controller) => metricOf(controller, name)));
  await until(
    `${spokes.length} spokes to be connected`,
    async () => {
      const shares = await metrics("knfleet_shards_held");
      if (shares.some((share) => share < Math.floor(shards / replicas))) return false;
      const counts = await metrics("knfleet_connected_spokes");
      return counts.reduce((sum, count) => sum + count, 0) >= spokes.length;
    },
    connectedMs,
  );
}

/** A figure of the controller's metrics without labels; NaN when there is none. */
export async function metricOf(controller: ControllerProcess, name: string): Promise<number> {
  const line = new RegExp(String.raw`^${name} (\S+)$`, "m").exec(await controller.metrics());
  return Number(line?.[1] ?? Number.NaN);
}

/** What the controllers asked of the hub since a time; without their Leases. */
export async function hubRequests(
  { fleet }: ScaleFleet,
  since: Date,
): Promise<{ readonly all: readonly AuditedRequest[]; readonly writes: number }> {
  const requests = await requestsTo(fleet.hub, since);
  const all = requests.filter(({ resource }) => resource !== "leases");
  const writes = all.filter(
    ({ verb, resource }) => writingVerbs.includes(verb) && resource !== "events",
  );
  return { all, writes: writes.length };
}

/** Sums over the traffic of all spokes. */
export function spokeTraffic({ spokes }: ScaleFleet): {
  readonly requests: number;
  readonly writes: number;
  readonly doubleWrites: number;
  readonly byName: ReadonlyMap<string, number>;
} {
  const byName = new Map<string, number>();
  let [writes, doubleWrites] = [0, 0];
  for (const { traffic } of spokes) {
    writes += traffic.writes;
    doubleWrites += traffic.doubleWrites;
    for (const [name, count] of traffic.counts) byName.set(name, (byName.get(name) ?? 0) + count);
  }
  const requests = [...byName.values()].reduce((sum, count) => sum + count, 0);
  return { requests, writes, doubleWrites, byName };
}

export function resetTraffic({ spokes }: ScaleFleet): void {
  for (const { traffic } of spokes) traffic.reset();
}
