import { objectRefOf } from "../../../access/kube/kube-client.ts";
import { byText, isRecord, isSameJson } from "../../../api/fields.ts";
import { kindId, objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import {
  desiredNamespaces,
  observeNamespaces,
} from "../../../controller/apply/anchor/namespaces.ts";
import { InventoryKinds, type KindPlace } from "../../../controller/apply/inventory-kinds.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { type Desired, outlives, type DesiredObject } from "../../../installation/desired.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { type ApplyPlan, planObjects } from "../../../installation/plan.ts";
import { scaledAmong } from "../../../installation/strip-manifests.ts";
import { numberAt } from "../selection/fields.ts";
import { mapLimited } from "../spokes/read-clusters.ts";
import { dryRun, type DryRunDeps } from "./dry-run.ts";
import { keepShape, maskSecrets, neat, type Sides, withoutMarks } from "./neat.ts";
import { type LocatedObject, type Observed, observeObjects } from "./observed.ts";
import type { TargetInstallation } from "./target-installation.ts";

/**
 * How one object differs from its desired state. `missing`: it does not exist. `extra`: it is not desired any more. `replaced`: it cannot be changed in
 * place. `leaving`: it is being deleted. `refused`: the server refuses the desired state.
 */
export type ChangeKind = "missing" | "changed" | "extra" | "replaced" | "leaving" | "refused";

/** One object that differs. The values of Secrets are masked. */
export interface ObjectChange extends Sides {
  readonly change: ChangeKind;
  readonly key: ObjectKey;
  /** Message of the server. Null unless it refused. */
  readonly message: string | null;
  /** Other field managers of the object. */
  readonly managers: readonly string[];
  /** How many pods a workload has now. Null for other objects, and for one that does not exist. */
  readonly pods: number | null;
}

/** The comparison of one installation. */
export interface Comparison {
  /** Objects that were compared. */
  readonly compared: number;
  /** Sorted by the identity of the objects. */
  readonly changes: readonly ObjectChange[];
  /** Objects without the right to read them. */
  readonly denied: readonly { readonly key: ObjectKey; readonly message: string }[];
}

export interface CompareOptions {
  readonly place: TargetInstallation;
  readonly desired: Desired;
  readonly manifests: readonly Manifest[];
  /** Also ask the server about objects that do not exist yet. */
  readonly asksForNew: boolean;
}

const atOnce = 8;

/**
 * Compares an installation with its desired objects. An object that was sent as desired and was not changed since is not requested. For every other object
 * the server answers a dry run.
 */
export async function compare(request: CompareOptions, signal: AbortSignal): Promise<Comparison> {
  const { component, target, anchor } = request.place;
  const { client } = target;
  const kinds = new InventoryKinds();
  const desired = await kinds.locate(request.desired, client, signal);
  const options = { ...request, desired };
  const { uid } = component.metadata;
  const { inventory = { version: "", complete: true, entries: [] } } = anchor ?? {};
  await kinds.lookUp({ desired, inventory }, client, signal);
  const old = inventory.entries
    .filter((key) => !isDesired(key, desired))
    .flatMap((key) => locatedAt(key, kinds.of(key, desired)));
  const located = [...desired.objects, ...old];
  const seen = await observeObjects(located, { client, uid }, signal);
  const sighted = new Map(
    [...seen.objects].map(([id, object]) => [id, observedObject(object, target.fieldManager)]),
  );
  const plan = planObjects(desired.objects, { inventory: anchor?.inventory, observed: sighted });
  const readable = plan.apply.filter(({ id }) => !seen.denied.has(id));
  const changes = [
    ...(await namespaceChanges(options, signal)),
    ...(
      await mapLimited(readable, atOnce, (one) => compareObject(one, seen, { options, signal }))
    ).flat(),
    ...plan.leaving.map((one) => leavingChange(one)),
    ...(await findExtras({ ...plan, located }, seen, { options, signal })),
  ];
  return {
    compared: desired.objects.length - [...seen.denied.keys()].length,
    changes: changes.toSorted(byText(({ key }) => objectId(key))),
    denied: desired.objects.flatMap(({ id, key }) => {
      const message = seen.denied.get(id);
      return message === undefined ? [] : [{ key, message }];
    }),
  };
}

/** An object of the inventory with its resource type. Empty when the cluster does not serve the kind, or when that is not known. */
function locatedAt(key: ObjectKey, found: KindPlace): readonly LocatedObject[] {
  if (found === "absent" || found === "unknown") return [];
  return [{ key, resource: objectRefOf(key, found).resource }];
}

function isDesired(key: ObjectKey, { objects }: Desired): boolean {
  const id = objectId(key);
  return objects.some((one) => one.id === id);
}

interface Work {
  readonly options: CompareOptions;
  readonly signal: AbortSignal;
}

async function compareObject(
  object: DesiredObject,
  seen: Observed,
  { options: { place, manifests, asksForNew }, signal }: Work,
): Promise<readonly ObjectChange[]> {
  const { key, resource, id } = object;
  const found = seen.objects.has(id)
    ? await place.target.client.get({ ...key, resource }, {}, signal)
    : undefined;
  const plain = { live: undefined, wanted: neat(object.manifest) };
  if (found === undefined && !asksForNew) return [objectChange("missing", key, plain)];
  const deps: DryRunDeps = { place, isScaled: scaledAmong(manifests) };
  const result = await dryRun(object, found, { deps, signal });
  const live = found && withKey(found, key);
  if (live === undefined) {
    if (result.kind !== "refused") return [objectChange("missing", key, plain)];
    return [objectChange("refused", key, { ...plain, message: result.message })];
  }
  if (result.kind !== "stored") {
    const { kind, message = null } = result;
    return [objectChange(kind, key, { ...plain, live: likeManifest(live, object), message })];
  }
  const simplify = place.isOurs ? neat : (manifest: Manifest) => withoutMarks(neat(manifest));
  const sides = { live: simplify(live), wanted: simplify(result.object) };
  if (isSameJson(sides.live, sides.wanted)) return [];
  return [
    objectChange("changed", key, {
      ...sides,
      managers: otherManagers(place, live),
      pods: podsOf(live),
    }),
  ];
}

/** Without the answer of the server, only fields of the manifest can be compared. */
function likeManifest(live: KubeObject, { manifest }: DesiredObject): Manifest {
  const { apiVersion, kind, metadata, ...rest } = neat(live);
  const shape = neat(manifest);
  const fields = { ...recordOf(keepShape(rest, [shape])) };
  return { ...fields, apiVersion, kind, metadata: recordOf(keepShape(metadata, [shape.metadata])) };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function withKey(object: KubeObject, { apiVersion, kind }: ObjectKey): KubeObject {
  return { ...object, apiVersion, kind };
}

/** The field managers of an object except the controller of this hub. */
function otherManagers(
  { target }: TargetInstallation,
  { metadata }: KubeObject,
): readonly string[] {
  const managers = (metadata.managedFields ?? []).flatMap(({ manager, subresource }) =>
    manager === undefined || (subresource ?? "") !== "" ? [] : [manager],
  );
  return [...new Set(managers.filter((manager) => manager !== target.fieldManager))];
}

function podsOf({ status }: Manifest): number | null {
  return numberAt(status, "replicas") ?? numberAt(status, "currentNumberScheduled");
}

/** Finds objects that are ours by inventory or label, and that are not desired. */
async function findExtras(
  { prune, located }: Pick<ApplyPlan, "prune"> & { readonly located: readonly LocatedObject[] },
  seen: Observed,
  { options: { place, desired }, signal }: Work,
): Promise<readonly ObjectChange[]> {
  const { component, target } = place;
  const resources = new Map(located.map(({ resource }) => [kindId(resource), resource]));
  const obsolete = new Set(prune.map((entry) => objectId(entry)));
  const found = [...seen.objects].filter(([id, object]) => {
    const label = object.metadata.labels?.[componentUidLabel];
    if (outlives(object) || desired.objects.some((one) => one.id === id)) return false;
    if (label !== undefined && label !== component.metadata.uid) return false;
    return obsolete.has(id) || (label !== undefined && isOwnedBy(place, object));
  });
  const changes = await mapLimited(found, atOnce, async ([, object]) => {
    const key = keyOf(object);
    const resource = resources.get(kindId(key)) ?? desired.resourceOf(key);
    const live = await target.client.get(objectRefOf(key, resource), {}, signal);
    if (live === undefined) return [];
    return [
      objectChange("extra", key, {
        live: neat(withKey(live, key)),
        wanted: undefined,
        pods: podsOf(live),
      }),
    ];
  });
  return changes.flat();
}

/** Excludes an object that a controller of the cluster made from one of ours, and that copied its labels. */
function isOwnedBy(
  { component, anchor, secondOwner }: TargetInstallation,
  { metadata }: KubeObject,
): boolean {
  if (metadata.uid === secondOwner?.uid) return false;
  const owners = [component.metadata.uid, anchor?.uid, secondOwner?.uid];
  return (metadata.ownerReferences ?? []).every(({ uid }) => owners.includes(uid));
}

async function namespaceChanges(
  { place: { component, target }, desired }: CompareOptions,
  signal: AbortSignal,
): Promise<readonly ObjectChange[]> {
  const namespaces = desiredNamespaces({ component, target }, desired.namespaces);
  const { missing, outdated } = await observeNamespaces(target, namespaces, signal);
  return [
    ...missing.map((manifest) =>
      objectChange("missing", keyOf(manifest), { live: undefined, wanted: neat(manifest) }),
    ),
    ...outdated.map(({ manifest, live }) => {
      const { labels, annotations } = live.metadata;
      const now = { ...manifest, metadata: { ...manifest.metadata, labels, annotations } };
      const both = {
        labels: { ...labels, ...manifest.metadata.labels },
        annotations: { ...annotations, ...manifest.metadata.annotations },
      };
      const then = { ...manifest, metadata: { ...manifest.metadata, ...both } };
      return objectChange("changed", keyOf(manifest), { live: neatOf(now), wanted: neatOf(then) });
    }),
  ];
}

function neatOf({
  apiVersion,
  kind,
  metadata,
}: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
}): Manifest {
  return neat({ apiVersion, kind, metadata });
}

function leavingChange({ key, manifest }: DesiredObject): ObjectChange {
  return objectChange("leaving", key, { live: undefined, wanted: neat(manifest) });
}

function objectChange(
  change: ChangeKind,
  key: ObjectKey,
  {
    message = null,
    managers = [],
    pods = null,
    ...sides
  }: Sides & Partial<Pick<ObjectChange, "message" | "managers" | "pods">>,
): ObjectChange {
  const { apiVersion, kind, namespace, name } = key;
  const location = namespace === undefined ? {} : { namespace };
  return {
    change,
    key: { apiVersion, kind, ...location, name },
    ...maskSecrets(sides),
    message,
    managers,
    pods,
  };
}
