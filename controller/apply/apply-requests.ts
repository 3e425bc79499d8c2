import { isOutdatedPatch, type StatusCause } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { bodyOf, type Installation, type DesiredObject } from "../../installation/desired.ts";
import {
  inLiveOrder,
  isHandedOver,
  pathsToRelease,
  withoutHandedOver,
} from "../../installation/hand-over.ts";
import { appliedAtOf, fingerprintOf } from "../../installation/managed-fields.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import { isPingSourceAdapter } from "../../installation/scale.ts";
import {
  adoptionPatch,
  isOfController,
  isUpstreams,
  keptAnnotations,
  ownNotes,
  releasePatch,
  takeOverPatch,
} from "./adoption/take-over.ts";
import type { ApplyRequests } from "./apply.ts";
import { type ConflictingManager, findConflictingManagers } from "./filters/conflicts.ts";
import { isReplaceable } from "./refusals.ts";

export interface RequestDeps {
  readonly client: Pick<KubeClient, "get" | "apply" | "patch" | "remove">;
  readonly fieldManager: string;
  readonly installation: Installation;
  /** Objects may be there already, so that fields may have been handed over. */
  readonly mayExist: boolean;
  /** Whether an autoscaler of the set decides the number of pods of a workload. */
  readonly isScaled: (manifest: Manifest) => boolean;
}

/** The requests of an apply, and the search for other writers of an object. */
export interface EngineRequests extends ApplyRequests {
  /** Asked before the object is sent, which takes every field back; see conflicts.ts. */
  conflictingManagers(
    object: DesiredObject,
    signal: AbortSignal,
  ): Promise<readonly ConflictingManager[]>;
  /** Takes over the fields that upstream's operator wrote on an object. False when there are none. */
  adopt(object: DesiredObject, live: KubeObject, signal: AbortSignal): Promise<boolean>;
  /**
   * Whether our write changed nothing: our fields and their time are as before. False for objects without fields that are handed over to other managers.
   */
  changedNothing(object: DesiredObject, answer: KubeObject): boolean;
  /** Has to be called for an object that is sent unchanged. The object then keeps upstream's annotations that an adoption made ours. */
  keepNotes(object: DesiredObject, signal: AbortSignal): Promise<void>;
}

/** The requests of an apply: one request for each object. The few objects with fields that others take over are read first. */
export function applyRequests(deps: RequestDeps): EngineRequests {
  return new Requests(deps);
}

const maxAttempts = 5;

class Requests implements EngineRequests {
  readonly #deps: RequestDeps;
  /** Annotations that adopted objects keep for now, by identity; see take-over.ts. */
  readonly #kept = new Map<string, Readonly<Record<string, string>>>();
  /** Our fields of objects that were read before they were sent, by identity. */
  readonly #before = new Map<string, OwnMarks>();

  constructor(deps: RequestDeps) {
    this.#deps = deps;
  }

  async send(object: DesiredObject, signal: AbortSignal): Promise<KubeObject> {
    const answer = await this.#apply(object, signal);
    if (!isUpstreams(answer)) return answer;
    const isAdopted = await this.adopt(object, answer, signal);
    return isAdopted ? this.#apply(object, signal) : answer;
  }

  async adopt(object: DesiredObject, seen: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { client, fieldManager: manager, isScaled } = this.#deps;
    let live: KubeObject | undefined = seen;
    for (let attempt = 1; live !== undefined; attempt += 1) {
      const kept = keptAnnotations(live);
      if (kept !== undefined) this.#kept.set(object.id, kept);
      const patch = adoptionPatch(live, { manager, isScaled: isScaled(object.manifest) });
      if (patch === undefined) return attempt > 1;
      const options = { fieldManager: manager, metadataOnly: true };
      try {
        await client.patch(requestRefOf(object), patch, options, signal);
        return true;
      } catch (error) {
        // Its status was written in between, for example.
        if (!isOutdatedPatch(error) || attempt === maxAttempts) throw error;
      }
      live = await client.get(requestRefOf(object), { metadataOnly: true }, signal);
    }
    // Gone by now: the next apply creates it.
    return true;
  }

  changedNothing({ id }: DesiredObject, answer: KubeObject): boolean {
    const before = this.#before.get(id);
    if (before === undefined) return false;
    const after = marksOf(answer, this.#deps.fieldManager);
    return before.fingerprint === after.fingerprint && before.appliedAt === after.appliedAt;
  }

  async keepNotes(object: DesiredObject, signal: AbortSignal): Promise<void> {
    const { client, fieldManager } = this.#deps;
    const live = await client.get(requestRefOf(object), { metadataOnly: true }, signal);
    const notes = live && ownNotes(live, fieldManager);
    if (notes !== undefined) this.#kept.set(object.id, notes);
  }

  async clear(
    object: DesiredObject,
    causes: readonly StatusCause[],
    signal: AbortSignal,
  ): Promise<boolean | "leaving"> {
    const { client, fieldManager, installation } = this.#deps;
    const live = await client.get(requestRefOf(object), { metadataOnly: true }, signal);
    // Gone by now: the next try creates it.
    if (live === undefined) return true;
    if (live.metadata.deletionTimestamp !== undefined) return "leaving";
    if (await this.adopt(object, live, signal)) return true;
    const isOurs = belongsTo(installation, live);
    // The controller of a foreign object would create it again and again.
    if (!isOurs && causes.some(isOfController)) return false;
    const patch = takeOverPatch(live, causes, fieldManager);
    if (patch !== undefined) {
      await this.#patched(object, patch, signal);
      return true;
    }
    if (!isReplaceable(object.key, causes) || !isOurs) return false;
    const { uid } = live.metadata;
    const options = { propagationPolicy: "Background", uid } as const;
    const removal = await client.remove(requestRefOf(object), options, signal);
    return typeof removal === "object" ? "leaving" : true;
  }

  async conflictingManagers(
    object: DesiredObject,
    signal: AbortSignal,
  ): Promise<readonly ConflictingManager[]> {
    const body = await this.#bodyOf(object, signal);
    return findConflictingManagers({ ref: requestRefOf(object), body }, this.#deps, signal);
  }

  async #apply(object: DesiredObject, signal: AbortSignal): Promise<KubeObject> {
    const { client, fieldManager } = this.#deps;
    const body = await this.#bodyOf(object, signal);
    const options = { fieldManager, force: true, metadataOnly: true };
    return client.apply(requestRefOf(object), body, options, signal);
  }

  async #bodyOf(object: DesiredObject, signal: AbortSignal): Promise<Manifest> {
    const { client, installation, mayExist, fieldManager, isScaled } = this.#deps;
    const body = withAnnotations(bodyOf(object, installation), this.#kept.get(object.id));
    const scaled = isScaled(object.manifest);
    if (!mayExist || !(scaled || isHandedOver(body))) return body;
    for (let attempt = 1; ; attempt += 1) {
      const metadataOnly = !isPingSourceAdapter(body);
      const live = await client.get(requestRefOf(object), { metadataOnly }, signal);
      if (live === undefined) return body;
      const ordered = inLiveOrder(body, live);
      const paths = pathsToRelease(live, { manager: fieldManager, isScaled: scaled });
      const patch = releasePatch(live, paths, fieldManager);
      if (patch === undefined) return this.#without(object, ordered, live);
      try {
        const options = { fieldManager, metadataOnly: true };
        const { metadata } = await client.patch(requestRefOf(object), patch, options, signal);
        // The patch fails for any other version than the one that was read. It changes only owners of fields.
        return this.#without(object, ordered, { ...live, metadata });
      } catch (error) {
        // Sending the object without this patch would reset fields that are still ours, and would take fields that belong to others now.
        if (!isOutdatedPatch(error) || attempt === maxAttempts) throw error;
      }
    }
  }

  #without({ id }: DesiredObject, body: Manifest, live: KubeObject): Manifest {
    const { fieldManager } = this.#deps;
    this.#before.set(id, marksOf(live, fieldManager));
    return withoutHandedOver(body, live, fieldManager);
  }

  /** Undefined when the object changed or went meanwhile, so that it has to be read again. */
  async #patched(
    object: DesiredObject,
    patch: readonly object[],
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    const { client, fieldManager } = this.#deps;
    const options = { fieldManager, metadataOnly: true };
    try {
      return await client.patch(requestRefOf(object), patch, options, signal);
    } catch (error) {
      if (isOutdatedPatch(error)) return undefined;
      throw error;
    }
  }
}

/** Our label decides. An object of upstream's operator has no label until it is sent for the first time: there the controlling owner decides. */
function belongsTo(
  { componentUid, owner }: RequestDeps["installation"],
  { metadata: { labels = {}, ownerReferences = [] } }: KubeObject,
): boolean {
  const label = labels[componentUidLabel];
  if (label !== undefined) return label === componentUid;
  return ownerReferences.some(({ uid, controller }) => controller === true && uid === owner.uid);
}

type OwnMarks = Pick<ObservedObject, "fingerprint" | "appliedAt">;

function marksOf(live: KubeObject, fieldManager: string): OwnMarks {
  return {
    fingerprint: fingerprintOf(live, fieldManager),
    appliedAt: appliedAtOf(live, fieldManager),
  };
}

function withAnnotations(
  body: Manifest,
  kept: Readonly<Record<string, string>> | undefined,
): Manifest {
  if (kept === undefined) return body;
  const annotations = { ...kept, ...body.metadata.annotations };
  return { ...body, metadata: { ...body.metadata, annotations } };
}

function requestRefOf({ resource, key }: DesiredObject): ObjectRef {
  return { ...key, resource };
}
