import { ApiError } from "../../access/kube/api-error.ts";
import { type KubeClient, type ObjectRef, objectRefOf } from "../../access/kube/kube-client.ts";
import { missingRightIn } from "../../access/kube/missing-right.ts";
import { obstacleIn } from "../../access/kube/obstacle.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { objectId } from "../../api/keys.ts";
import { type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import type { InventoryEntry } from "../../installation/inventory.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import { type Belonging, isOurs, isWebhookConfiguration } from "./belonging.ts";
import type { Trouble } from "./change-set.ts";
import type { KindPlace } from "./inventory-kinds.ts";
import { refusedOf } from "./refusals.ts";

export interface PruneDeps {
  readonly client: Pick<KubeClient, "get" | "remove">;
  readonly resourceOf: (object: Pick<ObjectKey, "apiVersion" | "kind">) => KindPlace;
  readonly observed: ReadonlyMap<string, ObservedObject>;
  /** Identities of objects that no inventory names. Each of them is read before it is deleted. */
  readonly strays: ReadonlySet<string>;
  /** Decides whether an object that no watch shows is ours. */
  readonly belonging: Belonging;
}

/** Obsolete objects by result: pruned (nothing is left to do), failed (may not be deleted), lingering (being deleted, or refused for now). */
export interface Pruned {
  readonly pruned: readonly ObjectKey[];
  readonly failed: readonly Trouble[];
  readonly lingering: readonly Trouble[];
}

/** The result for one object. */
type PruneOutcome = "pruned" | "failed" | "lingering";

interface Result extends Trouble {
  readonly outcome: PruneOutcome;
}

/**
 * Deletes obsolete objects, if they are ours. An object that another writer created under the name of an obsolete one stays.
 *
 * Webhook configurations are deleted first. A webhook whose Service is deleted would refuse requests. Spec: engine-facts.md 9.
 */
export async function prune(
  obsolete: readonly InventoryEntry[],
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<Pruned> {
  const first = obsolete.filter((entry) => isWebhookConfiguration(entry));
  const results: (Result | undefined)[] = [];
  for (const group of [first, obsolete.filter((entry) => !first.includes(entry))]) {
    results.push(...(await Promise.all(group.map((entry) => pruneEntry(entry, deps, signal)))));
  }
  const having = (wanted: PruneOutcome): readonly Trouble[] =>
    results.flatMap((result) => {
      if (result?.outcome !== wanted) return [];
      const { outcome: _, ...trouble } = result;
      return [trouble];
    });
  return {
    pruned: having("pruned").map(({ key }) => key),
    failed: having("failed"),
    lingering: having("lingering"),
  };
}

const unknownMessage = "Obsolete, but the API server does not say where its kind is served";

/** Undefined for an object that is not there, or not ours. */
async function pruneEntry(
  entry: InventoryEntry,
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<Result | undefined> {
  const record = deps.observed.get(objectId(entry));
  const key = record?.key ?? keyWithout(entry);
  const place = deps.resourceOf(key);
  // Without its kind the object is gone.
  if (place === "absent") return undefined;
  if (place === "unknown") return { key, outcome: "failed", message: unknownMessage };
  const ref = objectRefOf(key, place);
  let isKnown = record !== undefined || entry.fingerprint !== undefined;
  try {
    const found = await liveObjectAt(ref, { ...deps, entry, record }, signal);
    if (found === undefined) return undefined;
    isKnown = true;
    return await deleteLive({ ref, key, found }, deps, signal);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return refused(error, { key, isKnown, installNamespace: deps.belonging.namespace });
  }
}

interface LiveObject extends Pick<ObservedObject, "uid" | "deleting" | "finalizers"> {
  /** Of an object that was read: it is deleted only as it was then. */
  readonly version?: string;
}

interface EntryFacts extends PruneDeps {
  readonly entry: InventoryEntry;
  readonly record: ObservedObject | undefined;
}

async function liveObjectAt(
  ref: ObjectRef,
  { entry, record, ...deps }: EntryFacts,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  if (deps.strays.has(objectId(entry))) return readIfOurs(ref, deps, signal);
  return record === undefined ? readUnwatched(ref, deps, signal) : watchedObjectOf(record);
}

// Without a resourceVersion: a watch that is late by one write to a status must not stop the deletion.
function watchedObjectOf({ uid, deleting, finalizers = [] }: ObservedObject): LiveObject {
  return { uid, deleting, finalizers };
}

interface ToDelete {
  readonly ref: ObjectRef;
  readonly key: ObjectKey;
  readonly found: LiveObject;
}

const maxAttempts = 5;

/** Deletes an object. When the object changed meanwhile, reads it again and checks that it is still ours. */
async function deleteLive(
  { ref, key, found: first }: ToDelete,
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<Result | undefined> {
  let found: LiveObject | undefined = first;
  for (let attempt = 1; found !== undefined; attempt += 1) {
    if (found.deleting) return lingering(key, found.finalizers);
    try {
      const { uid, version } = found;
      const asRead = version === undefined ? {} : { resourceVersion: version };
      const options = { propagationPolicy: "Background", uid, ...asRead } as const;
      const removal = await deps.client.remove(ref, options, signal);
      if (typeof removal === "object") return lingering(key, removal.metadata.finalizers);
      return { key, outcome: "pruned", message: "" };
    } catch (error) {
      if (!isWriteConflict(error) || attempt === maxAttempts) throw error;
    }
    found = await readIfOurs(ref, deps, signal);
  }
  return undefined;
}

/** Webhooks and policies refuse with a status of their own choice, also with that of an object that was changed or replaced. */
function isWriteConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && obstacleIn(error) === undefined;
}

/** Reads an object that may be ours by its label only: no inventory names it, or another writer created it under the name of an object of ours. */
async function readIfOurs(
  ref: ObjectRef,
  { client, belonging }: PruneDeps,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const object = await client.get(ref, { metadataOnly: true }, signal);
  if (object === undefined || !isOurs(object, belonging) || isOthers(object, belonging))
    return undefined;
  return liveObjectOf(object);
}

/** Whether something that is not ours controls an object, and would make it again. */
function isOthers(
  { metadata: { ownerReferences = [] } }: KubeObject,
  { ownerUid }: Belonging,
): boolean {
  return ownerReferences.some(({ uid, controller }) => controller === true && uid !== ownerUid);
}

interface Asked {
  readonly key: ObjectKey;
  readonly isKnown: boolean;
  readonly installNamespace: string;
}

function refused(error: ApiError, { isKnown, ...asked }: Asked): Result | undefined {
  // The object was never accepted and no watch shows it, and the controller may not read it: it does not exist.
  if (error.status === 403 && !isKnown) return undefined;
  const obstacle = obstacleIn(error);
  const right = missingRightIn(error.message);
  const lack = right === undefined ? obstacle : `the controller lacks ${right}`;
  const why = lack === undefined ? "" : `: ${lack}`;
  const { isForGood, trouble } = refusedOf(error, asked);
  const howLong = isForGood ? "" : " for now";
  const message = `Obsolete, but its deletion is refused${howLong} with status ${error.status}${why}`;
  return { ...trouble, message, outcome: isForGood ? "failed" : "lingering" };
}

/** Reads an object that no watch shows: it may have lost the label by which it is watched, or its event is still to come. */
async function readUnwatched(
  ref: ObjectRef,
  { client, belonging }: PruneDeps,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const object = await client.get(ref, { metadataOnly: true }, signal);
  return object !== undefined && isOurs(object, belonging) ? liveObjectOf(object) : undefined;
}

function liveObjectOf({ metadata }: KubeObject): LiveObject {
  const { uid, deletionTimestamp, finalizers = [], resourceVersion } = metadata;
  return { uid, deleting: deletionTimestamp !== undefined, finalizers, version: resourceVersion };
}

function lingering(key: ObjectKey, finalizers: readonly string[] = []): Result {
  const names = finalizers.map((name) => foreignText(name, 100)).toSorted();
  const holders = names.length === 0 ? "" : `, held by finalizer ${names.join(", ")}`;
  return { key, outcome: "lingering", message: `Obsolete and being deleted${holders}` };
}

/** The key of the object of an inventory entry. */
export function keyWithout({ apiVersion, kind, namespace, name }: InventoryEntry): ObjectKey {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
