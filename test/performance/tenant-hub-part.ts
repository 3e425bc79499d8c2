import { setTimeout as delay } from "node:timers/promises";

import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { buildDist } from "../build/dist-folder.ts";
import { prepareSets } from "../e2e/set-scene.ts";
import { type Cluster, startFleet } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { usageOf } from "./process-usage.ts";

/** What one step of the controller's process took on a real hub. */
interface Step {
  readonly elapsedMs: number;
  readonly cpuMs: number;
}

/** One tenant with many sets in one namespace, and another one with a single set, on a real hub with the bundled controller. */
export interface TenantOnHub {
  readonly sets: number;
  /** From the start of a controller until all sets have a status. */
  readonly start: Step;
  /** Until an edit of one set of the tenant is in its status; the CPU of two seconds. */
  readonly edit: Step;
  /** Until an edit of the other tenant's set is in its status, which comes after an edit of each set of the first one. */
  readonly other: Step;
}

const count = 2_000;
const setsOnCluster = 10;
const atOnce = 20;
const tenant = "tenant";
const kind = "KnativeEventingSet";
const type = { apiVersion: fleetSetApiVersion, kind } as const;
// What follows on an edit comes within the pace of a set.
const followsMs = 2_000;

/** Makes 2,000 sets that are paused, so that nothing is installed, and edits one of them, and all. */
export async function measureTenantOnHub(say: (line: string) => void): Promise<TenantOnHub> {
  await using fleet = await startFleet({ spokes: 0, log: say });
  const { hub } = fleet;
  const { options } = await prepareSets(fleet);
  for (const name of ["fleet", tenant, "other"]) {
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  say(`Making ${count} fleet sets of a tenant`);
  const clusters = Math.ceil(count / setsOnCluster);
  await each([...Array.from({ length: clusters }, (_, at) => String(at)), "other"], (group) =>
    hub.admin.apply(profileOf(group)),
  );
  const names = Array.from({ length: count }, (_, at) => `set-${at}`);
  await each(names, (name, at) =>
    hub.admin.apply(setOf(tenant, name, String(Math.floor(at / setsOnCluster)))),
  );
  await hub.admin.apply(setOf("other", "one", "other"));
  await using dist = await buildDist();
  say("Starting the controller");
  const startedAt = performance.now();
  await using controller = await startControllerProcess({
    ...options,
    program: dist.path("knfleet-controller.js"),
    flags: ["--sets", `--max-sets-per-namespace=${count}`],
  });
  await areTold(hub);
  const { cpuMs } = await usageOf(controller.pid);
  const start = { elapsedMs: performance.now() - startedAt, cpuMs };
  await delay(followsMs);
  say("Editing one set, and then all and one of another tenant");
  const edit = await edited({ hub, controller }, tenant, "set-7");
  await each(names, (name) => touch(hub, tenant, name));
  const other = await edited({ hub, controller }, "other", "one");
  return { sets: count, start, edit, other };
}

/** A cluster without a way in: nothing is dialled. */
function profileOf(group: string): Manifest & { readonly metadata: { readonly name: string } } {
  return {
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: `cluster-${group}`, labels: { group } },
    spec: { clusterManager: { name: "bench" }, displayName: group },
  };
}

function setOf(namespace: string, name: string, group: string) {
  return {
    ...type,
    metadata: { namespace, name },
    spec: {
      clusters: {
        from: "Selector",
        selector: { namespaces: ["fleet"], matchLabels: { group } },
      },
      template: { spec: { version: "1.22" } },
      rollout: { paused: true },
    },
  };
}

async function each<Item>(
  items: readonly Item[],
  work: (item: Item, at: number) => Promise<unknown>,
): Promise<void> {
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of entries) await work(item, at);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function isTold(set: KubeObject | undefined): boolean {
  return valueAt(set, "status", "observedGeneration") === set?.metadata.generation;
}

async function areTold(hub: Cluster): Promise<void> {
  await waitFor(
    "all sets to have a status",
    async () => (await hub.admin.list(type)).every(isTold),
    { timeoutMs: 300_000, everyMs: 2_000 },
  );
}

async function touch({ admin }: Cluster, namespace: string, name: string): Promise<KubeObject> {
  const key = { ...type, namespace, name };
  const found = await admin.get(key);
  const limit = valueAt(found, "spec", "revisionHistoryLimit") === 9 ? 8 : 9;
  return await admin.patch(key, { spec: { revisionHistoryLimit: limit } });
}

interface Running {
  readonly hub: Cluster;
  readonly controller: ControllerProcess;
}

/** Edits a set, and measures until its status is about the edit. */
async function edited(
  { hub, controller }: Running,
  namespace: string,
  name: string,
): Promise<Step> {
  const before = (await usageOf(controller.pid)).cpuMs;
  const startedAt = performance.now();
  await touch(hub, namespace, name);
  await waitFor(
    `the status of ${namespace}/${name}`,
    async () => isTold(await hub.admin.get({ ...type, namespace, name })),
    { everyMs: 20 },
  );
  const elapsedMs = performance.now() - startedAt;
  await delay(Math.max(0, followsMs - elapsedMs));
  return { elapsedMs, cpuMs: (await usageOf(controller.pid)).cpuMs - before };
}

/** What the edits may take. */
export function tenantHubGoals({ sets, edit, other }: TenantOnHub): readonly Goal[] {
  return [
    {
      text: `Delay of an edit of one of ${sets} sets, on a real hub`,
      value: edit.elapsedMs,
      limit: 1_000,
      show: milliseconds,
    },
    {
      text: `CPU time of the controller for an edit of one of ${sets} sets, on a real hub`,
      value: edit.cpuMs,
      limit: 200,
      show: milliseconds,
    },
    {
      text: `Delay of another tenant's edit after ${sets} others, on a real hub`,
      value: other.elapsedMs,
      limit: 2_000,
      show: milliseconds,
    },
  ];
}

/** Table of the edits. */
export function tenantHubReport({ sets, start, edit, other }: TenantOnHub): string {
  return [
    "One tenant with many fleet sets on a real hub (delay, CPU of the controller)",
    tableOf(
      ["Sets", "Start", "One edit", "Another tenant's edit after one of each"],
      [[String(sets), shown(start), shown(edit), shown(other)]],
    ),
  ].join("\n");
}

function shown({ elapsedMs, cpuMs }: Step): string {
  return `${milliseconds(elapsedMs)}, ${milliseconds(cpuMs)}`;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}
