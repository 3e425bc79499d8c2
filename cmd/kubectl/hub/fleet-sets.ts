import { ifServed } from "../../../access/kube/api-error.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { areConditions } from "../../../api/conditions.ts";
import { areRecords, isRecord } from "../../../api/fields.ts";
import {
  type FleetSet,
  fleetSetApiVersion,
  type FleetSetKind,
  fleetSetKinds,
} from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { UsageError } from "../errors.ts";
import { installSets } from "../output/steps.ts";
import type { FleetSetRef } from "../selection/set-ref.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { NotServedError } from "./installations.ts";

type HubAccess = Pick<ClusterAccess, "hub" | "hubTimeoutMs">;

/** Which sets of the hub. */
export interface SetSelection {
  readonly kinds: readonly FleetSetKind[];
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
}

/**
 * The set of a name; undefined when there is none. Throws UsageError for an object that has not the form of a set, NotServedError when the hub has no sets, and what
 * KubeClient throws.
 */
export async function readSet(
  { hub, hubTimeoutMs }: HubAccess,
  { kind, namespace, name }: FleetSetRef & { readonly namespace: string },
  signal: AbortSignal,
): Promise<FleetSet | undefined> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const resource = knownResource(fleetSetApiVersion, kind);
  const found = await hub.get({ resource, namespace, name }, {}, deadline);
  if (found !== undefined) {
    const set = fleetSetOf(found, kind);
    if (set !== undefined) return set;
    throw new UsageError(`${kind} ${namespace}/${name} has not the form of a set`, [
      `kubectl get ${fleetSetKinds[kind].plural}.knfleet.dev ${name} -n ${namespace} -o yaml`,
    ]);
  }
  // A kind that is not served has no objects either.
  const selection = { kinds: [kind], namespace };
  if ((await listKind(kind, { hub, selection }, deadline)) === undefined) throw notServed([kind]);
  return undefined;
}

/**
 * The selected sets by kind, namespace and name; a kind that the hub does not serve has none. An object that has not the form of a set is none, so that it hides no
 * set: `check` names it. Throws what KubeClient throws.
 */
export async function listSets(
  access: HubAccess,
  selection: SetSelection,
  signal: AbortSignal,
): Promise<readonly FleetSet[]> {
  return (await servedSets(access, selection, signal))?.sets ?? [];
}

/** An object of a kind of set that has not the form of a set. */
export type MalformedSet = FleetSetRef & { readonly namespace: string };

/** What a hub has under the kinds of sets. */
export interface ServedSets {
  readonly sets: readonly FleetSet[];
  readonly malformed: readonly MalformedSet[];
}

/** The same, and what is no set; undefined when the hub serves none of the kinds. */
export async function servedSets(
  { hub, hubTimeoutMs }: HubAccess,
  selection: SetSelection,
  signal: AbortSignal,
): Promise<ServedSets | undefined> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const lists = await Promise.all(
    selection.kinds.map((kind) => listKind(kind, { hub, selection }, deadline)),
  );
  if (lists.every((list) => list === undefined)) return undefined;
  const served = lists.flatMap((list) => list ?? []);
  return {
    sets: served.flatMap(({ sets }) => sets),
    malformed: served.flatMap(({ malformed }) => malformed),
  };
}

async function listKind(
  kind: FleetSetKind,
  { hub, selection }: Pick<ClusterAccess, "hub"> & { readonly selection: SetSelection },
  signal: AbortSignal,
): Promise<ServedSets | undefined> {
  const { namespace, labelSelector } = selection;
  const resource = knownResource(fleetSetApiVersion, kind);
  const list = await ifServed(hub.list({ resource, namespace, labelSelector }, {}, signal));
  if (list === undefined) return undefined;
  const read = list.items.map((item) => ({ item, set: fleetSetOf(item, kind) }));
  return {
    sets: read.flatMap(({ set }) => set ?? []),
    malformed: read.flatMap(({ item: { metadata }, set }) => {
      const { namespace: place = "", name } = metadata;
      return set === undefined ? [{ kind, namespace: place, name }] : [];
    }),
  };
}

function notServed(kinds: readonly FleetSetKind[]): NotServedError {
  const types = kinds.map((kind) => `"${fleetSetKinds[kind].plural}"`).join(" or ");
  return new NotServedError(`The server doesn't have a resource type ${types}`, installSets);
}

/** An object of a kind of set as a set. Undefined for one of a form that no set has, which only another CRD than ours lets in. */
function fleetSetOf(item: KubeObject, kind: FleetSetKind): FleetSet | undefined {
  // Items of a list carry neither apiVersion nor kind.
  const object = { ...item, apiVersion: fleetSetApiVersion, kind };
  return isFleetSet(object) ? object : undefined;
}

/** The parts that commands go into. The schema of the CRD has checked the rest. */
function isFleetSet(object: KubeObject): object is FleetSet {
  const { spec, status = {}, metadata } = object;
  if (metadata.namespace === undefined || !isRecord(spec) || !isRecord(status)) return false;
  const { clusters, template, rollout = {} } = spec;
  return (
    isStatus(status) &&
    isRecord(clusters) &&
    isRecord(template) &&
    isRecord(rollout) &&
    areRecords(rollout["stages"] ?? [])
  );
}

function isStatus(status: Readonly<Record<string, unknown>>): boolean {
  const lists = [status["stages"], status["notable"]];
  return (
    areConditions(status["conditions"] ?? []) &&
    isRecord(status["rollout"] ?? {}) &&
    lists.every((list) => areRecords(list ?? []))
  );
}
