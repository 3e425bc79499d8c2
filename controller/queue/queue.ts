import { backoffMs } from "../../access/time/backoff.ts";
import type { Clock } from "../../access/time/clock.ts";
import { leastMsOf, type Next, queueBackoff, sweepMs } from "./delays.ts";

/** Called for each step of the queue; see metrics/. */
export interface QueueObserver {
  added(): void;
  started(key: string, waitedMs: number): void;
  ended(key: string, next: Next, workedMs: number): void;
}

export interface QueueOptions {
  /** Does the work for a key. An error that it throws is a bug and goes to `onBug`. */
  readonly work: (key: string, signal: AbortSignal) => Promise<Next>;
  readonly onBug: (key: string, error: unknown) => void;
  /** Number of keys with running work, over all lanes. Work that takes longer than `slowMs` no longer counts. */
  readonly concurrency: number;
  /** Number of keys with running work in one lane, also when it is slow. */
  readonly laneConcurrency: number;
  readonly slowMs: number;
  readonly clock: Clock;
  /** 0 to 1, for the jitter of the back-off. */
  readonly random: () => number;
  readonly observer?: QueueObserver;
}

interface Item {
  /** The lane in which the key waits. Running work counts for the lane in which it began. */
  lane: string;
  failures: number;
  /** The end of the first work of its sweep. Undefined: it was added or hastened since. */
  quietSince?: number;
  /** Time since which it waits in its lane. */
  queuedAt?: number;
  isWorking: boolean;
  /** Only an `add` starts work before this time. */
  notBefore: number;
  /** Added during its work. */
  isAddedAgain: boolean;
  /** Its timer fired during its work. */
  isMissed: boolean;
  timer?: {
    readonly dueAt: number;
    readonly isBackoff: boolean;
    readonly isHastened: boolean;
    readonly handle: Disposable;
  };
}

interface Wait {
  readonly ms: number;
  readonly isBackoff: boolean;
  /** Also shortens a running back-off. */
  readonly isHastened?: boolean;
}

/**
 * A queue of keys in lanes. A key has one running work at most, and a key that is added twice waits once. Lanes take turns. A slow lane does not block the others: each lane has
 * its own limit, and slow work no longer counts for the common limit.
 */
export class WorkQueue implements AsyncDisposable {
  readonly #options: QueueOptions;
  readonly #items = new Map<string, Item>();
  readonly #waiting = new Map<string, Set<string>>();
  readonly #workingIn = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #busy = 0;
  #started = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Keys that wait for a worker, without those that wait for a timer; 0 before the start. */
  get depth(): number {
    if (!this.#started) return 0;
    return this.#waiting.values().reduce((depth, keys) => depth + keys.size, 0);
  }

  /** Keys with running work. */
  get active(): number {
    return this.#running.size;
  }

  /** Starts the workers. The waiting time of keys that were added before counts from now. */
  start(): void {
    this.#started = true;
    const now = this.#options.clock.now();
    for (const item of this.#items.values()) if (item.queuedAt !== undefined) item.queuedAt = now;
    this.#dispatch();
  }

  /** Queues a key for the next free place of its lane, and drops its timer. */
  add(key: string, lane: string): void {
    this.#enqueue(key, this.#told(key, lane));
  }

  /** Queues a key after a time. An earlier timer and a running back-off stay. */
  addAfter(key: string, lane: string, ms: number): void {
    this.#schedule(key, this.#itemOf(key, lane), { ms, isBackoff: false });
  }

  /** Queues a key after a time, also when it backs off, but not before its `leastMs`. */
  hasten(key: string, lane: string, ms: number): void {
    this.#schedule(key, this.#told(key, lane), { ms, isBackoff: false, isHastened: true });
  }

  /** Forgets a key and its failures. Its running work goes on. */
  forget(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    this.#clearTimer(item);
    this.#dequeue(key, item);
    item.isAddedAgain = false;
    item.isMissed = false;
    item.failures = 0;
    item.notBefore = -Infinity;
    if (!item.isWorking) this.#items.delete(key);
  }

  /** Takes no more keys, aborts running work and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException("The queue has stopped", "AbortError"));
    for (const item of this.#items.values()) this.#clearTimer(item);
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  #told(key: string, lane: string): Item {
    const item = this.#itemOf(key, lane);
    delete item.quietSince;
    return item;
  }

  #itemOf(key: string, lane: string): Item {
    const present = this.#items.get(key);
    if (present !== undefined) {
      // Its work may go on although the key was forgotten. Another lane may have the key by now.
      if (present.isWorking) present.lane = lane;
      return present;
    }
    const idle = { notBefore: -Infinity, isWorking: false, isAddedAgain: false, isMissed: false };
    const item: Item = { lane, failures: 0, ...idle };
    this.#items.set(key, item);
    return item;
  }

  #enqueue(key: string, item: Item): void {
    if (this.#stop.signal.aborted) return;
    this.#clearTimer(item);
    if (item.isWorking) {
      item.isAddedAgain = true;
      return;
    }
    if (item.queuedAt !== undefined) return;
    item.queuedAt = this.#options.clock.now();
    const keys = this.#waiting.get(item.lane) ?? new Set();
    this.#waiting.set(item.lane, keys.add(key));
    this.#options.observer?.added();
    this.#dispatch();
  }

  #schedule(key: string, item: Item, wait: Wait): void {
    const isDue = item.queuedAt !== undefined || item.isAddedAgain || item.isMissed;
    if (this.#stop.signal.aborted || isDue) return;
    const now = this.#options.clock.now();
    const dueAt = Math.max(now + wait.ms, item.notBefore);
    if (this.#keepsTimer(dueAt, item, wait)) return;
    this.#clearTimer(item);
    const handle = this.#options.clock.after(dueAt - now, () => {
      delete item.timer;
      if (item.isWorking) item.isMissed = true;
      else this.#enqueue(key, item);
    });
    item.timer = { dueAt, isBackoff: wait.isBackoff, isHastened: wait.isHastened === true, handle };
  }

  /** Whether the current timer stays, instead of a wait that ends at `dueAt`. */
  #keepsTimer(dueAt: number, { timer, notBefore }: Item, wait: Wait): boolean {
    if (timer === undefined || timer.dueAt < notBefore) return false;
    const holds = timer.isBackoff && wait.isHastened !== true;
    const isEarlier = holds || timer.dueAt <= dueAt;
    // A back-off does not replace the timer of a change that came while the work failed.
    return isEarlier && (!wait.isBackoff || timer.isHastened);
  }

  #dispatch(): void {
    if (!this.#started || this.#stop.signal.aborted) return;
    while (this.#busy < this.#options.concurrency) {
      const lane = this.#nextLane();
      if (lane === undefined) return;
      this.#run(lane);
    }
  }

  /** The first lane, in the order of turns, with a waiting key and a free place. */
  #nextLane(): string | undefined {
    const { laneConcurrency } = this.#options;
    return this.#waiting.keys().find((lane) => (this.#workingIn.get(lane) ?? 0) < laneConcurrency);
  }

  #run(lane: string): void {
    const keys = this.#waiting.get(lane) ?? new Set<string>();
    const [key] = keys;
    this.#waiting.delete(lane);
    if (key === undefined) return;
    keys.delete(key);
    // Added again at the end of the map: the next turn of the lane comes after all others.
    if (keys.size > 0) this.#waiting.set(lane, keys);
    const item = this.#items.get(key);
    if (item === undefined) return;
    const running = this.#work(key, item).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #work(key: string, item: Item): Promise<void> {
    const { clock, observer, slowMs } = this.#options;
    const { lane } = item;
    const startedAt = clock.now();
    observer?.started(key, startedAt - (item.queuedAt ?? startedAt));
    delete item.queuedAt;
    item.isWorking = true;
    item.notBefore = -Infinity;
    this.#count(lane, 1);
    this.#busy += 1;
    const slow = { given: false };
    const giveBack = (): void => {
      if (slow.given) return;
      slow.given = true;
      this.#busy -= 1;
      this.#dispatch();
    };
    const timer = clock.after(slowMs, giveBack);
    const next = await this.#attempt(key);
    timer[Symbol.dispose]();
    observer?.ended(key, next, clock.now() - startedAt);
    item.isWorking = false;
    this.#count(lane, -1);
    this.#settle(key, item, next);
    giveBack();
    this.#dispatch();
  }

  async #attempt(key: string): Promise<Next> {
    try {
      return await this.#options.work(key, this.#stop.signal);
    } catch (error) {
      this.#options.onBug(key, error);
      return { kind: "backoff" };
    }
  }

  #settle(key: string, item: Item, next: Next): void {
    item.failures = next.kind === "backoff" ? item.failures + 1 : 0;
    if (next.kind !== "sweep") delete item.quietSince;
    item.notBefore = this.#notBefore(next);
    const { isAddedAgain, isMissed } = item;
    item.isAddedAgain = false;
    item.isMissed = false;
    const isEarly = item.notBefore > this.#options.clock.now();
    if (isAddedAgain || (isMissed && !isEarly)) this.#enqueue(key, item);
    else if (isMissed) this.#schedule(key, item, { ms: 0, isBackoff: false, isHastened: true });
    else this.#requeue(key, item, next);
  }

  #requeue(key: string, item: Item, next: Next): void {
    const { clock, random } = this.#options;
    if (next.kind === "after") this.#schedule(key, item, { ms: next.ms, isBackoff: false });
    else if (next.kind === "sweep") {
      item.quietSince ??= clock.now();
      const ms = sweepMs(next, clock.now() - item.quietSince, random());
      this.#schedule(key, item, { ms, isBackoff: false });
    } else if (next.kind === "backoff") {
      const { mostMs = Infinity } = next;
      const ms = Math.min(mostMs, backoffMs(queueBackoff, item.failures, random()));
      this.#schedule(key, item, { ms, isBackoff: true });
    } else if (item.timer === undefined) this.#items.delete(key);
  }

  #notBefore(next: Next): number {
    const { clock, random } = this.#options;
    const leastMs = leastMsOf(next);
    // Keys that a server refused at the same time come back at different times.
    return leastMs === 0 ? -Infinity : clock.now() + leastMs * (1 + random() / 4);
  }

  #count(lane: string, step: 1 | -1): void {
    const count = (this.#workingIn.get(lane) ?? 0) + step;
    if (count > 0) this.#workingIn.set(lane, count);
    else this.#workingIn.delete(lane);
  }

  #dequeue(key: string, item: Item): void {
    delete item.queuedAt;
    const keys = this.#waiting.get(item.lane);
    keys?.delete(key);
    if (keys?.size === 0) this.#waiting.delete(item.lane);
  }

  #clearTimer(item: Item): void {
    item.timer?.handle[Symbol.dispose]();
    delete item.timer;
  }
}
