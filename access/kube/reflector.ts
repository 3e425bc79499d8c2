import { setTimeout as delay } from "node:timers/promises";

import type { KubeObject } from "../../api/kubernetes.ts";
import { ApiError } from "./api-error.ts";
import { type Kept, type KeptHandlers, KeptObjects } from "./kept-objects.ts";
import type { CollectionRef, KubeClient, WatchEvent } from "./kube-client.ts";

/** What is known of a collection, kept up to date. Keys are `namespace/name`, or `name` without a namespace. */
export interface ReflectorHandlers<Item extends Kept = KubeObject> extends KeptHandlers<Item> {
  /** A list or watch failed and is tried again; foreign text in the error. Called for each failure. */
  readonly onError?: (error: unknown) => void;
  /** The whole collection is known; called again after every complete relist. */
  readonly onSynced?: (listing: Listing) => void;
  /** What is known may be out of date until `onSynced` is called again: the watch failed, or ended before its time. */
  readonly onInterrupted?: () => void;
}

/** A complete list. */
export interface Listing {
  /** Of the collection: what happened up to it is known. */
  readonly resourceVersion: string;
  /** The collection is at an earlier version than was known, because an older state was restored. */
  readonly wentBack: boolean;
}

export interface ReflectorOptions<Item extends Kept = KubeObject> {
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly ref: CollectionRef;
  readonly metadataOnly?: boolean;
  /** What to keep of an object, to save memory; default: all of it. */
  readonly keep?: (object: KubeObject) => Item;
  /** The version that was known of the collection before, by another reflector; default: empty, none. */
  readonly after?: string;
  /** Longest wait between two attempts after failures in ms; default 30,000. */
  readonly maxBackoffMs?: number;
}

type Keeping<Item extends Kept> = ReflectorOptions<Item> &
  Required<Pick<ReflectorOptions<Item>, "keep">>;

const minBackoffMs = 800;
const steadyMs = 1_000;
// A server counts from a moment after the request was sent, so that a watch that lasted shorter was ended by something else.
const earlyMs = 1_000;
// Spread, so that many watches do not end at the same moment.
const shortestWatchSeconds = 300;
const longestRefusalMs = 60_000;
// Bookmarks of a quiet watch come after 120 s at the latest. Spec: engine-facts.md 2.
const silentMs = 150_000;

/**
 * Keeps of each object of a collection what `keep` makes of it, by list and watch, and never gives up. A watch that ended in time continues after the last
 * seen version. After a watch that failed or ended early the collection is listed anew, and the list replaces what was known: behind a server that was
 * started again there may be an older state, which was restored and of which a watch from a later version tells nothing. Backs off 0.8 to 30 s with jitter after
 * failures, and never asks before the time that the server asked for (`Retry-After`, a minute at most). Stops when the signal aborts or it is
 * disposed; no handler is called after that.
 */
export class KeepingReflector<Item extends Kept> implements Disposable {
  readonly #options: Keeping<Item>;
  readonly #handlers: ReflectorHandlers<Item>;
  readonly #objects: KeptObjects<Item>;
  readonly #outer: AbortSignal | undefined;
  readonly #onEnd = (): void => this.#stop(this.#outer?.reason);
  /** It was stopped. */
  #stopped: { readonly reason: unknown } | undefined;
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  /** Ends the attempt that runs, or the wait for the next one, for a new list. */
  #attempt = new AbortController();
  #isWaiting = false;
  /** Known as a whole, and not interrupted since. */
  #isCurrent = false;
  /** Before this time, by `performance.now()`, the server wants no request. */
  #welcomeAt = -Infinity;
  #refreshed: PromiseWithResolvers<void> | undefined;
  #version: string | undefined;
  /** Also while the collection is listed anew. */
  #lastVersion: string;
  /** Without WatchList support in the server the collection is listed in pages. */
  #listsFirst = false;

  constructor(options: Keeping<Item>, handlers: ReflectorHandlers<Item>, signal?: AbortSignal) {
    this.#options = options;
    this.#handlers = handlers;
    this.#objects = new KeptObjects(options.keep, handlers);
    this.#lastVersion = options.after ?? "";
    // Nobody has to wait for it.
    this.#synced.promise.catch(() => undefined);
    this.#outer = signal;
    // Not a signal that is composed of both: there are some twenty-five reflectors for each spoke.
    signal?.addEventListener("abort", this.#onEnd, { once: true });
    if (signal?.aborted === true) this.#onEnd();
    else void this.#run();
  }

  /** Resolves when the whole collection is known for the first time; rejects when the reflector is stopped before. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Makes the next attempt at once when one is waited for after a failure. */
  hasten(): void {
    if (this.#isWaiting) this.#attempt.abort(new DOMException("Tried earlier", "AbortError"));
  }

  /**
   * Reads the whole collection anew, at once, also while a watch seems to be well or an attempt is waited for. Resolves when what is known is
   * not older than this call; rejects when the reflector is stopped before.
   */
  refresh(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped.reason);
    this.#refreshed ??= Promise.withResolvers();
    this.#attempt.abort(new DOMException("The collection is read anew", "AbortError"));
    return this.#refreshed.promise;
  }

  /** The last version that was known of the collection; empty when there is none. */
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
      const refusedMs = this.#welcomeAt - performance.now();
      if (refusedMs > 0 && !(await this.#wait(refusedMs, signal))) continue;
      const started = performance.now();
      const end = await this.#tryToFollow(signal);
      const lastedMs = performance.now() - started;
      // A watch that worked for minutes and then broke is a first failure, not the next of a row.
      failures = lastedMs >= 60_000 ? 1 : failures + 1;
      const isFirst = failures === 1 && lastedMs >= steadyMs;
      if (end === "inTime") failures = 0;
      else if (end === "failed" || !isFirst) await this.#wait(this.#backoffMs(failures), signal);
    }
  }

  /** One attempt: a list where one is needed, and a watch to its end. */
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

  /** False when the wait was ended. */
  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    this.#isWaiting = true;
    await delay(ms, undefined, { signal }).catch(() => undefined);
    this.#isWaiting = false;
    return !signal.aborted;
  }

  #backoffMs(failures: number): number {
    const { maxBackoffMs = 30_000 } = this.#options;
    const base = Math.min(maxBackoffMs, minBackoffMs * 2 ** (failures - 1));
    return base * (1 - Math.random() / 2);
  }

  /** False for what is no failure. */
  #afterFailure(error: unknown): boolean {
    this.#objects.endRelist();
    const isFresh = this.#version === undefined;
    this.#interrupt();
    if (error instanceof ApiError) {
      const askedMs = Math.min(error.retryAfterMs ?? 0, longestRefusalMs);
      // What was refused at the same moment does not come back at the same moment.
      this.#welcomeAt = performance.now() + askedMs * (1 + Math.random() / 4);
      // A version that is too old is no failure; a list that fails so is.
      if (error.status === 410 && !isFresh) return false;
      // 400 or 422: a server that does not know `sendInitialEvents`.
      if (isFresh) this.#listsFirst ||= error.status === 400 || error.status === 422;
    }
    this.#handlers.onError?.(error);
    return true;
  }

  #interrupt(): void {
    this.#version = undefined;
    if (!this.#isCurrent) return;
    this.#isCurrent = false;
    this.#handlers.onInterrupted?.();
  }

  /** Whether the watch ended when its time was over, or was ended by ourselves. */
  async #follow(signal: AbortSignal): Promise<boolean> {
    const { client, ref, metadataOnly = false } = this.#options;
    if (this.#version === undefined && this.#listsFirst) await this.#list(signal);
    if (this.#version === undefined) this.#objects.beginRelist();
    const timeoutSeconds = Math.floor(shortestWatchSeconds * (1 + Math.random()));
    const since = this.#version === undefined ? {} : { resourceVersion: this.#version };
    const options = { metadataOnly, timeoutSeconds, ...since };
    const beganAt = performance.now();
    let isSilent = true;
    for await (const event of client.watch(ref, options, signal)) {
      if (signal.aborted) return true;
      isSilent = false;
      this.#take(event);
    }
    if (signal.aborted) return true;
    // A list that was cut off before its end begins again from nothing.
    this.#objects.endRelist();
    const lastedMs = performance.now() - beganAt;
    // A server of which an older state was restored says nothing before it has come as far as we are.
    const isBehind = isSilent && lastedMs >= silentMs;
    return !isBehind && lastedMs >= timeoutSeconds * 1_000 - earlyMs;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, ref, metadataOnly = false } = this.#options;
    const { items, resourceVersion } = await client.list(ref, { metadataOnly }, signal);
    signal.throwIfAborted();
    this.#objects.beginRelist();
    for (const object of items) this.#objects.change(object);
    this.#endRelist(resourceVersion);
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

  // During the initial list objects come in no order of version, so none of them is a place to continue from.
  #advance(version: string): void {
    if (this.#objects.isRelisting || version === "") return;
    this.#version = version;
    this.#lastVersion = version;
  }

  #endRelist(resourceVersion: string): void {
    const seen = this.#objects.endRelist();
    const wentBack = isEarlier(resourceVersion, this.#lastVersion);
    this.#advance(resourceVersion);
    if (seen !== undefined) this.#objects.deleteExcept(seen);
    this.#isSynced = true;
    this.#isCurrent = true;
    this.#synced.resolve();
    this.#refreshed?.resolve();
    this.#refreshed = undefined;
    this.#handlers.onSynced?.({ resourceVersion, wentBack });
  }
}

/** Keeps a copy of a collection: whole objects, or what `keep` leaves of them. */
export class Reflector extends KeepingReflector<KubeObject> {
  constructor(options: ReflectorOptions, handlers: ReflectorHandlers, signal?: AbortSignal) {
    super({ ...options, keep: options.keep ?? ((object) => object) }, handlers, signal);
  }
}

function isEarlier(one: string, other: string): boolean {
  const areNumbers = [one, other].every((version) => /^\d{1,20}$/.test(version));
  return areNumbers && BigInt(one) < BigInt(other);
}
