import { ApiError, ConnectionError, missingRightIn } from "../../access/kube/api-error.ts";
import type { Listing } from "../../access/kube/reflector.ts";
import { FleetError } from "../../api/errors.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import type {
  KindSubscription,
  SharedWatchHandlers,
  SharedWatches,
  Sighted,
} from "./shared-watches.ts";
import { FailureRow } from "./single-watch.ts";

export interface KindWatchOptions {
  readonly watches: Pick<SharedWatches, "subscribe">;
  readonly resource: ResourceType;
  readonly componentUid: string;
}

export interface KindWatchHandlers {
  readonly onObject: (object: Sighted) => void;
  readonly onGone: (object: Sighted) => void;
  /** A complete list was read; what `has` does not know is gone, unless it is younger. */
  readonly onListed: (listing: Listing) => void;
  /** The kind is not served any more: there is nothing of it. */
  readonly onVanished: () => void;
  /** Something is to be looked at that is told only when asked: the list has not come for some seconds, or one that was missed is there. */
  readonly onTurn: () => void;
  readonly onError: (error: unknown) => void;
}

// One broken stream in a row may be a server that restarts; two are news.
const toleratedFailures = 1;
// With the pauses between them some seconds.
const mostFailures = 2;
// Longer than a server of several takes to be replaced by another one.
const behindMs = 2_000;

/** The watch of one kind of an installation, and the question whether its first list has arrived. */
export class KindWatch implements SharedWatchHandlers, Disposable {
  readonly #options: KindWatchOptions;
  readonly #handlers: KindWatchHandlers;
  #subscription: KindSubscription;
  #settled = openVerdict();
  readonly #failures = new FailureRow();
  #isServed = true;
  #refusal: string | undefined;
  #wasListed = false;
  /** The same of the present subscription, which may be a second one. */
  #holdsList = false;
  /** The watch goes on from that list; see reflector.ts. */
  #isCurrent = false;
  /** Runs while the list is awaited. */
  #patience: NodeJS.Timeout | undefined;
  #isBehind = false;
  /** Somebody may have found that nothing is to be seen here. */
  #isMissed = false;

  constructor(options: KindWatchOptions, handlers: KindWatchHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#subscription = this.#start();
    this.#await();
  }

  get resource(): ResourceType {
    return this.#options.resource;
  }

  /** A complete list was read at least once. */
  get wasListed(): boolean {
    return this.#wasListed;
  }

  /** What is known is complete and follows the cluster; of a kind that is not served that is nothing. */
  get isLive(): boolean {
    return !this.#isServed || (this.#isCurrent && this.#failures.length === 0);
  }

  /** A further list has not come for some seconds, so that what is known may be out of date. Before the first list nothing is known. */
  get isBehind(): boolean {
    return this.#isBehind && this.#wasListed && this.#refusal === undefined;
  }

  /** Why the kind may not be watched, in words of ours; undefined when it may, as far as that is known. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  has(key: ObjectKey): boolean {
    return this.#subscription.has(key);
  }

  /** What is kept of the objects. */
  objects(): Iterable<Sighted> {
    return this.#subscription.objects();
  }

  /** Resolves when the list has arrived, or the kind is not served or may not be watched; rejects when none of that can be said for now. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /**
   * Told that the server answers for other kinds: one whose list it has failed to give several times is not waited for any longer, as where it may
   * not be watched. It is tried further.
   */
  giveUp(error: unknown): void {
    // Behind an API that another program serves or converts there may be nobody.
    if (!(error instanceof ApiError) || error.status < 500 || this.#isCurrent) return;
    if (this.#failures.length < mostFailures && this.#refusal === undefined) return;
    this.#isMissed = true;
    this.#refusal = `Watching ${this.resource.plural} is not possible: the API server answers with status ${error.status}`;
    this.#settle();
  }

  /** Lists anew when the last attempt failed, without waiting for its turn, but not before the time that the server asked for. */
  retryIfFailing(): void {
    // Events tell that a watch goes on, not that what was refused before may be listed.
    if (this.#failures.length === 0 && this.#isServed && this.#refusal === undefined) return;
    this.#reopen();
    this.#failures.end();
    this.#subscription.hasten();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#patience);
    this.#subscription[Symbol.dispose]();
    this.#settled.reject(new DOMException("The observation was closed", "AbortError"));
  }

  #restart(): void {
    const { version } = this.#subscription;
    this.#subscription[Symbol.dispose]();
    this.#failures.end();
    this.#isServed = true;
    this.#holdsList = false;
    this.#isCurrent = false;
    this.#subscription = this.#start(version);
  }

  #start(after = ""): KindSubscription {
    const { watches, resource, componentUid } = this.#options;
    return watches.subscribe({ resource, componentUid, after }, this);
  }

  onObject(object: Sighted): void {
    this.#failures.end();
    this.#handlers.onObject(object);
  }

  onGone(object: Sighted): void {
    this.#handlers.onGone(object);
  }

  onInterrupted(): void {
    this.#isCurrent = false;
    // Whoever looks from now on waits for the next list.
    this.#reopen();
    this.#await();
  }

  onListed(listing: Listing): void {
    this.#failures.end();
    clearTimeout(this.#patience);
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
    this.#handlers.onTurn();
  }

  onError(error: unknown): void {
    this.#handlers.onError(error);
    this.#failures.add(error);
    if (error instanceof ApiError && error.status === 404) {
      this.#notServed();
      return;
    }
    // Whoever waits for the first list sees what comes of it, and does not see when it is there at last.
    this.#isMissed ||= !this.#wasListed;
    if (error instanceof ApiError && error.status === 403) {
      const right = missingRightIn(error.message);
      const lack = right === undefined ? "" : `: the controller lacks ${right}`;
      this.#refusal = `Watching ${this.resource.plural} is not allowed${lack}`;
      // Whoever waits for the first list looks now.
      if (!this.#wasListed) clearTimeout(this.#patience);
      this.#settle();
      return;
    }
    const reason = this.#newsIn(error);
    if (reason === undefined) return;
    this.#isMissed = true;
    this.#settled.reject(reason);
  }

  #await(): void {
    clearTimeout(this.#patience);
    const late = (): void => {
      this.#isBehind = true;
      this.#isMissed = true;
      this.#handlers.onTurn();
    };
    this.#patience = setTimeout(late, behindMs).unref();
  }

  // A kind that went took its objects along. When it comes back it is another one, to be listed from the beginning.
  #notServed(): void {
    if (this.#holdsList) {
      this.#restart();
      this.#handlers.onVanished();
    }
    this.#isServed = false;
    clearTimeout(this.#patience);
    this.#isBehind = false;
    this.#settle();
  }

  // Who waited for the verdict before waits for the new one.
  #reopen(): void {
    const waiting = this.#settled;
    this.#settled = openVerdict();
    waiting.resolve(this.#settled.promise);
  }

  // A verdict that was a failure is replaced: who asks from now on hears the good news.
  #settle(): void {
    this.#settled.resolve();
    this.#settled = settledVerdict;
  }

  #newsIn(error: unknown): unknown {
    if (error instanceof FleetError) return error;
    if (!(error instanceof ConnectionError)) return undefined;
    // No server that restarts says that, and while the spoke is lost no watch is opened again.
    const isNews = error.failure === "standIn" || this.#failures.length > toleratedFailures;
    return isNews ? error : undefined;
  }
}

// There is one for each kind of each component of each spoke.
const settledVerdict: PromiseWithResolvers<void> = {
  promise: Promise.resolve(),
  resolve: () => undefined,
  reject: () => undefined,
};

function openVerdict(): PromiseWithResolvers<void> {
  const verdict = Promise.withResolvers<void>();
  // Nobody has to ask.
  verdict.promise.catch(() => undefined);
  return verdict;
}
