import type { Component } from "../../api/component.ts";
import type { ObservedChange } from "../observe/observation.ts";
import type { Clock } from "../queue/clock.ts";
import { olderClaimantOf, refusalOf } from "./claims.ts";
import { doubtOf } from "./doubt.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import type { WriterDeps } from "./status-writer.ts";

// The change also starts an attempt, which usually ends earlier and writes a better status.
const attemptMs = 2_000;

/** Milliseconds after which the status must show a change on the target; undefined: the change does not concern workloads. */
export function retractionDelayOf({ kind }: ObservedChange): number | undefined {
  if (kind === "labels" || kind === "job") return undefined;
  // This change comes some seconds after the interruption of the watch.
  return kind === "watch" ? 0 : attemptMs;
}

/**
 * Removes the claim that all workloads are available from the status when the watches contradict it. Called when no attempt did so in time, because it waits for its cluster or
 * for a worker. Only an attempt writes the claim again. Rejects when the hub refuses the status.
 */
export async function retract(
  { component, installation }: Subject,
  deps: WriterDeps & Pick<ReconcileDeps, "spokes">,
  signal: AbortSignal,
): Promise<void> {
  const doubt = mayDoubt(component, deps) && installation.view && doubtOf(installation.view);
  if (!doubt) return;
  const outcome = { kind: "seen", doubt } as const;
  // The writer of the running attempt must be the only one.
  if (installation.writer !== undefined) return installation.writer.reportProgress(outcome, signal);
  const writer = await installation.writeBetweenAttempts(outcome, { component, ...deps }, signal);
  await writer.eventsRecorded();
}

/** False for a lost cluster, which the attempts report, and during a removal, when the status has no such claim. */
function mayDoubt(
  { spec, metadata }: Component,
  { spokes }: Pick<ReconcileDeps, "spokes">,
): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const ref = spec?.clusterProfileRef;
  return ref === undefined || spokes.state(ref)?.kind === "connected";
}

// The first attempt writes first conditions, too. The greeting is for components that wait for a worker.
const greetingDelayMs = 150;

/** The timer that gives a new component its first conditions, unless its first attempt begins before. */
export class Greeting {
  readonly #timer: Disposable;
  #writing: Promise<void> = Promise.resolve();

  /** `write` must not reject. */
  constructor(clock: Clock, write: () => Promise<void>) {
    this.#timer = clock.after(greetingDelayMs, () => {
      this.#writing = write();
    });
  }

  /** Stops the timer; resolves when a running write has ended. */
  stop(): Promise<void> {
    this.#timer[Symbol.dispose]();
    return this.#writing;
  }
}

/** Writes the first conditions of a component, but not of a duplicate or of one that may not use its cluster. Never rejects: the first attempt writes them again. */
export async function greet(
  { component, installation }: Subject,
  deps: WriterDeps & Pick<ReconcileDeps, "components" | "references">,
  signal: AbortSignal,
): Promise<void> {
  if (refusalOf(component, deps) !== undefined) return;
  if (olderClaimantOf(component, deps) !== undefined) return;
  const outcome = { kind: "working", steps: { eligible: false, resolved: false } } as const;
  await installation
    .writeBetweenAttempts(outcome, { component, ...deps }, signal)
    .catch(() => undefined);
}
