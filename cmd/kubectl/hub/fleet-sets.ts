import { ApiError } from "../../../access/kube/api-error.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { isRecord } from "../../../api/fields.ts";
import {
  type FleetSet,
  fleetSetApiVersion,
  type FleetSetKind,
  fleetSetKinds,
} from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
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

/** The set of a name; undefined when there is none. Throws NotServedError when the hub has no sets, and what KubeClient throws. */
export async function readSet(
  { hub, hubTimeoutMs }: HubAccess,
  { kind, namespace, name }: FleetSetRef & { readonly namespace: string },
  signal: AbortSignal,
): Promise<FleetSet | undefined> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const resource = knownResource(fleetSetApiVersion, kind);
  const found = await hub.get({ resource, namespace, name }, {}, deadline);
  if (found !== undefined) return fleetSetOf(found, kind);
  // A kind that is not served has no objects either.
  const selection = { kinds: [kind], namespace };
  if ((await listKind(kind, { hub, selection }, deadline)) === undefined) throw notServed([kind]);
  return undefined;
}

/** The selected sets by kind, namespace and name; a kind that the hub does not serve has none. Throws what KubeClient throws. */
export async function listSets(
  access: HubAccess,
  selection: SetSelection,
  signal: AbortSignal,
): Promise<readonly FleetSet[]> {
  return (await servedSets(access, selection, signal)) ?? [];
}

/** The same; undefined when the hub serves none of the kinds. */
export async function servedSets(
  { hub, hubTimeoutMs }: HubAccess,
  selection: SetSelection,
  signal: AbortSignal,
): Promise<readonly FleetSet[] | undefined> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const lists = await Promise.all(
    selection.kinds.map((kind) => listKind(kind, { hub, selection }, deadline)),
  );
  if (lists.every((list) => list === undefined)) return undefined;
  return lists.flatMap((list) => list ?? []);
}

async function listKind(
  kind: FleetSetKind,
  { hub, selection }: Pick<ClusterAccess, "hub"> & { readonly selection: SetSelection },
  signal: AbortSignal,
): Promise<readonly FleetSet[] | undefined> {
  const { namespace, labelSelector } = selection;
  const resource = knownResource(fleetSetApiVersion, kind);
  try {
    const { items } = await hub.list({ resource, namespace, labelSelector }, {}, signal);
    return items.map((item) => fleetSetOf(item, kind));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

function notServed(kinds: readonly FleetSetKind[]): NotServedError {
  const types = kinds.map((kind) => `"${fleetSetKinds[kind].plural}"`).join(" or ");
  return new NotServedError(`The server doesn't have a resource type ${types}`, installSets);
}

/** An object of a kind of set as a set. */
function fleetSetOf(item: KubeObject, kind: FleetSetKind): FleetSet {
  // Items of a list carry neither apiVersion nor kind.
  const object = { ...item, apiVersion: fleetSetApiVersion, kind };
  if (isFleetSet(object)) return object;
  throw new Error(`${kind} ${item.metadata.name} has no template`);
}

/** The schema of the CRD has checked the rest. */
function isFleetSet(object: KubeObject): object is FleetSet {
  const { spec, metadata } = object;
  return (
    metadata.namespace !== undefined &&
    isRecord(spec) &&
    isRecord(spec["clusters"]) &&
    isRecord(spec["template"])
  );
}
