import { ApiError } from "../access/api-error.ts";
import type { KubeClient } from "../access/kube-client.ts";
import { canonicalJson } from "../api/canonical-json.ts";
import type { Component, ComponentStatus } from "../api/component.ts";
import type { Clock } from "./clock.ts";
import { statusOf, type Outcome } from "./outcome.ts";
import { asComponent, refOf } from "./stored-component.ts";

export type StatusClient = Pick<KubeClient, "get" | "replace">;

export interface StatusReportOptions {
  readonly client: StatusClient;
  readonly clock: Clock;
  /** When the status was last written, by this clock; undefined: never. */
  readonly lastWrittenAt: number | undefined;
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

const minIntervalMs = 1_000;
const maxAttempts = 5;

/**
 * The status of one component during one reconcile: progress at most once a second, one write at the end, none when it would change
 * nothing. A conflict is answered with the newest object; a component that is gone needs no status.
 */
export class StatusReport {
  readonly #options: StatusReportOptions;
  readonly #generation: number | undefined;
  #latest: Component;
  #lastWrittenAt: number | undefined;
  #wanted: Outcome | undefined;
  #timer: Disposable | undefined;
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();
  #telling: Promise<void> = Promise.resolve();

  constructor(component: Component, options: StatusReportOptions) {
    this.#options = options;
    this.#latest = component;
    this.#generation = component.metadata.generation;
    this.#lastWrittenAt = options.lastWrittenAt;
  }

  /** The component as this report knows it, newer than the watch's. */
  get latest(): Component {
    return this.#latest;
  }

  get lastWrittenAt(): number | undefined {
    return this.#lastWrittenAt;
  }

  /** Says how far the work is; written in the background, the latest word only. Failures are left to the end. */
  progress(outcome: Outcome, signal: AbortSignal): void {
    this.#wanted = outcome;
    if (this.#timer !== undefined || this.#isWriting) return;
    this.#timer = this.#options.clock.after(this.#waitMs(), () => {
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

  /**
   * Milliseconds to wait before an outcome may be written, because it only words anew what was written less than a second ago;
   * 0 for everything else.
   */
  postponedMs(outcome: Outcome): number {
    const next = statusOf(this.#latest, outcome, this.#options.clock.date());
    return saysTheSame(this.#latest.status, next) ? this.#waitMs() : 0;
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

  #waitMs(): number {
    if (this.#lastWrittenAt === undefined) return 0;
    return Math.max(0, this.#lastWrittenAt + minIntervalMs - this.#options.clock.now());
  }

  async #write(outcome: Outcome, signal: AbortSignal): Promise<StatusChange> {
    const { client, clock } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const before = this.#latest.status;
      const after = statusOf(this.#reconciled(), outcome, clock.date());
      if (canonicalJson(after) === canonicalJson(before)) return { before, after: before };
      try {
        const ref = refOf(this.#latest);
        const body = { ...this.#latest, status: after };
        const stored = await client.replace(ref, body, { subresource: "status" }, signal);
        this.#latest = asComponent(stored) ?? this.#latest;
        this.#lastWrittenAt = clock.now();
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

function withoutWords(status: ComponentStatus | undefined): unknown {
  const conditions = status?.conditions?.map(({ type, status: value, reason }) => [
    type,
    value,
    reason ?? "",
  ]);
  return { ...status, conditions };
}
