import { objectRefOf } from "../../access/kube/kube-client.ts";
import { collectionPath, objectPath } from "../../access/kube/kube-path.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { Manifest, ObjectKey } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { type Answer, failureOf, StatusError } from "../simulator/answers.ts";
import { VirtualControllers } from "../simulator/controllers.ts";
import type { Backup, StoredEvent, StoredObject } from "../simulator/object-store.ts";
import { type SpokeRequest, spokeRequestOf } from "../simulator/spoke-request.ts";
import { VirtualSpoke } from "../simulator/virtual-spoke.ts";
import { type EventStream, Watches } from "../simulator/watches.ts";
import type { Random } from "./random.ts";

/** A request as it arrives at a cluster. */
export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What a request did. */
export interface Effect {
  readonly request: SpokeRequest;
  readonly answer: Answer;
  readonly changes: readonly StoredEvent[];
}

export interface ClusterOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How long pods take to start, in ms. */
  readonly availableAfterMs: () => number;
  /** Called for each request that is let in. */
  readonly onRequest?: ((request: SpokeRequest) => void) | undefined;
}

/** The token of those who run on a cluster themselves. It does not expire. */
export const localToken = "local";

/** The field manager of people, who change things by hand. */
export const userManager = "user";

const unauthorized = new StatusError({ status: 401, reason: "Unauthorized" }, "Unauthorized")
  .answer;

/** The URL of a cluster. */
export function serverOf(cluster: string): string {
  return `https://${cluster}.simulated`;
}

/** One API server of a simulation with its controllers: the hub, or a spoke. */
export class SimulatedCluster implements Disposable {
  readonly name: string;
  /** The only token that is let in; undefined: everybody is. */
  token: string | undefined;
  /** What is behind the Services of the cluster. */
  answerProxy: (() => Answer) | undefined;
  /** Whether new pods can start now. */
  mayStart: () => boolean = () => true;
  readonly #spoke: VirtualSpoke;
  readonly #controllers: VirtualControllers;
  readonly #watches: Watches;
  readonly #streams = new Set<EventStream>();
  readonly #clock: Clock;
  readonly #onRequest: ClusterOptions["onRequest"];
  #restoredAtMs = -Infinity;

  constructor(name: string, { clock, random, availableAfterMs, onRequest }: ClusterOptions) {
    this.name = name;
    this.#onRequest = onRequest;
    this.#clock = clock;
    const uids = random.fork();
    this.#spoke = new VirtualSpoke(name, { clock, newUid: () => uids.uuid(), keepsAll: true });
    this.#controllers = new VirtualControllers(this.#spoke.store, clock, availableAfterMs, () =>
      this.mayStart(),
    );
    this.#watches = new Watches(this.#spoke, clock, () => false);
  }

  get server(): string {
    return serverOf(this.name);
  }

  get store(): VirtualSpoke["store"] {
    return this.#spoke.store;
  }

  /** Answers a request at once. */
  serve(arrival: Arrival): Effect {
    const request = this.#requestOf(arrival);
    const changes: StoredEvent[] = [];
    if (!this.#isAllowed(arrival)) return { request, answer: unauthorized, changes };
    this.#onRequest?.(request);
    using _listening = this.store.listen((event) => void changes.push(event));
    return { request, answer: this.#answer(request), changes };
  }

  /** Begins a watch, or returns the answer that refuses it. */
  watch(arrival: Arrival, stream: EventStream): Answer | undefined {
    if (!this.#isAllowed(arrival)) return unauthorized;
    const request = this.#requestOf(arrival);
    this.#onRequest?.(request);
    try {
      this.#watches.open(stream, request);
      this.#streams.add(stream);
      stream.onClose(() => this.#streams.delete(stream));
      return undefined;
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Ends some of the running watches, as a server does that restarts. */
  endWatches(isEnded: () => boolean): number {
    const ended = [...this.#streams].filter(isEnded);
    for (const stream of ended) stream.end();
    return ended.length;
  }

  /** Whether it was restored within so long, so that not everybody knows yet. */
  isRestoredWithin(ms: number): boolean {
    return this.#clock.now() - this.#restoredAtMs < ms;
  }

  /** Goes back to an older state, as when its etcd is restored from a backup: the API server starts anew. */
  restore(backup: Backup): void {
    this.#restoredAtMs = this.#clock.now();
    for (const stream of this.#streams) stream.end();
    this.store.restore(backup);
  }

  /** Creates an object, or replaces what is there, as somebody who has nothing to do with us. Returns what is stored. Throws when it is refused. */
  put(manifest: Manifest): StoredObject {
    const { status, ...content } = manifest;
    const live = this.store.find(manifest);
    const stored = live === undefined ? this.#create(content) : this.#replace(live, content);
    return status === undefined ? stored : this.#replace(stored, { ...stored, status }, "status");
  }

  /** Merges a patch into an object. Returns what is stored; undefined when it is not there. */
  patch(key: ObjectKey, patch: object): StoredObject | undefined {
    const live = this.store.find({ ...key, metadata: key });
    if (live === undefined) return undefined;
    const contentType = "application/merge-patch+json";
    const path = objectPath(objectRefOf(live.metadata, this.#resourceOf(key)), undefined, {});
    this.#write({ method: "PATCH", path, contentType, body: patch });
    return this.store.find(live);
  }

  /** Applies an object as somebody else does, and returns the answer. */
  apply(manifest: Manifest, manager: string): Answer {
    const ref = objectRefOf({ name: "", ...manifest.metadata }, this.#resourceOf(manifest));
    const path = objectPath(ref, undefined, { fieldManager: manager, force: "true" });
    const headers = {
      "content-type": "application/apply-patch+yaml",
      authorization: `Bearer ${localToken}`,
    };
    return this.serve({ method: "PATCH", path, headers, body: JSON.stringify(manifest) }).answer;
  }

  /** Deletes an object, as far as its finalizers let it go. */
  remove(key: ObjectKey): void {
    if (this.store.find({ ...key, metadata: key }) === undefined) return;
    const path = objectPath(objectRefOf(key, this.#resourceOf(key)), undefined, {});
    this.#write({ method: "DELETE", path, contentType: "application/json", body: {} });
  }

  [Symbol.dispose](): void {
    this.#controllers[Symbol.dispose]();
    this.#watches[Symbol.dispose]();
  }

  #create(manifest: Manifest): StoredObject {
    const { namespace } = manifest.metadata;
    const resource = this.#resourceOf(manifest);
    const place = resource.namespaced && namespace !== undefined ? { namespace } : {};
    const path = collectionPath({ resource, ...place }, {});
    this.#write({ method: "POST", path, contentType: "application/json", body: manifest });
    return this.#stored(manifest);
  }

  #replace(live: StoredObject, object: Manifest, subresource?: "status"): StoredObject {
    const resource = this.#resourceOf(live);
    const { resourceVersion } = live.metadata;
    const manifest = { ...object, metadata: { ...object.metadata, resourceVersion } };
    const path = objectPath(objectRefOf(live.metadata, resource), subresource, {});
    this.#write({ method: "PUT", path, contentType: "application/json", body: manifest });
    return this.#stored(manifest);
  }

  #stored(manifest: Manifest): StoredObject {
    const stored = this.store.find(manifest);
    if (stored === undefined) throw new Error(`${manifest.kind} was not stored`);
    return stored;
  }

  #resourceOf({ apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">): ResourceType {
    return knownResource(apiVersion, kind);
  }

  #write(write: {
    readonly method: string;
    readonly path: string;
    readonly contentType: string;
    readonly body: object;
  }): void {
    const { method, path, contentType, body } = write;
    const authorization = `Bearer ${this.token}`;
    const headers = {
      "user-agent": `${userManager}/1`,
      "content-type": contentType,
      authorization,
    };
    const { answer } = this.serve({ method, path, headers, body: JSON.stringify(body) });
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  }

  #answer(request: SpokeRequest): Answer {
    try {
      if (request.subresource === "proxy" && this.answerProxy !== undefined) {
        return this.answerProxy();
      }
      return this.#spoke.answer(request);
    } catch (error) {
      return failureOf(error);
    }
  }

  #isAllowed({ headers }: Arrival): boolean {
    const tokens = [localToken, this.token].map((token) => `Bearer ${token}`);
    return this.token === undefined || tokens.includes(headers["authorization"] ?? "");
  }

  #requestOf({ method, path, headers, body }: Arrival): SpokeRequest {
    const head = spokeRequestOf(this.store, { ...headers, ":method": method, ":path": path });
    return { ...head, body: body === undefined ? undefined : JSON.parse(body) };
  }
}
