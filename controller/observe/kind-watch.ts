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

/** What is known about the list of a kind. A `late` timer runs until the list is overdue. */
type State =
  /** No list has arrived yet. */
  | { readonly kind: "asking"; readonly late: Disposable }
  /** The watch was interrupted. It waits for the next list. */
  | { readonly kind: "listing"; readonly late: Disposable }
  /** The next list is overdue. */
  | { readonly kind: "behind" }
  /** The watch continues from the last list; see reflector.ts. */
  | { readonly kind: "current" }
  /** The kind has no objects. */
  | { readonly kind: "unserved" }
  | Refused;

/** The kind may not be watched, or its watch was given up. The watch goes on trying. */
interface Refused {
  readonly kind: "refused";
  readonly refusal: string;
  /** The present subscription, which may be a second one, has read a list. */
  readonly holdsList: boolean;
  /** Undefined where an attempt notices the refusal because it waits for the first list. */
  readonly late: Disposable | undefined;
}

/** The watch of one kind of an installation. `settled` tells whether its first list has arrived. */
export class KindWatch implements SharedWatchHandlers, Disposable {
  readonly #options: KindWatchOptions;
  readonly #handlers: KindWatchHandlers;
  readonly #failures: FailureRow;
  #subscription: KindSubscription;
  #state: State;
  #settled = openVerdict();
  #wasListed = false;
  /** An attempt may have run without the objects of this kind. */
  #isMissed = false;

  constructor(options: KindWatchOptions, handlers: KindWatchHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#failures = new FailureRow(options.watches.clock);
    this.#subscription = this.#subscribe();
    this.#state = { kind: "asking", late: this.#startLateTimer() };
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
    return this.#state.kind === "unserved" || this.#state.kind === "current";
  }

  /** A further list is overdue by some seconds, so that `objects()` may be out of date. False before the first list. */
  get isBehind(): boolean {
    return this.#state.kind === "behind";
  }

  /** Why the kind may not be watched, as a sentence of ours. Undefined when no refusal is known. */
  get refusal(): string | undefined {
    return this.#state.kind === "refused" ? this.#state.refusal : undefined;
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
    if (this.#failures.length < mostFailures && this.refusal === undefined) return;
    this.#isMissed = true;
    const { plural } = this.resource;
    const refusal = `Watching ${plural} is not possible: the API server answers with status ${error.status}`;
    this.#refuse(refusal, this.#late);
  }

  /** Lists again now when the last try failed, but not before the time that the server asked for. */
  retryIfFailing(): void {
    // An event ends the row of failures. It does not show that a refused list is allowed now.
    const hasAnswer = this.#state.kind === "unserved" || this.#state.kind === "refused";
    if (this.#failures.length === 0 && !hasAnswer) return;
    this.#reopen();
    this.#failures.end();
    this.#subscription.hasten();
  }

  [Symbol.dispose](): void {
    this.#late?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
    this.#settled.reject(new DOMException("The observation was closed", "AbortError"));
  }

  #restart(): void {
    const { version } = this.#subscription;
    this.#subscription[Symbol.dispose]();
    this.#failures.end();
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
    // Attempts wait for the next list from now on.
    this.#reopen();
    this.#enter({ kind: this.#wasListed ? "listing" : "asking", late: this.#startLateTimer() });
  }

  onListed(listing: Listing): void {
    this.#failures.end();
    this.#enter({ kind: "current" });
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
      const refusal = `Watching ${this.resource.plural} is not allowed${lack}`;
      // An attempt that waits for the first list goes on now.
      this.#refuse(refusal, this.#wasListed ? this.#late : undefined);
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

  get #late(): Disposable | undefined {
    return "late" in this.#state ? this.#state.late : undefined;
  }

  /** Whether the present subscription has read a list. */
  get #holdsList(): boolean {
    if (this.#state.kind === "refused") return this.#state.holdsList;
    return this.#state.kind !== "asking" && this.#state.kind !== "unserved";
  }

  /** Stops the timer of the old state unless the new state keeps it. */
  #enter(state: State): void {
    const before = this.#late;
    this.#state = state;
    if (before !== this.#late) before?.[Symbol.dispose]();
  }

  #refuse(refusal: string, late: Disposable | undefined): void {
    this.#enter({ kind: "refused", refusal, holdsList: this.#holdsList, late });
    this.#settle();
  }

  #startLateTimer(): Disposable {
    const noteLate = (): void => {
      if (this.#state.kind === "listing") this.#enter({ kind: "behind" });
      this.#isMissed = true;
      this.#handlers.onVisibilityChange();
    };
    const { clock } = this.#options.watches;
    return clock.after(behindMs, noteLate, "background");
  }

  // The objects of a kind go with it. When the kind comes back, it is listed from the beginning.
  #noteUnserved(): void {
    const heldList = this.#holdsList;
    if (heldList) this.#restart();
    this.#enter({ kind: "unserved" });
    if (heldList) this.#handlers.onVanished();
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
