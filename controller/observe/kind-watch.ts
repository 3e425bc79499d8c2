import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import { missingRightIn } from "../../access/kube/missing-right.ts";
import type { Listing } from "../../access/kube/reflector.ts";
import { FleetError } from "../../api/errors.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import type {
  KindSubscription,
  SharedWatchHandlers,
  SharedWatches,
  WatchedObject,
} from "../target/shared-watches.ts";
import { FailureRow } from "./single-watch.ts";

export interface KindWatchOptions {
  readonly watches: Pick<SharedWatches, "clock" | "subscribe">;
  readonly resource: ResourceType;
  readonly componentUid: string;
}

export interface KindWatchHandlers {
  readonly onObject: (object: WatchedObject) => void;
  readonly onGone: (object: WatchedObject) => void;
  /** A complete list was read. Objects that `has` does not know are gone, except younger ones. */
  readonly onListed: (listing: Listing) => void;
  /** The kind is not served any more: it has no objects. */
  readonly onVanished: () => void;
  /** `isBehind`, `isLive` or `refusal` changed: the list is overdue, or a missed list has arrived. */
  readonly onVisibilityChange: () => void;
  readonly onError: (error: unknown) => void;
  readonly onBug: (error: unknown) => void;
}

// One broken stream may be a server that restarts. Two in a row are a failure.
const toleratedFailures = 1;
// Some seconds, with the pauses between the failures.
const mostFailures = 2;
// Longer than another API server takes to replace one that stops.
const behindMs = 2_000;

/** The watch of one kind of an installation. `settled` tells whether its first list has arrived. */
export class KindWatch implements SharedWatchHandlers, Disposable {
  readonly #options: KindWatchOptions;
  readonly #handlers: KindWatchHandlers;
  #subscription: KindSubscription;
  #settled = openVerdict();
  readonly #failures: FailureRow;
  #isServed = true;
  #refusal: string | undefined;
  #wasListed = false;
  /** Whether the present subscription, which may be a second one, has read a list. */
  #holdsList = false;
  /** The watch continues from the last list; see reflector.ts. */
  #isCurrent = false;
  /** Runs while a list is awaited. */
  #lateTimer: Disposable | undefined;
  #isBehind = false;
  /** An attempt may have run without the objects of this kind. */
  #isMissed = false;

  constructor(options: KindWatchOptions, handlers: KindWatchHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#failures = new FailureRow(options.watches.clock);
    this.#subscription = this.#subscribe();
    this.#startLateTimer();
  }

  get resource(): ResourceType {
    return this.#options.resource;
  }

  /** A complete list was read at least once. */
  get wasListed(): boolean {
    return this.#wasListed;
  }

  /** `objects()` is complete and follows the cluster. True for a kind that is not served, which has no objects. */
  get isLive(): boolean {
    return !this.#isServed || this.#isCurrent;
  }

  /** A further list is overdue by some seconds, so that `objects()` may be out of date. False before the first list. */
  get isBehind(): boolean {
    return this.#isBehind && this.#wasListed && this.#refusal === undefined;
  }

  /** Why the kind may not be watched, as a sentence of ours. Undefined when no refusal is known. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  has(key: ObjectKey): boolean {
    return this.#subscription.has(key);
  }

  objects(): Iterable<WatchedObject> {
    return this.#subscription.objects();
  }

  /** Resolves when the list has arrived, or when the kind is not served or may not be watched. Rejects when the watch fails otherwise. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /**
   * Stops waiting for a list that failed several times, although the server lists other kinds. The kind then counts as refused. Its watch goes on
   * trying.
   */
  giveUp(error: unknown): void {
    // The program that serves this API, or its conversion webhook, may be down.
    if (!(error instanceof ApiError) || error.status < 500) return;
    if (this.#failures.length < mostFailures && this.#refusal === undefined) return;
    this.#isMissed = true;
    this.#refusal = `Watching ${this.resource.plural} is not possible: the API server answers with status ${error.status}`;
    this.#settle();
  }

  /** Lists again now when the last try failed, but not before the time that the server asked for. */
  retryIfFailing(): void {
    // An event ends the row of failures. It does not show that a refused list is allowed now.
    if (this.#failures.length === 0 && this.#isServed && this.#refusal === undefined) return;
    this.#reopen();
    this.#failures.end();
    this.#subscription.hasten();
  }

  [Symbol.dispose](): void {
    this.#lateTimer?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
    this.#settled.reject(new DOMException("The observation was closed", "AbortError"));
  }

  #restart(): void {
    const { version } = this.#subscription;
    this.#subscription[Symbol.dispose]();
    this.#failures.end();
    this.#holdsList = false;
    this.#subscription = this.#subscribe(version);
  }

  #subscribe(after = ""): KindSubscription {
    const { watches, resource, componentUid } = this.#options;
    return watches.subscribe({ resource, componentUid, after }, this);
  }

  onObject(object: WatchedObject): void {
    this.#failures.end();
    this.#handlers.onObject(object);
  }

  onGone(object: WatchedObject): void {
    this.#handlers.onGone(object);
  }

  onInterrupted(): void {
    this.#isCurrent = false;
    // Attempts wait for the next list from now on.
    this.#reopen();
    this.#startLateTimer();
  }

  onListed(listing: Listing): void {
    this.#failures.end();
    this.#lateTimer?.[Symbol.dispose]();
    this.#isBehind = false;
    this.#isServed = true;
    this.#refusal = undefined;
    this.#holdsList = true;
    this.#isCurrent = true;
    this.#handlers.onListed(listing);
    this.#wasListed = true;
    this.#settle();
    if (!this.#isMissed) return;
    this.#isMissed = false;
    this.#handlers.onVisibilityChange();
  }

  onError(error: unknown): void {
    this.#handlers.onError(error);
    this.#failures.add(error);
    if (error instanceof ApiError && error.status === 404) {
      this.#noteUnserved();
      return;
    }
    // An attempt that waits for the first list goes on without it, and needs another attempt when the list arrives.
    this.#isMissed ||= !this.#wasListed;
    if (error instanceof ApiError && error.status === 403) {
      const right = missingRightIn(error.message);
      const lack = right === undefined ? "" : `: the controller lacks ${right}`;
      this.#refusal = `Watching ${this.resource.plural} is not allowed${lack}`;
      // `#settle` lets the attempt that waits for the first list go on now.
      if (!this.#wasListed) this.#lateTimer?.[Symbol.dispose]();
      this.#settle();
      return;
    }
    const reason = this.#lastingFailureIn(error);
    if (reason === undefined) return;
    this.#isMissed = true;
    this.#settled.reject(reason);
  }

  onBug(error: unknown): void {
    this.#handlers.onBug(error);
    this.#isMissed ||= !this.#wasListed;
  }

  #startLateTimer(): void {
    this.#lateTimer?.[Symbol.dispose]();
    const noteLate = (): void => {
      this.#isBehind = true;
      this.#isMissed = true;
      this.#handlers.onVisibilityChange();
    };
    const { clock } = this.#options.watches;
    this.#lateTimer = clock.after(behindMs, noteLate, "background");
  }

  // The objects of a kind go with it. When the kind comes back, it is listed from the beginning.
  #noteUnserved(): void {
    if (this.#holdsList) {
      this.#restart();
      this.#handlers.onVanished();
    }
    this.#isServed = false;
    this.#lateTimer?.[Symbol.dispose]();
    this.#isBehind = false;
    this.#settle();
  }

  // Callers that wait for the old verdict get the new one.
  #reopen(): void {
    const waiting = this.#settled;
    this.#settled = openVerdict();
    waiting.resolve(this.#settled.promise);
  }

  // Replaces a verdict that was rejected, so that later callers succeed.
  #settle(): void {
    this.#settled.resolve();
    this.#settled = settledVerdict;
  }

  #lastingFailureIn(error: unknown): unknown {
    if (error instanceof FleetError) return error;
    if (!(error instanceof ConnectionError)) return undefined;
    // `standIn` is never a server that restarts, and no watch is opened again while the spoke is lost.
    const isLasting = error.failure === "standIn" || this.#failures.length > toleratedFailures;
    return isLasting ? error : undefined;
  }
}

// One constant for all watches saves memory: there is a watch for each kind of each component.
const settledVerdict: PromiseWithResolvers<void> = {
  promise: Promise.resolve(),
  resolve: () => undefined,
  reject: () => undefined,
};

function openVerdict(): PromiseWithResolvers<void> {
  const verdict = Promise.withResolvers<void>();
  // A rejection without a waiting caller is no unhandled rejection.
  verdict.promise.catch(() => undefined);
  return verdict;
}
