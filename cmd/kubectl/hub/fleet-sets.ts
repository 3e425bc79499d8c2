import { ifServed } from "../../../access/kube/api-error.ts";
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
import { UsageError } from "../errors.ts";
import { installSets } from "../output/steps.ts";
import type { FleetSetRef } from "../selection/set-ref.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { NotServedError } from "./installations.ts";

type HubAccess = Pick<ClusterAccess, "hub" | "hubTimeoutMs" | "malformed">;

type PlacedSetRef = FleetSetRef & { readonly namespace: string };

/** Which sets of the hub. */
export interface SetSelection {
  readonly kinds: readonly FleetSetKind[];
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** The sets that are asked for; of others it is not said that they have another form. Absent or empty: all. */
  readonly names?: readonly FleetSetRef[];
}

/**
 * The set of a name; undefined when there is none. Throws UsageError for an object that has not the form of a set, NotServedError when the hub has no sets, and what
 * KubeClient throws.
 */
export async function readSet(
  { hub, hubTimeoutMs }: HubAccess,
  { kind, namespace, name }: PlacedSetRef,
  signal: AbortSignal,
): Promise<FleetSet | undefined> {
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const resource = knownResource(fleetSetApiVersion, kind);
  const found = await hub.get({ resource, namespace, name }, {}, deadline);
  if (found !== undefined) {
    const set = await fleetSetOf(found, kind);
    if (typeof set !== "string") return set;
    throw notOfForm({ kind, namespace, name, why: set });
  }
  // A kind that is not served has no objects either.
  const selection = { kinds: [kind], namespace };
  if ((await listKind(kind, { hub, selection }, deadline)) === undefined) throw notServed([kind]);
  return undefined;
}

/**
 * The selected sets by kind, namespace and name; a kind that the hub does not serve has none. An object that has not the form of a set goes to `access.malformed`;
 * without that, and when it was asked for by name, UsageError is thrown. Throws what KubeClient throws.
 */
export async function listSets(
  access: HubAccess,
  selection: SetSelection,
  signal: AbortSignal,
): Promise<readonly FleetSet[]> {
  const { sets = [], malformed = [] } = (await servedSets(access, selection, signal)) ?? {};
  const { names = [] } = selection;
  const isAsked = (set: MalformedSet): boolean =>
    names.length === 0 || names.some(({ kind, name }) => kind === set.kind && name === set.name);
  for (const set of malformed.filter(isAsked)) {
    if (access.malformed === undefined || names.length > 0) throw notOfForm(set);
    access.malformed.add(malformedSet(set));
  }
  for (const { metadata } of sets) access.malformed?.mended(metadata.uid);
  return sets;
}

const formOfSet = "the form of a set";

/** An object that is no set, as MalformedObjects takes it. */
export function malformedSet({ kind, namespace, name, uid, why }: MalformedSet) {
  return { kind, metadata: { namespace, name, uid }, form: formOfSet, why };
}

function notOfForm({
  kind,
  namespace,
  name,
  why,
}: PlacedSetRef & Pick<MalformedSet, "why">): UsageError {
  return new UsageError(`${kind} ${namespace}/${name} has not ${formOfSet}: ${why}`, [
    `kubectl get ${fleetSetKinds[kind].plural}.knfleet.dev ${name} -n ${namespace} -o yaml`,
  ]);
}

/** An object of a kind of set that has not the form of a set. */
export type MalformedSet = PlacedSetRef & { readonly uid: string; readonly why: string };

/** What a hub has under the kinds of sets. */
export interface ServedSets {
  readonly sets: readonly FleetSet[];
  readonly malformed: readonly MalformedSet[];
}

/** The selected sets, and the objects of these kinds that are no set. Undefined when the hub serves none of the kinds. Throws what KubeClient throws. */
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
  const read = await Promise.all(
    list.items.map(async (item) => ({ item, set: await fleetSetOf(item, kind) })),
  );
  return {
    sets: read.flatMap(({ set }) => (typeof set === "string" ? [] : set)),
    malformed: read.flatMap(({ item: { metadata }, set }) => {
      const { namespace: place = "", name, uid } = metadata;
      return typeof set === "string" ? [{ kind, namespace: place, name, uid, why: set }] : [];
    }),
  };
}

function notServed(kinds: readonly FleetSetKind[]): NotServedError {
  const types = kinds.map((kind) => `"${fleetSetKinds[kind].plural}"`).join(" or ");
  return new NotServedError(`The server doesn't have a resource type ${types}`, installSets);
}

/** An object of a kind of set as a set. For one of a form that no set has, which only another CRD than ours lets in: what is wrong with it. */
async function fleetSetOf(item: KubeObject, kind: FleetSetKind): Promise<FleetSet | string> {
  // Items of a list carry neither apiVersion nor kind.
  const object = { ...item, apiVersion: fleetSetApiVersion, kind };
  if (!isFleetSet(object)) return "spec or status is not an object";
  // The schemas are large, and most hubs have no set.
  const { misfitOfSet } = await import("./set-form.ts");
  return misfitOfSet(object) ?? object;
}

/** Whether an object has the parts of which the schemas say more. */
function isFleetSet(object: KubeObject): object is FleetSet {
  const { spec, status = {}, metadata } = object;
  return metadata.namespace !== undefined && isRecord(spec) && isRecord(status);
}
