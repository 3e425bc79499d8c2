import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Component, ComponentStatus } from "../../api/component.ts";
import { canonicalJson } from "../../api/fields.ts";
import { asComponent, newerOf, refOf } from "../component-identity.ts";
import type { EventRecorder } from "../events.ts";
import { type Clock, outlasting } from "../queue/clock.ts";
import { statusOf } from "./component-status.ts";
import type { Outcome } from "./outcome.ts";
import { happeningsOf } from "./transitions.ts";

export type StatusClient = Pick<KubeClient, "get" | "replace">;

export interface StatusWriterOptions {
  readonly client: StatusClient;
  readonly clock: Clock;
  /** Of the component, over all its reports. */
  readonly pace: StatusPace;
  /** Told of every status that was written, in order; must not reject. */
  readonly onWritten?: (written: WrittenStatus) => Promise<void>;
}

/** A status that was written, with the component as it is since, and what it tells. */
export interface WrittenStatus extends StatusChange {
  readonly outcome: Outcome;
  readonly component: Component;
}

/** A status before and after a write; the same object twice when there was nothing to write. */
export interface StatusChange {
  readonly before: ComponentStatus | undefined;
  readonly after: ComponentStatus | undefined;
}

const maxAttempts = 5;

/**
 * The status of one component during one reconcile: progress at most once a second unless a condition becomes True or False, one write at the end, none when it would change
 * nothing. Whoever asks `postponedMs` before the end keeps the pace of the component. A conflict is answered with the newest object; a component that is
 * gone needs no status.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #generation: number | undefined;
  #latest: Component;
  #wanted: Outcome | undefined;
  #timer: Disposable | undefined;
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();
  #telling: Promise<void> = Promise.resolve();

  constructor(component: Component, options: StatusWriterOptions) {
    this.#options = options;
    this.#latest = component;
    this.#generation = component.metadata.generation;
  }

  /** The component as this report knows it, newer than the watch's. */
  get latest(): Component {
    return this.#latest;
  }

  /** Takes in the component as another write of this process left it. */
  saw(component: Component): void {
    this.#latest = newerOf(this.#latest, component);
  }

  /** Says how far the work is; written in the background, the latest word only. Failures are left to the end. */
  progress(outcome: Outcome, signal: AbortSignal): void {
    this.#wanted = outcome;
    if (this.#timer !== undefined || this.#isWriting) return;
    this.#timer = this.#options.clock.after(this.#untilProgressMs(outcome), () => {
      this.#timer = undefined;
      this.#writing = this.#writeProgress(signal);
    });
  }

  /** Writes how it ended, after what is being written. Throws what the hub answers, but not a conflict or 404. */
  async finish(outcome: Outcome, signal: AbortSignal): Promise<StatusChange> {
    await this.quiet();
    return this.#write(outcome, signal);
  }

  /** Writes no more progress; resolves when what is being written is written. */
  async quiet(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#wanted = undefined;
    await this.#writing;
  }

  /** Resolves when `onWritten` is done with all that was written so far. */
  told(): Promise<void> {
    return this.#telling;
  }

  /** Writes no more progress; resolves when what was written is told. To be waited for where the work ends, however it does. */
  async over(): Promise<void> {
    await this.quiet();
    await this.told();
  }

  /**
   * Milliseconds to wait before an outcome may be written, so that one component never causes more than a write a second over any longer time; 0 when
   * nothing is to be written. News wait only after several of them, other words for the same always.
   */
  postponedMs(outcome: Outcome): number {
    const { pace, clock } = this.#options;
    const { status } = this.#latest;
    const next = statusOf(this.#reconciled(), outcome, clock.date());
    if (canonicalJson(next) === canonicalJson(status)) return 0;
    return saysTheSame(status, next) ? pace.wordsMs(clock.now()) : pace.newsMs(clock.now());
  }

  async #writeProgress(signal: AbortSignal): Promise<void> {
    const outcome = this.#wanted;
    if (outcome === undefined) return;
    this.#wanted = undefined;
    this.#isWriting = true;
    try {
      await this.#write(outcome, signal);
    } catch {
      // The write at the end tells the same, and its failure is told.
    }
    this.#isWriting = false;
    this.#continue(signal);
  }

  #continue(signal: AbortSignal): void {
    if (this.#wanted !== undefined) this.progress(this.#wanted, signal);
  }

  #untilProgressMs(outcome: Outcome): number {
    const { pace, clock } = this.#options;
    const next = statusOf(this.#reconciled(), outcome, clock.date());
    const now = clock.now();
    const { status } = this.#latest;
    if (saysTheSame(status, next)) return pace.wordsMs(now);
    return settlesAny(status, next) ? pace.newsMs(now) : pace.stepMs(now);
  }

  async #write(outcome: Outcome, signal: AbortSignal): Promise<StatusChange> {
    const { client, clock, pace } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const before = this.#latest.status;
      const after = statusOf(this.#reconciled(), outcome, clock.date());
      if (canonicalJson(after) === canonicalJson(before)) return { before, after: before };
      try {
        const ref = refOf(this.#latest);
        const body = { ...this.#latest, status: after };
        const stored = await client.replace(ref, body, { subresource: "status" }, signal);
        this.#latest = asComponent(stored) ?? this.#latest;
        pace.written(clock.now());
        this.#tell({ before, after, outcome, component: this.#latest });
        return { before, after };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 404) return { before, after: before };
        if (error.status !== 409 || attempt === maxAttempts) throw error;
        if (!(await this.#readAgain(signal))) return { before, after: before };
      }
    }
  }

  #tell(written: WrittenStatus): void {
    const { onWritten } = this.#options;
    if (onWritten === undefined) return;
    this.#telling = this.#telling.then(() => onWritten(written));
  }

  /** The newest object, but with the generation that was worked on: that is the one the status tells of. */
  #reconciled(): Component {
    const { metadata } = this.#latest;
    return { ...this.#latest, metadata: { ...metadata, generation: this.#generation } };
  }

  /** False when the component is gone. */
  async #readAgain(signal: AbortSignal): Promise<boolean> {
    const stored = asComponent(await this.#options.client.get(refOf(this.#latest), {}, signal));
    if (stored?.metadata.uid !== this.#latest.metadata.uid) return false;
    this.#latest = stored;
    return true;
  }
}

/** Whether two statuses differ in the wording of messages at most. */
function saysTheSame(a: ComponentStatus | undefined, b: ComponentStatus): boolean {
  return canonicalJson(withoutWords(a)) === canonicalJson(withoutWords(b));
}

/** Whether a condition becomes True or False, for which people wait. */
function settlesAny(before: ComponentStatus | undefined, after: ComponentStatus): boolean {
  return (after.conditions ?? []).some(({ type, status }) => {
    const was = before?.conditions?.find((one) => one.type === type)?.status;
    return status !== "Unknown" && status !== was;
  });
}

function withoutWords(status: ComponentStatus | undefined): unknown {
  const conditions = status?.conditions?.map(({ type, status: value, reason }) => [
    type,
    value,
    reason ?? "",
  ]);
  return { ...status, conditions };
}

// A hub answers in milliseconds, and the next leader waits for our end.
const lastEventsMs = 300;

export interface WriterDeps {
  readonly hub: StatusClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "record">;
}

/**
 * The writer for one attempt, or for one write between two attempts. Each change that is written is also told in Events. After the signal is aborted, 300 ms are
 * left for the Events of the last write: nobody else would send them.
 */
export function openStatusWriter(
  {
    component,
    installation,
  }: { readonly component: Component; readonly installation: { readonly statusPace: StatusPace } },
  { hub, clock, events }: WriterDeps,
  signal: AbortSignal,
): StatusWriter {
  return new StatusWriter(component, {
    client: hub,
    clock,
    pace: installation.statusPace,
    onWritten: async ({ before, after, outcome, component: latest }) => {
      using limit = outlasting(clock, lastEventsMs, signal);
      for (const happening of happeningsOf(before, after, outcome)) {
        await events.record(latest, happening, limit.signal);
      }
    },
  });
}

const minIntervalMs = 1_000;
const burst = 4;
// So that news can be told at once also after a long time in which the words changed every second.
const keptForNews = 2;

/**
 * How often the status of one component may be written: once a second over any longer time, and up to four times more often in a row, so
 * that news need not wait in ordinary life. All times are by the controller's clock.
 */
export class StatusPace {
  /** What may be written at `#countedAt`, in milliseconds of waiting that it is worth. */
  #credit = burst * minIntervalMs;
  #countedAt = -Infinity;
  #lastWrittenAt = -Infinity;

  /** Milliseconds until something new may be written. */
  newsMs(now: number): number {
    return this.#untilMs(1, now);
  }

  /** Milliseconds until something new may be written that is only a step of work that goes on. */
  stepMs(now: number): number {
    return Math.max(this.newsMs(now), this.#lastWrittenAt + minIntervalMs - now);
  }

  /** Milliseconds until what was written already may be written in other words. */
  wordsMs(now: number): number {
    return Math.max(this.#untilMs(1 + keptForNews, now), this.#lastWrittenAt + minIntervalMs - now);
  }

  /** Counts a write. */
  written(now: number): void {
    this.#credit = Math.max(0, this.#creditAt(now) - minIntervalMs);
    this.#countedAt = now;
    this.#lastWrittenAt = now;
  }

  #untilMs(writes: number, now: number): number {
    return Math.max(0, Math.ceil(writes * minIntervalMs - this.#creditAt(now)));
  }

  #creditAt(now: number): number {
    return Math.min(burst * minIntervalMs, this.#credit + now - this.#countedAt);
  }
}
