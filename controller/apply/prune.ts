import { ApiError } from "../../access/api-error.ts";
import { foreignText } from "../../access/foreign-text.ts";
import type { KubeClient, ObjectRef } from "../../access/kube-client.ts";
import { objectRefOf } from "../../access/object-ref.ts";
import { identityOf, type ObjectKey } from "../../api/kubernetes.ts";
import { type Belonging, isOurs, isWebhookConfiguration } from "../finalize-plan.ts";
import { missingRightIn } from "../missing-right.ts";
import type { ObservedObject } from "../observe/observation.ts";
import { obstacleIn, refusedOf } from "./apply-error.ts";
import type { Trouble } from "./change-set.ts";
import type { Whereabouts } from "./inventory-kinds.ts";
import type { InventoryEntry } from "./inventory.ts";

export interface PruneDeps {
  readonly client: Pick<KubeClient, "get" | "remove">;
  readonly resourceOf: (object: Pick<ObjectKey, "apiVersion" | "kind">) => Whereabouts;
  readonly observed: ReadonlyMap<string, ObservedObject>;
  /** What makes an object ours that no watch shows. */
  readonly belonging: Belonging;
}

/** Obsolete objects that need no more thought, those that may not be deleted, and those that go later: their deletion goes on, or is refused for now. */
export interface Pruned {
  readonly pruned: readonly ObjectKey[];
  readonly failed: readonly Trouble[];
  readonly lingering: readonly Trouble[];
}

/** What became of one object. */
type Fate = "pruned" | "failed" | "lingering";

interface Result {
  readonly key: ObjectKey;
  readonly fate: Fate;
  readonly message: string;
}

/**
 * Deletes obsolete objects, and only those that are ours: what somebody else has made of a name since is left alone. Webhook
 * configurations go first: whoever answered for them goes next, and without an answer they refuse what they cover. Spec: engine-facts.md 9.
 */
export async function prune(
  obsolete: readonly InventoryEntry[],
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<Pruned> {
  const first = obsolete.filter((entry) => isWebhookConfiguration(entry));
  const results: (Result | undefined)[] = [];
  for (const group of [first, obsolete.filter((entry) => !first.includes(entry))]) {
    results.push(...(await Promise.all(group.map((entry) => removed(entry, deps, signal)))));
  }
  const having = (wanted: Fate): readonly Trouble[] =>
    results.flatMap((result) => {
      if (result?.fate !== wanted) return [];
      return [{ key: result.key, message: result.message }];
    });
  return {
    pruned: having("pruned").map(({ key }) => key),
    failed: having("failed"),
    lingering: having("lingering"),
  };
}

const unknownMessage = "Obsolete, but the API server does not say where its kind is served";

/** Undefined for an object that is not there, or not ours. */
async function removed(
  entry: InventoryEntry,
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<Result | undefined> {
  const { client, resourceOf, observed } = deps;
  const record = observed.get(identityOf(entry));
  const key = record?.key ?? keyWithout(entry);
  const place = resourceOf(key);
  // Without its kind nothing of it is left.
  if (place === "absent") return undefined;
  if (place === "unknown") return { key, fate: "failed", message: unknownMessage };
  const ref = objectRefOf(key, place);
  let isKnown = record !== undefined || entry.fingerprint !== undefined;
  try {
    const found = record ?? (await unwatched(ref, deps, signal));
    if (found === undefined) return undefined;
    isKnown = true;
    if (found.deleting) return lingering(key, found.finalizers);
    const options = { propagationPolicy: "Background", uid: found.uid } as const;
    const removal = await client.remove(ref, options, signal);
    if (typeof removal === "object") return lingering(key, removal.metadata.finalizers);
    return { key, fate: "pruned", message: "" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return refused(error, { key, isKnown, installNamespace: deps.belonging.namespace });
  }
}

interface Asked {
  readonly key: ObjectKey;
  readonly isKnown: boolean;
  readonly installNamespace: string;
}

function refused(error: ApiError, { isKnown, ...asked }: Asked): Result | undefined {
  const { key } = asked;
  // Never accepted, not to be seen, and nobody may look: there is nothing of it.
  if (error.status === 403 && !isKnown) return undefined;
  const obstacle = obstacleIn(error.message);
  // Another uid: created again by somebody else since it was seen. Webhooks and policies refuse with a status of their own choice, also with this one.
  if (error.status === 409 && obstacle === undefined) return { key, fate: "pruned", message: "" };
  const right = missingRightIn(error.message);
  const lack = right === undefined ? obstacle : `the controller lacks ${right}`;
  const why = lack === undefined ? "" : `: ${lack}`;
  const { isForGood } = refusedOf(error, asked);
  const howLong = isForGood ? "" : " for now";
  const message = `Obsolete, but its deletion is refused${howLong} with status ${error.status}${why}`;
  return { key, fate: isForGood ? "failed" : "lingering", message };
}

/** What no watch shows may have lost the label by which it is watched, or the watch has not told of it yet. */
async function unwatched(
  ref: ObjectRef,
  { client, belonging }: PruneDeps,
  signal: AbortSignal,
): Promise<Pick<ObservedObject, "uid" | "deleting" | "finalizers"> | undefined> {
  const object = await client.get(ref, { metadataOnly: true }, signal);
  if (object === undefined || !isOurs(object, belonging)) return undefined;
  const { uid, deletionTimestamp, finalizers = [] } = object.metadata;
  return { uid, deleting: deletionTimestamp !== undefined, finalizers };
}

function lingering(key: ObjectKey, finalizers: readonly string[] = []): Result {
  const names = finalizers.map((name) => foreignText(name, 100)).toSorted();
  const holders = names.length === 0 ? "" : `, held by finalizer ${names.join(", ")}`;
  return { key, fate: "lingering", message: `Obsolete and being deleted${holders}` };
}

function keyWithout({ apiVersion, kind, namespace, name }: InventoryEntry): ObjectKey {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
