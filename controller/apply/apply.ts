import { ApiError, type StatusCause } from "../../access/kube/api-error.ts";
import { backoffMs } from "../../access/time/backoff.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import { Follower } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import type { DesiredObject } from "../../installation/desired.ts";
import type { Gated } from "../../installation/gates.ts";
import type { PendingChanges } from "../queue/pending-changes.ts";
import { type Progress, type Trouble, waitingFor } from "./change-set.ts";
import { longestAskedMs, type Refusal, refusalOf } from "./refusals.ts";

/** The requests that an apply is made of. */
export interface ApplyRequests {
  /** Server-side apply of one object. Throws what `KubeClient.apply` throws. */
  send(object: DesiredObject, signal: AbortSignal): Promise<KubeObject>;
  /**
   * Takes over or deletes the cause of a refusal with 422, so that the next try may pass. False when nothing can be done. `leaving` while a finalizer
   * holds an object that is being deleted.
   */
  clear(
    object: DesiredObject,
    causes: readonly StatusCause[],
    signal: AbortSignal,
  ): Promise<boolean | "leaving">;
}

export interface ApplyDeps {
  readonly requests: ApplyRequests;
  readonly clock: Clock;
  readonly installNamespace: string;
  /** 0 to 1, for the jitter of retries. Default: that of the clock. */
  readonly random?: () => number;
  /** Called with each answer at once, before the next object is sent. */
  readonly onApplied?: (object: DesiredObject, answer: KubeObject) => void;
  readonly onRefused?: (object: DesiredObject, error: ApiError) => void;
  readonly onProgress?: (progress: Progress) => void;
  /** Whether another change of the component waits for the end of this apply. Objects without progress are then parked soon. Absent: none waits. */
  readonly pendingChanges?: Pick<PendingChanges, "dropSettled" | "hasOthersThan">;
}

/** Every object is in exactly one of the lists. */
export interface Applied {
  readonly applied: readonly ObjectKey[];
  readonly parked: readonly Trouble[];
  readonly failed: readonly Trouble[];
}

/**
 * Sends objects as one stream, up to 64 at a time: always the first object whose gates are open. An object that fails for now comes back after a
 * while and occupies no place until then. It is parked when nothing has been accepted for two minutes, or for a second while another change waits.
 * A failed object blocks only the objects that wait for its answer, and only until it is given up. Throws when the connection fails, `ClusterBusy`
 * when the namespace goes away, and the reason of the signal. No request is left running then.
 */
export function apply(
  objects: readonly Gated[],
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<Applied> {
  return new ApplyRun(objects, deps, signal).finished();
}

/** For an object whose write has no answer yet, for example because a webhook of the cluster is slow. */
const unansweredMessage = "Waiting for the answer of the API server";

/** For an object that is being deleted. The server would accept a write to it and lose it. */
export const leavingMessage = "Waiting for its deletion";

// The connection has this limit, too, and lowers its own when the server answers 429.
const maxInFlight = 64;
const patienceMs = 120_000;
const shortPatienceMs = 1_000;
// Longer waits are reported.
const usualAnswerMs = 5_000;
// First the fields of other writers are taken over. If the object is still refused, it may be replaced.
const mostClearings = 3;
const backoff = { firstMs: 50, longestMs: 400 };
const longestPaceMs = 10_000;

/** An object that was not settled yet. */
interface Sending extends Gated {
  /** How often it has waited to come back. */
  readonly waits: number;
  /** How often the cause of a refusal was cleared. */
  readonly clearings: number;
}

/** Why an object was not accepted. `causes`: as the server said them. */
type Rejection = Refusal & { readonly causes: readonly StatusCause[] };

class ApplyRun {
  readonly #deps: ApplyDeps;
  readonly #stop: Follower;
  readonly #total: number;
  /** In the order of their ranks. */
  #waiting: readonly Sending[];
  /** Identities that gates wait for. */
  readonly #open: Set<string>;
  /** Identities of the objects that were given up. */
  readonly #given = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #inFlight = 0;
  /** The obstacle of each object, by identity. */
  readonly #hindered = new Map<string, string>();
  readonly #result: { applied: ObjectKey[]; parked: Trouble[]; failed: Trouble[] };
  readonly #began: number;
  #lastAccepted: number;

  constructor(objects: readonly Gated[], deps: ApplyDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#stop = new Follower(signal);
    this.#waiting = objects.map((gated) => ({ ...gated, waits: 0, clearings: 0 }));
    this.#total = objects.length;
    this.#open = new Set(objects.map(({ object }) => object.id));
    this.#result = { applied: [], parked: [], failed: [] };
    this.#began = deps.clock.now();
    this.#lastAccepted = this.#began;
  }

  async finished(): Promise<Applied> {
    try {
      this.#signal.throwIfAborted();
      this.#tell();
      this.#start();
      while (this.#running.size > 0) await Promise.race(this.#running);
      this.#signal.throwIfAborted();
      if (this.#waiting.length > 0) throw new Error("The gates of an apply wait for each other");
      return this.#result;
    } finally {
      this.#stop.abort();
      await Promise.allSettled(this.#running);
    }
  }

  get #signal(): AbortSignal {
    return this.#stop.signal;
  }

  get #isAwaited(): boolean {
    return this.#deps.pendingChanges?.hasOthersThan(this.#open) === true;
  }

  /** Nothing has been accepted for as long as this. */
  #isStalledFor(ms: number): boolean {
    return this.#deps.clock.now() - this.#lastAccepted > ms;
  }

  #start(): void {
    while (this.#inFlight < maxInFlight && !this.#signal.aborted) {
      const next = this.#waiting.find(({ after }) => after.every((id) => !this.#open.has(id)));
      if (next === undefined) return;
      this.#waiting = this.#waiting.filter((sending) => sending !== next);
      const running: Promise<void> = this.#run(next).finally(() => this.#running.delete(running));
      // Raced above and awaited in the end.
      running.catch(() => undefined);
      this.#running.add(running);
    }
  }

  /** Sends one object, and settles it or lets it come back. */
  async #run(sending: Sending): Promise<void> {
    const refusal = await this.#send(sending);
    // A place is free.
    this.#start();
    if (refusal === undefined) return;
    const { object } = sending;
    switch (refusal.kind) {
      case "busy":
        throw new FleetError("ClusterBusy", refusal.message);
      case "temporary":
        if (this.#isStalledFor(this.#isAwaited ? shortPatienceMs : patienceMs)) {
          this.#settle(object, "parked", refusal.message);
          return;
        }
        this.#hinder(object, refusal.message);
        await this.#later(sending, refusal);
        return;
      case "invalid":
        await this.#clear(sending, refusal);
        return;
      case "parked":
        this.#settle(object, "parked", refusal.message);
        return;
      case "permanent":
        this.#settle(object, "failed", refusal.message);
    }
  }

  async #send({ object, after, role, ...gated }: Gated): Promise<Rejection | undefined> {
    // A kind that was not accepted will not be served soon either.
    const isOfNewKind = gated.isOfNewKind && after.every((id) => !this.#given.has(id));
    const { requests, installNamespace, onApplied, onRefused } = this.#deps;
    this.#inFlight += 1;
    using _late = this.#deps.clock.after(usualAnswerMs, () => {
      this.#hinder(object, unansweredMessage);
    });
    try {
      const answer = await requests.send(object, this.#signal);
      if (answer.metadata.deletionTimestamp !== undefined) {
        return { kind: "parked", message: leavingMessage, causes: [] };
      }
      onApplied?.(object, answer);
      this.#settle(object, "applied");
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      onRefused?.(object, error);
      const lacksRole = role !== undefined && this.#given.has(role);
      const { key } = object;
      const refusal = refusalOf(error, { key, isOfNewKind, lacksRole, installNamespace });
      return { ...refusal, causes: error.causes };
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #later(sending: Sending, { message, ...refusal }: Refusal): Promise<void> {
    const waits = sending.waits + 1;
    // The pace of the server decides how soon it serves a new kind. The duration of this run so far shows that pace.
    const { clock, random = () => clock.random() } = this.#deps;
    const paceMs = sending.isOfNewKind
      ? Math.min(longestPaceMs, (clock.now() - this.#began) / 2)
      : 0;
    const retryAfterMs = refusal.kind === "temporary" ? refusal.retryAfterMs : undefined;
    const requestedMs = Math.min(longestAskedMs, retryAfterMs ?? 0);
    // Objects that were refused together must not come back together. Spec: security.md C11, C12.
    const jitter = 1 + random() / 4;
    const waitMs = Math.max(requestedMs, backoffMs(backoff, waits), paceMs);
    const isOver = await this.#pause(waitMs * jitter);
    if (isOver) this.#settle(sending.object, "parked", message);
    else this.#putBack({ ...sending, waits });
  }

  /** Resolves with true, and sooner, when something has come to wait for the end of this apply and nothing is accepted any more. */
  async #pause(ms: number): Promise<boolean> {
    const { clock } = this.#deps;
    const end = clock.now() + ms;
    for (let leftMs = ms; leftMs > 0; leftMs = end - clock.now()) {
      if (leftMs < ms && this.#isAwaited && this.#isStalledFor(shortPatienceMs)) return true;
      await delay(clock, Math.min(leftMs, shortPatienceMs), this.#signal);
    }
    return false;
  }

  async #clear({ clearings, ...sending }: Sending, refusal: Rejection): Promise<void> {
    const { object } = sending;
    const isClear = clearings < mostClearings && (await this.#isClear(object, refusal));
    if (isClear === "leaving") this.#settle(object, "parked", leavingMessage);
    else if (isClear) await this.#later({ ...sending, clearings: clearings + 1 }, refusal);
    else this.#settle(object, "failed", refusal.message);
  }

  async #isClear(object: DesiredObject, { causes }: Rejection): Promise<boolean | "leaving"> {
    try {
      return await this.#deps.requests.clear(object, causes, this.#signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#deps.onRefused?.(object, error);
      return false;
    }
  }

  #putBack(sending: Sending): void {
    const place = this.#waiting.findIndex(({ rank }) => rank > sending.rank);
    this.#waiting = this.#waiting.toSpliced(place < 0 ? this.#waiting.length : place, 0, sending);
    this.#start();
  }

  #hinder({ id }: DesiredObject, message: string): void {
    this.#hindered.set(id, message);
    this.#tell();
  }

  #settle(object: DesiredObject, list: "applied"): void;
  #settle(object: DesiredObject, list: "parked" | "failed", message: string): void;
  #settle({ id, key }: DesiredObject, list: keyof Applied, message = ""): void {
    if (list === "applied") {
      this.#result.applied.push(key);
      this.#lastAccepted = this.#deps.clock.now();
    } else {
      this.#result[list].push({ key, message });
      this.#given.add(id);
    }
    if (list === "parked") this.#hindered.set(id, message);
    else this.#hindered.delete(id);
    this.#open.delete(id);
    this.#deps.pendingChanges?.dropSettled(id);
    this.#tell();
    // A gate may be open.
    this.#start();
  }

  #tell(): void {
    const { applied, failed } = this.#result;
    this.#deps.onProgress?.({
      done: applied.length,
      total: this.#total,
      waiting: waitingFor([...this.#hindered.values()].map((message) => ({ message, count: 1 }))),
      failed: failed.length,
    });
  }
}
