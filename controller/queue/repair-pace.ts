import { Pace } from "../../access/time/pace.ts";

/** What an attempt takes of the pace; each object that it sends takes 1 more. */
const attemptCost = 5;

const delaysMs = {
  workload: 20,
  // Kubernetes writes the end of a Job in several steps. Reading the cause costs a request, so wait for the last step.
  job: 250,
  drift: 50,
};
// For all drift of one component. Repairs of an object in a conflict are slower; see conflicts.ts.
const driftIntervalMs = 250;

/** Limits what follows from changes on one target, which may tell of a change after each attempt: by attempts, and by the objects that they send. Times are in ms of the controller's clock. */
export class RepairPace {
  readonly #pace = new Pace({ burst: 600, perSecond: attemptCost });
  /** Time of the last attempt that repairs drift. */
  #driftAt = -Infinity;

  /** An attempt begins. */
  noteAttempt(now: number): void {
    this.#pace.take(now, attemptCost);
  }

  /** An attempt sent objects. */
  noteSent(now: number, objects: number): void {
    this.#pace.take(now, objects);
  }

  /** Milliseconds before which no attempt may follow that nobody asked for. */
  restMs(now: number): number {
    return this.#pace.take(now, 0);
  }

  /** Milliseconds for which a change on the target waits for others, to share an attempt with them. Drift is repaired at most four times a second. */
  delayMs({ kind }: { readonly kind: string }, now: number): number {
    return Math.max(this.restMs(now), this.#changeDelayMs(kind, now));
  }

  #changeDelayMs(kind: string, now: number): number {
    if (kind === "workload" || kind === "job") return delaysMs[kind];
    const at = Math.max(now + delaysMs.drift, this.#driftAt + driftIntervalMs);
    if (this.#driftAt <= now) this.#driftAt = at;
    return Math.max(0, this.#driftAt - now);
  }
}
