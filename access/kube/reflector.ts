import type { KubeObject } from "../../api/kubernetes.ts";
import { backoffMs } from "../time/backoff.ts";
import { type Clock, pause } from "../time/clock.ts";
import { ApiError, isServerFailure } from "./api-error.ts";
import { type Kept, type KeptHandlers, KeptObjects } from "./kept-objects.ts";
import type { CollectionRef, KubeClient, WatchEvent } from "./kube-client.ts";

/** Called for the changes of a collection. Keys are `namespace/name`, or `name` without a namespace. */
export interface ReflectorHandlers<Item extends Kept = KubeObject> extends KeptHandlers<Item> {
  /** A list or a watch failed; the reflector tries again. The error may hold foreign text. */
  readonly onError?: (error: unknown) => void;
  /** A handler or `keep` threw: a bug of this program, and no failure of the server. The reflector lists again after a pause, as after a failure. */
  readonly onBug: (error: unknown) => void;
  /** The collection was read completely; called after each complete list. */
  readonly onSynced?: (listing: Listing) => void;
  /** The watch failed or ended too early. The kept objects may be out of date until the next `onSynced`. */
  readonly onInterrupted?: () => void;
}

/** A complete list. */
export interface Listing {
  /** Version of the collection; the list holds every change up to it. */
  readonly resourceVersion: string;
  /** The version is earlier than the last one, because the server's storage was restored from a backup. */
  readonly wentBack: boolean;
}

export interface ReflectorOptions<Item extends Kept = KubeObject> {
  readonly client: Pick<KubeClient, "watch" | "list" | "keep">;
  readonly clock: Clock;
  readonly ref: CollectionRef;
  readonly metadataOnly?: boolean;
  /** The part of an object to keep, to save memory; default: all of it. */
  readonly keep?: (object: KubeObject) => Item;
  /** The last version of the collection that an earlier reflector read; default: none. */
  readonly after?: string;
  /** Longest pause after failures, in ms; default 30,000. */
  readonly maxBackoffMs?: number;
}

type Keeping<Item extends Kept> = ReflectorOptions<Item> &
  Required<Pick<ReflectorOptions<Item>, "keep">>;

const steadyMs = 1_000;
// A watch that ends this much before its timeout was not ended by the timeout. The server starts its clock after we start ours.
const earlyMs = 1_000;
// Each watch asks for a random time from this to twice this, so that watches do not all end at once.
const shortestWatchSeconds = 300;
const maxRetryAfterMs = 60_000;
// Bookmarks of a quiet watch come after 120 s at the latest. Spec: engine-facts.md 2.
const silentMs = 150_000;

/**
 * Keeps a copy of a collection by list and watch until the signal aborts or it is disposed; it calls no handler after that.
 *
 * After a watch that ended in time, it watches from the last version. After a watch that failed or ended early, it lists again and the list replaces the
 * kept objects: the server's storage may have been restored from a backup, and a watch from a later version would not show that. After failures it waits
 * 0.8 to 30 s with jitter, and at least as long as `Retry-After` says, up to a minute.
 */
export class KeepingReflector<Item extends Kept> implements Disposable {
  readonly #options: Keeping<Item>;
  readonly #handlers: ReflectorHandlers<Item>;
  readonly #objects: KeptObjects<Item>;
  readonly #outer: AbortSignal | undefined;
  readonly #onEnd = (): void => this.#stop(this.#outer?.reason);
  #stopped: { readonly reason: unknown } | undefined;
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  /** Aborted to end the running attempt, or the pause before the next one, and to list again. */
  #attempt = new AbortController();
  #isWaiting = false;
  /** True after a complete list until the watch is interrupted. */
  #isCurrent = false;
  /** The server asked for no request before this time, by the monotonic clock. */
  #retryAt = -Infinity;
  #refreshed: PromiseWithResolvers<void> | undefined;
  /** The version to watch from; undefined when a list has to come first. */
  #version: string | undefined;
  /** The last version of the collection; kept during a relist. */
  #lastVersion: string;
  /** The server has no WatchList support, so the collection is listed in pages. */
  #listsFirst = false;

  constructor(options: Keeping<Item>, handlers: ReflectorHandlers<Item>, signal?: AbortSignal) {
    this.#options = options;
    this.#handlers = handlers;
    const hold = options.client.keep?.open(options.ref.resource.plural);
    this.#objects = new KeptObjects(options.keep, handlers, hold);
    this.#lastVersion = options.after ?? "";
    // Callers may ignore `synced`; its rejection must not be unhandled.
    this.#synced.promise.catch(() => undefined);
    this.#outer = signal;
    // A listener takes less memory than AbortSignal.any, and there are about 25 reflectors for each spoke.
    signal?.addEventListener("abort", this.#onEnd, { once: true });
    if (signal?.aborted === true) this.#onEnd();
    else void this.#run();
  }

  /** Resolves after the first complete list; rejects when the reflector is stopped before. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Ends the pause after a failure, so that the next attempt starts at once. */
  hasten(): void {
    if (this.#isWaiting) this.#attempt.abort(new DOMException("Tried earlier", "AbortError"));
  }

  /**
   * Lists the collection again at once, during a watch or a pause. Resolves when the kept objects are not older than this call; rejects when the
   * reflector is stopped before.
   */
  refresh(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped.reason);
    this.#refreshed ??= Promise.withResolvers();
    this.#attempt.abort(new DOMException("The collection is read anew", "AbortError"));
    return this.#refreshed.promise;
  }

  /** The last version of the collection; empty before the first list. */
  get lastVersion(): string {
    return this.#lastVersion;
  }

  get(key: string): Item | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<Item> {
    return this.#objects.values();
  }

  [Symbol.dispose](): void {
    this.#stop(new DOMException("The reflector was stopped", "AbortError"));
  }

  #stop(reason: unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = { reason };
    this.#outer?.removeEventListener("abort", this.#onEnd);
    this.#objects[Symbol.dispose]();
    this.#synced.reject(reason);
    this.#refreshed?.reject(reason);
    this.#attempt.abort(reason);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#stopped === undefined) {
      if (this.#attempt.signal.aborted) {
        this.#version = undefined;
        this.#objects.endRelist();
        failures = 0;
      }
      this.#attempt = new AbortController();
      const { signal } = this.#attempt;
      const retryAfterMs = this.#retryAt - this.#options.clock.now();
      if (retryAfterMs > 0 && !(await this.#wait(retryAfterMs, signal))) continue;
      const started = this.#options.clock.now();
      const end = await this.#tryToFollow(signal);
      const lastedMs = this.#options.clock.now() - started;
      // A failure after a minute of watching is the first of a new row.
      failures = lastedMs >= 60_000 ? 1 : failures + 1;
      const isFirst = failures === 1 && lastedMs >= steadyMs;
      if (end === "inTime") failures = 0;
      else if (end === "failed" || !isFirst) {
        const { maxBackoffMs: longestMs = 30_000 } = this.#options;
        const backoff = { firstMs: 800, longestMs, jitter: 1 / 2 };
        await this.#wait(backoffMs(backoff, failures, this.#options.clock.random()), signal);
      }
    }
  }

  /** Lists if needed, and watches until the watch ends. */
  async #tryToFollow(signal: AbortSignal): Promise<"inTime" | "early" | "failed"> {
    try {
      const isInTime = await this.#follow(signal);
      if (!isInTime) this.#interrupt();
      return isInTime ? "inTime" : "early";
    } catch (error) {
      if (signal.aborted) return "early";
      return this.#afterFailure(error) ? "failed" : "early";
    }
  }

  /** Returns false when the signal ended the pause. */
  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    this.#isWaiting = true;
    await pause(this.#options.clock, ms, signal);
    this.#isWaiting = false;
    return !signal.aborted;
  }

  /** Prepares the next attempt. Returns false for an expired version, which is no failure. */
  #afterFailure(error: unknown): boolean {
    this.#objects.endRelist();
    const hadNoVersion = this.#version === undefined;
    this.#interrupt();
    if (error instanceof ApiError) {
      const retryAfterMs = Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs);
      // Jitter: requests that were refused together must not come back together.
      const { clock } = this.#options;
      this.#retryAt = clock.now() + retryAfterMs * (1 + clock.random() / 4);
      // The version to watch from has expired. Without a version the list itself failed.
      if (error.status === 410 && !hadNoVersion) return false;
      // 400 or 422: the server does not know `sendInitialEvents`.
      if (hadNoVersion) this.#listsFirst ||= error.status === 400 || error.status === 422;
    }
    if (error instanceof Bug) this.#handlers.onBug(error.cause);
    else this.#handlers.onError?.(error);
    return true;
  }

  #interrupt(): void {
    this.#version = undefined;
    if (!this.#isCurrent) return;
    this.#isCurrent = false;
    try {
      this.#handlers.onInterrupted?.();
    } catch (error) {
      this.#handlers.onBug(error);
    }
  }

  /** Returns true when the watch lasted as long as it had asked for, or the signal ended it. */
  async #follow(signal: AbortSignal): Promise<boolean> {
    const { client, clock, ref, metadataOnly = false } = this.#options;
    if (this.#version === undefined && this.#listsFirst) await this.#list(signal);
    if (this.#version === undefined) this.#objects.beginRelist();
    const timeoutSeconds = Math.floor(shortestWatchSeconds * (1 + clock.random()));
    const since = this.#version === undefined ? {} : { resourceVersion: this.#version };
    const options = { metadataOnly, timeoutSeconds, ...since };
    const beganAt = clock.now();
    let isSilent = true;
    for await (const event of client.watch(ref, options, signal)) {
      if (signal.aborted) return true;
      isSilent = false;
      this.#handle(() => this.#take(event));
    }
    if (signal.aborted) return true;
    // A list that was cut off starts again.
    this.#objects.endRelist();
    const lastedMs = clock.now() - beganAt;
    // A server with restored storage sends no events until it has reached our version again.
    const isBehind = isSilent && lastedMs >= silentMs;
    return !isBehind && lastedMs >= timeoutSeconds * 1_000 - earlyMs;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, ref, metadataOnly = false } = this.#options;
    const onCount = (objects: number): void => this.#objects.foresee(objects);
    const { items, resourceVersion } = await client.list(ref, { metadataOnly, onCount }, signal);
    signal.throwIfAborted();
    this.#handle(() => {
      this.#objects.beginRelist();
      for (const object of items) this.#objects.change(object);
      this.#endRelist(resourceVersion);
    });
  }

  /** Runs handlers. What one of them throws is a bug of this program, which must not look like a failure of the server. */
  #handle(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (isServerFailure(error)) throw error;
      throw new Bug("A handler has a bug", { cause: error });
    }
  }

  #take(event: WatchEvent): void {
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
        this.#objects.change(event.object);
        return this.#advance(event.object.metadata.resourceVersion);
      case "DELETED":
        this.#objects.delete(event.object);
        return this.#advance(event.object.metadata.resourceVersion);
      case "BOOKMARK":
        if (event.initialEventsEnd) this.#endRelist(event.resourceVersion);
        return this.#advance(event.resourceVersion);
    }
  }

  // During a list the objects come in no order of version, so a watch cannot continue from any of them.
  #advance(version: string): void {
    if (this.#objects.isRelisting || version === "") return;
    this.#version = version;
    this.#lastVersion = version;
  }

  #endRelist(resourceVersion: string): void {
    const keys = this.#objects.endRelist();
    const wentBack = isEarlier(resourceVersion, this.#lastVersion);
    this.#advance(resourceVersion);
    if (keys !== undefined) this.#objects.deleteExcept(keys);
    this.#isSynced = true;
    this.#isCurrent = true;
    this.#synced.resolve();
    this.#refreshed?.resolve();
    this.#refreshed = undefined;
    this.#handlers.onSynced?.({ resourceVersion, wentBack });
  }
}

/** Ends a watch whose handler threw. The cause is what it threw. */
class Bug extends Error {}

/** A KeepingReflector whose items are objects: whole ones, or the part that `keep` returns. */
export class Reflector extends KeepingReflector<KubeObject> {
  constructor(options: ReflectorOptions, handlers: ReflectorHandlers, signal?: AbortSignal) {
    super({ ...options, keep: options.keep ?? ((object) => object) }, handlers, signal);
  }
}

function isEarlier(one: string, other: string): boolean {
  const areNumbers = [one, other].every((version) => /^\d{1,20}$/.test(version));
  return areNumbers && BigInt(one) < BigInt(other);
}
