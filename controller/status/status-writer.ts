import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { outlasting } from "../../access/time/deadline.ts";
import { TokenBucket } from "../../access/time/token-bucket.ts";
import type { Component, ComponentStatus } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { canonicalJson } from "../../api/fields.ts";
import { asComponent, newerOf, componentRef } from "../component-identity.ts";
import type { EventRecorder } from "../events.ts";
import { type StatusChange, transitionEvents } from "./component-events.ts";
import { statusOf } from "./component-status.ts";
import type { Outcome } from "./outcome.ts";

export interface StatusWriterOptions {
  readonly client: WriterDeps["hub"];
  readonly clock: Clock;
  /** One for each component, for all its attempts. */
  readonly pace: StatusPace;
  /** Called after every write, in order; must not reject. */
  readonly onWritten?: (written: WrittenStatus) => Promise<void>;
}

/** A status that was written, the component after the write, and the outcome that the status shows. */
export interface WrittenStatus extends StatusChange {
  readonly outcome: Outcome;
  readonly component: Component;
}

const maxAttempts = 5;
const minIntervalMs = 1_000;
const messageIntervalMs = 5_000;
// A hub that is busy with a thousand attempts must not be kept busy by their progress.
const progressIntervalMs = 5_000;
const longestIntervalMs = 20_000;

/**
 * Writes the status of one component during one attempt, and nothing that changes nothing. Writes the outcome at the end. Progress before it is written at once where the status would
 * be missing or untrue without it; else after 5 s, and half as often each time: most attempts end before. `postponedMs`: how long the write at the end has to wait. After a conflict,
 * writes the newest object. A component that is gone gets no status.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #generation: number | undefined;
  /** Time at which the attempt began, by the controller's clock. */
  readonly #beganAt: number;
  #latest: Component;
  /** Progress that is not written yet. */
  #pending: Outcome | undefined;
  #timer: Disposable | undefined;
  /** After the start of the attempt or the last write, until progress is written. */
  #progressIntervalMs = progressIntervalMs;
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();
  #recording: Promise<void> = Promise.resolve();

  constructor(component: Component, options: StatusWriterOptions) {
    this.#options = options;
    this.#latest = component;
    this.#generation = component.metadata.generation;
    this.#beganAt = options.clock.now();
  }

  /** The component after the last write, which the watch may not have shown yet. */
  get latest(): Component {
    return this.#latest;
  }

  /** Takes over the component after another write of it. */
  noteNewer(component: Component): void {
    this.#latest = newerOf(this.#latest, component);
  }

  /** Writes progress in the background. Newer progress replaces pending progress. A failure is ignored, because the write at the end repeats it. */
  reportProgress(outcome: Outcome, signal: AbortSignal): void {
    const replaced = this.#pending;
    this.#pending = outcome;
    if (this.#isWriting) return;
    // There is a report for each object. Another number is never more urgent than the number before it.
    if (this.#timer !== undefined && isNumber(replaced) && isNumber(outcome)) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#options.clock.after(this.#untilProgressMs(outcome), () => {
      this.#timer = undefined;
      this.#writing = this.#writeProgress(signal);
    });
  }

  /** Writes the outcome after a running write. Throws the error of the hub, but not a conflict or 404. */
  async finish(outcome: Outcome, signal: AbortSignal): Promise<StatusChange> {
    await this.stopProgress();
    return this.#write(outcome, signal);
  }

  /** Drops pending progress; resolves when a running write has ended. */
  async stopProgress(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#pending = undefined;
    await this.#writing;
  }

  /** Resolves when `onWritten` has returned for all writes so far. */
  eventsRecorded(): Promise<void> {
    return this.#recording;
  }

  /** `stopProgress` and `eventsRecorded`. To be awaited at the end of every attempt. */
  async settle(): Promise<void> {
    await this.stopProgress();
    await this.eventsRecorded();
  }

  /** Milliseconds until an outcome may be written; 0 when the status would not change. See `StatusPace`. */
  postponedMs(outcome: Outcome): number {
    const { pace, clock } = this.#options;
    const { status } = this.#latest;
    const next = statusOf(this.#reconciled(), outcome, clock.date());
    if (canonicalJson(next) === canonicalJson(status)) return 0;
    return differsInMessagesOnly(status, next)
      ? pace.messageMs(clock.now())
      : pace.transitionMs(clock.now());
  }

  async #writeProgress(signal: AbortSignal): Promise<void> {
    const outcome = this.#pending;
    if (outcome === undefined) return;
    this.#pending = undefined;
    this.#isWriting = true;
    try {
      const { before, after } = await this.#write(outcome, signal);
      const isUrgent = after !== undefined && misleads(before, after);
      const doubled = Math.min(this.#progressIntervalMs * 2, longestIntervalMs);
      this.#progressIntervalMs = isUrgent || isBeginning(outcome) ? progressIntervalMs : doubled;
    } catch {
      // The write at the end includes this progress and reports its failure.
    }
    this.#isWriting = false;
    this.#continue(signal);
  }

  #continue(signal: AbortSignal): void {
    if (this.#pending !== undefined) this.reportProgress(this.#pending, signal);
  }

  #untilProgressMs(outcome: Outcome): number {
    const { pace, clock } = this.#options;
    const now = clock.now();
    const next = statusOf(this.#reconciled(), outcome, clock.date());
    if (isBeginning(outcome) || misleads(this.#latest.status, next)) return pace.transitionMs(now);
    return pace.progressMs(now, { sinceMs: this.#beganAt, intervalMs: this.#progressIntervalMs });
  }

  async #write(outcome: Outcome, signal: AbortSignal): Promise<StatusChange> {
    const { client, clock, pace } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const before = this.#latest.status;
      const after = statusOf(this.#reconciled(), outcome, clock.date());
      if (canonicalJson(after) === canonicalJson(before)) return { before, after: before };
      try {
        const ref = componentRef(this.#latest);
        const body = { ...this.#latest, status: after };
        const stored = await client.replace(ref, body, { subresource: "status" }, signal);
        this.#latest = asComponent(stored) ?? this.#latest;
        pace.countWrite(clock.now());
        this.#recordEvents({ before, after, outcome, component: this.#latest });
        return { before, after };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 404) return { before, after: before };
        if (error.status !== 409 || attempt === maxAttempts) throw error;
        if (!(await this.#readAgain(signal))) return { before, after: before };
      }
    }
  }

  #recordEvents(written: WrittenStatus): void {
    const { onWritten } = this.#options;
    if (onWritten === undefined) return;
    this.#recording = this.#recording.then(() => onWritten(written));
  }

  /** The newest object with the generation of this attempt: the status belongs to that generation. */
  #reconciled(): Component {
    const { metadata } = this.#latest;
    return { ...this.#latest, metadata: { ...metadata, generation: this.#generation } };
  }

  /** False when the component is gone. */
  async #readAgain(signal: AbortSignal): Promise<boolean> {
    const stored = asComponent(
      await this.#options.client.get(componentRef(this.#latest), {}, signal),
    );
    if (stored?.metadata.uid !== this.#latest.metadata.uid) return false;
    this.#latest = stored;
    return true;
  }
}

/** Whether two statuses differ in their messages at most. */
function differsInMessagesOnly(a: ComponentStatus | undefined, b: ComponentStatus): boolean {
  return canonicalJson(withoutMessages(a)) === canonicalJson(withoutMessages(b));
}

/** Whether a status misleads until the next one is written: it has no conditions, or one that is True or False and will not be. */
function misleads(status: ComponentStatus | undefined, next: ComponentStatus): boolean {
  const { conditions } = status ?? {};
  if (conditions === undefined) return true;
  return conditions.some(({ type, status: value }) => {
    return value !== "Unknown" && value !== conditionOf(next.conditions, type)?.status;
  });
}

/** Whether nothing is sent yet: it tells first conditions, and that the cluster answers. */
function isBeginning(outcome: Outcome): boolean {
  return outcome.kind === "working" && outcome.progress === undefined;
}

/** Whether an outcome only tells how far the work is. */
function isNumber(outcome: Outcome | undefined): boolean {
  return (
    (outcome?.kind === "working" && outcome.progress !== undefined) || outcome?.kind === "removing"
  );
}

function withoutMessages(status: ComponentStatus | undefined): unknown {
  const conditions = status?.conditions?.map(({ type, status: value, reason }) => [
    type,
    value,
    reason ?? "",
  ]);
  return { ...status, conditions };
}

// A hub answers in milliseconds, and the next leader waits until this process ends.
const lastEventsMs = 300;

export interface WriterDeps {
  readonly hub: Pick<KubeClient, "get" | "replace">;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "record">;
}

/**
 * Opens the writer for one attempt, or for one write between two attempts. It also records the Events of each write. After the signal is aborted, the Events of the last write have
 * 300 ms, because no later attempt records them.
 */
export function openStatusWriter(
  { component, pace }: { readonly component: Component; readonly pace: StatusPace },
  { hub, clock, events }: WriterDeps,
  signal: AbortSignal,
): StatusWriter {
  return new StatusWriter(component, {
    client: hub,
    clock,
    pace,
    onWritten: async ({ before, after, outcome, component: latest }) => {
      using limit = outlasting(clock, lastEventsMs, signal);
      for (const event of transitionEvents(before, after, outcome)) {
        await events.record(latest, event, limit.signal);
      }
    },
  });
}

// Kept for transitions while messages change.
const keptForTransitions = 2;

/**
 * Limits the status writes of one component: one write a second over any longer time. Transitions may burst (4); progress and a change of messages only wait five seconds after the
 * last write. Times are of the controller's clock.
 */
export class StatusPace {
  readonly #bucket = new TokenBucket({ burst: 4, intervalMs: minIntervalMs });
  #lastWrittenAt = -Infinity;

  /** Milliseconds until a transition may be written. */
  transitionMs(now: number): number {
    return Math.ceil(this.#bucket.untilMs(now));
  }

  /** Milliseconds until progress may be written: an interval after the start of its attempt and after the last write. */
  progressMs(
    now: number,
    { sinceMs, intervalMs }: { readonly sinceMs: number; readonly intervalMs: number },
  ): number {
    return Math.max(
      this.#messageBudgetMs(now),
      Math.max(sinceMs, this.#lastWrittenAt) + intervalMs - now,
    );
  }

  /** Milliseconds until a change of messages only may be written. */
  messageMs(now: number): number {
    return Math.max(this.#messageBudgetMs(now), this.#lastWrittenAt + messageIntervalMs - now);
  }

  /** Counts a write. */
  countWrite(now: number): void {
    this.#bucket.take(now);
    this.#lastWrittenAt = now;
  }

  #messageBudgetMs(now: number): number {
    return Math.ceil(this.#bucket.untilMs(now, 1 + keptForTransitions));
  }
}
