import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { FleetError } from "../../api/errors.ts";
import { identityOf, keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { kindIdOf, kindKeyOf } from "../../installation/kinds.ts";
import { isOurs, isWebhookConfiguration } from "../apply/belonging.ts";
import { codeOfRefusal, obstacleIn, withObstacle } from "../apply/refusals.ts";
import type { Log } from "../log.ts";
import type { Observation } from "../observe/observation.ts";
import {
  type Kinded,
  type PartOfPlace,
  partsOf,
  type Place,
  placesOf,
  type Remnant,
  remnantOf,
} from "./finalize-plan.ts";
import type { SweepScope } from "./finalize-scope.ts";

/** Finds and deletes the objects of an installation, and remembers which deletions succeeded and which were refused. */
export class Sweep {
  readonly #client: KubeClient;
  readonly #scope: SweepScope;
  readonly #log: Log;
  readonly #removedUids = new Set<string>();
  /** Identities of objects whose deletion was answered, which need not be searched. */
  readonly #removedObjects = new Set<string>();
  #refusal: FleetError | undefined;
  readonly #obstacles = new Set<string>();
  #view: SweepScope["view"];
  /** Places of the last remnants. While they have any, no other place is listed. */
  #suspects: readonly Place[] = [];

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
        : this.#viewed(this.#view);
    await this.#removeParts(partsOf(objects), signal);
  }

  /** Deletes remnants, but not those that are being deleted already. */
  async remove(remnants: readonly Remnant[], signal: AbortSignal): Promise<void> {
    this.#forgetRefusals();
    const standing = remnants.filter(({ deleting }) => !deleting);
    await this.#removeParts(partsOf(standing.filter(({ unlabelled }) => !unlabelled)), signal);
    const strays = standing.filter(({ unlabelled }) => unlabelled);
    const first = strays.filter(({ resource }) => isWebhookConfiguration(resource));
    await this.#removeEach(first, signal);
    await this.#removeEach(
      strays.filter((stray) => !first.includes(stray)),
      signal,
    );
  }

  /** The remaining objects. Objects without our label are searched when no others are left. */
  async remnants(signal: AbortSignal): Promise<readonly Remnant[]> {
    if (this.#view !== undefined) {
      const seen = this.#viewed(this.#view);
      return seen.length > 0 ? seen : this.#unlabelled(signal);
    }
    for (const places of [this.#suspects, this.#everywhere()]) {
      const found = await this.#labelled(places, signal);
      this.#suspects = placesOf(found);
      if (found.length > 0) return found;
    }
    return this.#unlabelled(signal);
  }

  #everywhere(): readonly Place[] {
    return [...new Set(this.#scope.resources.values())].map((resource) => ({ resource }));
  }

  async #unlabelled(signal: AbortSignal): Promise<readonly Remnant[]> {
    const found = await Promise.all([this.#strays(signal), this.#inherited(signal)]);
    return [...new Map(found.flat().map((remnant) => [remnant.uid, remnant])).values()];
  }

  #viewed(view: Pick<Observation, "objects">): readonly Remnant[] {
    const kinds = new Map(
      [...this.#scope.resources.values()].map((kind) => [kindIdOf(kind), kind]),
    );
    return [...view.objects().values()].flatMap(({ key, uid, deleting, finalizers = [] }) => {
      const resource = kinds.get(kindIdOf(key));
      if (resource === undefined) return [];
      // The answer to a deletion can come before its watch event.
      const isGoing = deleting || this.#removedUids.has(uid);
      return [{ resource, key, uid, deleting: isGoing, unlabelled: false, finalizers }];
    });
  }

  async #labelled(places: readonly Place[], signal: AbortSignal): Promise<readonly Remnant[]> {
    const { labelSelector } = this.#scope;
    const lists = places.map((place) => this.#list(place, labelSelector, signal));
    return (await Promise.all(lists)).flat().map(toRemnant);
  }

  async #strays(signal: AbortSignal): Promise<readonly Remnant[]> {
    const { inventory, belonging } = this.#scope;
    const unseen = inventory.filter((key) => !this.#removedObjects.has(identityOf(key)));
    if (belonging === undefined || unseen.length === 0) return [];
    const names = new Set(unseen.map(identityOf));
    const places = placesOf(unseen.flatMap((key) => this.#withResource(key)));
    const listed = await Promise.all(places.map((place) => this.#list(place, undefined, signal)));
    return listed
      .flat()
      .filter(({ object }) => names.has(identityOf(keyOf(object))) && isOurs(object, belonging))
      .map(toRemnant);
  }

  async #inherited(signal: AbortSignal): Promise<readonly Remnant[]> {
    const { inherited } = this.#scope;
    if (inherited === undefined) return [];
    const { labelSelector, isOne } = inherited;
    const lists = this.#everywhere().map((place) => this.#list(place, labelSelector, signal));
    const found = (await Promise.all(lists)).flat();
    return found.filter(({ object }) => isOne(object)).map(toRemnant);
  }

  async #removeParts(parts: readonly PartOfPlace[], signal: AbortSignal): Promise<void> {
    const first = parts.filter(({ resource }) => isWebhookConfiguration(resource));
    const others = parts.filter((part) => !first.includes(part));
    for (const group of [first, others]) {
      await Promise.all(group.map((part) => this.#removePart(part, signal)));
    }
  }

  async #removePart({ others, ...part }: PartOfPlace, signal: AbortSignal): Promise<void> {
    const { labelSelector } = this.#scope;
    const options = { propagationPolicy: "Background" } as const;
    try {
      const ref = { ...part, labelSelector };
      const removed = await this.#client.removeCollection(ref, options, signal);
      for (const object of removed) this.#remember(object.metadata.uid, keyOf(object));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#log.debug({ kind: part.resource.kind, err: error }, "A collection was not deleted");
      // Anything else is seen by looking what is left, and tried again. A loop of the server has then removed a part.
      if (!needsSingleDeletions(error)) return;
      // The selector of the part may be what is refused.
      const { fieldSelector: _, ...place } = part;
      const found = (await this.#list(place, labelSelector, signal)).map(toRemnant);
      const own = found.filter(({ key }) => others?.has(key.name) !== true);
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
    place: Place,
    labelSelector: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly Listed[]> {
    const { resource } = place;
    try {
      const ref = labelSelector === undefined ? place : { ...place, labelSelector };
      const { items } = await this.#client.list(ref, { metadataOnly: true }, signal);
      return items.map((object) => ({ object, resource }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // A kind that is not served has no instances.
      if (error.status === 404) return [];
      if (this.#scope.guessed?.has(kindKeyOf(resource)) === true) {
        this.#log.debug({ kind: resource.kind, err: error }, "A kind was not looked at");
        return [];
      }
      if (error.status !== 403) throw error;
      if (!this.#scope.unproven.has(kindKeyOf(resource))) throw forbidden("Listing", place, error);
      this.#log.warn({ kind: resource.kind }, "Not allowed to look for objects of a kind");
      return [];
    }
  }

  #forgetRefusals(): void {
    this.#refusal = undefined;
    this.#obstacles.clear();
  }

  #noteRefusal({ message }: ApiError): void {
    const obstacle = obstacleIn(message);
    if (obstacle !== undefined) this.#obstacles.add(obstacle);
  }

  #withResource(key: ObjectKey): readonly Kinded[] {
    const resource = this.#scope.resources.get(kindKeyOf(key));
    return resource === undefined ? [] : [{ resource, key }];
  }

  #remember(uid: string, key: ObjectKey): void {
    this.#removedUids.add(uid);
    this.#removedObjects.add(identityOf(key));
  }
}

interface Listed {
  readonly object: KubeObject;
  readonly resource: ResourceType;
}

function toRemnant({ object, resource }: Listed): Remnant {
  return remnantOf(object, resource);
}

// Who stands before a server takes no URL of this length (414), or no headers, of which HTTP/2 makes the URL one (431).
const tooLong = [414, 431];

/**
 * Whether a right is missing that single deletions do without, a URL is too long, or something lets one object not go, at which the server stops: what comes
 * after it may go.
 */
function needsSingleDeletions({ status, message }: ApiError): boolean {
  return (
    status === 403 ||
    status === 405 ||
    tooLong.includes(status) ||
    obstacleIn(message) !== undefined
  );
}

function forbidden(verb: string, place: Place, cause: ApiError): FleetError {
  const { resource, namespace } = place;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const sentence = `${verb} ${resource.plural}${where} is not allowed on the target cluster`;
  const message = withObstacle(sentence, cause);
  return new FleetError("ApplyFailed", message, { code: codeOfRefusal(cause), cause });
}
