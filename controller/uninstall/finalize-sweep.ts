import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { obstacleIn } from "../../access/kube/obstacle.ts";
import type { FleetError } from "../../api/errors.ts";
import { kindId, objectId, versionedKindId } from "../../api/keys.ts";
import { keyOf, type ObjectKey } from "../../api/kubernetes.ts";
import { isOurs, isWebhookConfiguration } from "../apply/belonging.ts";
import type { Log } from "../log.ts";
import type { Observation } from "../observe/observation.ts";
import {
  type ServedObject,
  type CollectionPart,
  type ListedObject,
  collectionParts,
  type Collection,
  collectionsOf,
  type Remnant,
  remnantOf,
} from "./finalize-plan.ts";
import type { SweepScope } from "./finalize-scope.ts";
import { notAllowed } from "./not-allowed.ts";

/** Finds and deletes the objects of an installation. Remembers which deletions succeeded and which were refused. */
export class Sweep {
  readonly #client: KubeClient;
  readonly #scope: SweepScope;
  readonly #log: Log;
  readonly #removedUids = new Set<string>();
  /** Identities of objects whose deletion was answered. They need not be searched. */
  readonly #removedObjects = new Set<string>();
  #refusal: FleetError | undefined;
  readonly #obstacles = new Set<string>();
  #view: SweepScope["view"];
  /** Collections of the last remnants. While they have any, no other collection is listed. */
  #suspects: readonly Collection[] = [];

  constructor(client: KubeClient, scope: SweepScope, log: Log) {
    this.#client = client;
    this.#scope = scope;
    this.#log = log;
    this.#view = scope.view;
  }

  /** Number of objects that were deleted so far. */
  get removed(): number {
    return this.#removedUids.size;
  }

  /** The missing right that made a deletion of the last `remove()` fail. */
  get refusal(): FleetError | undefined {
    return this.#refusal;
  }

  /** The webhook, policy or quota that refused a deletion of the last `remove()`, if the answer names one. */
  get obstacle(): string | undefined {
    return [...this.#obstacles].toSorted()[0];
  }

  /** Lists the cluster from now on, instead of reading the watches. */
  distrustView(): void {
    this.#view = undefined;
  }

  /** Deletes all objects that the watches show; without watches, all objects of the inventory, without listing them first. */
  async removeInventory(signal: AbortSignal): Promise<void> {
    this.#forgetRefusals();
    const objects =
      this.#view === undefined
        ? this.#scope.inventory.flatMap((key) => this.#withResource(key))
        : this.#watchedRemnants(this.#view);
    await this.#removeParts(collectionParts(objects), signal);
  }

  /** Deletes remnants, but not those that are being deleted already. */
  async remove(remnants: readonly Remnant[], signal: AbortSignal): Promise<void> {
    this.#forgetRefusals();
    const standing = remnants.filter(({ deleting }) => !deleting);
    await this.#removeParts(
      collectionParts(standing.filter(({ unlabelled }) => !unlabelled)),
      signal,
    );
    const single = standing.filter(({ unlabelled }) => unlabelled);
    const first = single.filter(({ resource }) => isWebhookConfiguration(resource));
    await this.#removeEach(first, signal);
    await this.#removeEach(
      single.filter((remnant) => !first.includes(remnant)),
      signal,
    );
  }

  /** Finds the remaining objects. Searches objects without our label only when no others are left. */
  async findRemnants(signal: AbortSignal): Promise<readonly Remnant[]> {
    if (this.#view !== undefined) {
      const seen = this.#watchedRemnants(this.#view);
      return seen.length > 0 ? seen : this.#findUnlabelled(signal);
    }
    for (const collections of [this.#suspects, this.#allCollections()]) {
      const found = await this.#listLabelled(collections, signal);
      this.#suspects = collectionsOf(found);
      if (found.length > 0) return found;
    }
    return this.#findUnlabelled(signal);
  }

  #allCollections(): readonly Collection[] {
    return [...new Set(this.#scope.resources.values())].map((resource) => ({ resource }));
  }

  async #findUnlabelled(signal: AbortSignal): Promise<readonly Remnant[]> {
    const found = await Promise.all([
      this.#findUnlabelledInventory(signal),
      this.#findUpstream(signal),
    ]);
    return [...new Map(found.flat().map((remnant) => [remnant.uid, remnant])).values()];
  }

  #watchedRemnants(view: Pick<Observation, "objects">): readonly Remnant[] {
    const kinds = new Map([...this.#scope.resources.values()].map((kind) => [kindId(kind), kind]));
    return [...view.objects().values()].flatMap(({ key, uid, deleting, finalizers = [] }) => {
      const resource = kinds.get(kindId(key));
      if (resource === undefined) return [];
      // The answer to a deletion can come before its watch event.
      const isGoing = deleting || this.#removedUids.has(uid);
      return [{ resource, key, uid, deleting: isGoing, unlabelled: false, finalizers }];
    });
  }

  async #listLabelled(
    collections: readonly Collection[],
    signal: AbortSignal,
  ): Promise<readonly Remnant[]> {
    const { labelSelector } = this.#scope;
    const lists = collections.map((one) => this.#list(one, labelSelector, signal));
    return (await Promise.all(lists)).flat().map(remnantOf);
  }

  async #findUnlabelledInventory(signal: AbortSignal): Promise<readonly Remnant[]> {
    const { inventory, belonging } = this.#scope;
    const unseen = inventory.filter((key) => !this.#removedObjects.has(objectId(key)));
    if (belonging === undefined || unseen.length === 0) return [];
    const names = new Set(unseen.map(objectId));
    const collections = collectionsOf(unseen.flatMap((key) => this.#withResource(key)));
    const lists = collections.map((one) => this.#list(one, undefined, signal));
    return (await Promise.all(lists))
      .flat()
      .filter(({ object }) => names.has(objectId(keyOf(object))) && isOurs(object, belonging))
      .map(remnantOf);
  }

  async #findUpstream(signal: AbortSignal): Promise<readonly Remnant[]> {
    const { upstream } = this.#scope;
    if (upstream === undefined) return [];
    const { labelSelector, matches } = upstream;
    const lists = this.#allCollections().map((one) => this.#list(one, labelSelector, signal));
    const listed = (await Promise.all(lists)).flat();
    return listed.filter(({ object }) => matches(object)).map(remnantOf);
  }

  async #removeParts(parts: readonly CollectionPart[], signal: AbortSignal): Promise<void> {
    const first = parts.filter(({ resource }) => isWebhookConfiguration(resource));
    const others = parts.filter((part) => !first.includes(part));
    for (const group of [first, others]) {
      await Promise.all(group.map((part) => this.#removePart(part, signal)));
    }
  }

  async #removePart({ others, ...part }: CollectionPart, signal: AbortSignal): Promise<void> {
    const { labelSelector } = this.#scope;
    const options = { propagationPolicy: "Background" } as const;
    try {
      const ref = { ...part, labelSelector };
      const removed = await this.#client.removeCollection(ref, options, signal);
      for (const object of removed) this.#remember(object.metadata.uid, keyOf(object));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#log.debug({ kind: part.resource.kind, err: error }, "A collection was not deleted");
      // After any other failure the caller lists the remnants and tries again. The server may have deleted some of them.
      if (!needsSingleDeletions(error)) return;
      // The field selector may be the cause of the refusal.
      const { fieldSelector: _, ...collection } = part;
      const listed = (await this.#list(collection, labelSelector, signal)).map(remnantOf);
      const own = listed.filter(({ key }) => others?.has(key.name) !== true);
      const standing = own.filter(({ deleting }) => !deleting);
      await this.#removeEach(standing, signal);
    }
  }

  async #removeEach(remnants: readonly Remnant[], signal: AbortSignal): Promise<void> {
    await Promise.all(remnants.map((remnant) => this.#removeOne(remnant, signal)));
  }

  async #removeOne({ resource, key, uid }: Remnant, signal: AbortSignal): Promise<void> {
    const { namespace, name } = key;
    const ref = namespace === undefined ? { resource, name } : { resource, namespace, name };
    const options = { propagationPolicy: "Background", uid } as const;
    try {
      const removal = await this.#client.remove(ref, options, signal);
      if (removal !== "absent") this.#remember(uid, key);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#noteRefusal(error);
      this.#log.debug({ object: key, err: error }, "An object was not deleted");
      if (error.status === 403) {
        this.#refusal ??= forbidden(
          "Deleting",
          namespace === undefined ? { resource } : { resource, namespace },
          error,
        );
      }
    }
  }

  async #list(
    collection: Collection,
    labelSelector: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly ListedObject[]> {
    const { resource } = collection;
    try {
      const ref = labelSelector === undefined ? collection : { ...collection, labelSelector };
      const { items } = await this.#client.list(ref, { metadataOnly: true }, signal);
      return items.map((object) => ({ object, resource }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // A kind that is not served has no objects.
      if (error.status === 404) return [];
      if (this.#scope.guessed?.has(versionedKindId(resource)) === true) {
        this.#log.debug({ kind: resource.kind, err: error }, "A kind was not looked at");
        return [];
      }
      if (error.status !== 403) throw error;
      if (!this.#scope.unproven.has(versionedKindId(resource)))
        throw forbidden("Listing", collection, error);
      this.#log.warn({ kind: resource.kind }, "Not allowed to look for objects of a kind");
      return [];
    }
  }

  #forgetRefusals(): void {
    this.#refusal = undefined;
    this.#obstacles.clear();
  }

  #noteRefusal(error: ApiError): void {
    const obstacle = obstacleIn(error);
    if (obstacle !== undefined) this.#obstacles.add(obstacle);
  }

  #withResource(key: ObjectKey): readonly ServedObject[] {
    const resource = this.#scope.resources.get(versionedKindId(key));
    return resource === undefined ? [] : [{ resource, key }];
  }

  #remember(uid: string, key: ObjectKey): void {
    this.#removedUids.add(uid);
    this.#removedObjects.add(objectId(key));
  }
}

// A proxy refuses a long URL with 414, or with 431 because HTTP/2 sends the URL as a header.
const tooLong = [414, 431];

/**
 * Whether single deletions can succeed where a collection delete failed: they need another right and a shorter URL, and a server stops a collection delete at the first object
 * that a webhook or policy refuses.
 */
function needsSingleDeletions({ status, message }: ApiError): boolean {
  return (
    status === 403 ||
    status === 405 ||
    tooLong.includes(status) ||
    obstacleIn({ status, message }) !== undefined
  );
}

function forbidden(verb: string, collection: Collection, cause: ApiError): FleetError {
  const { resource, namespace } = collection;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return notAllowed(`${verb} ${resource.plural}${where}`, cause);
}
