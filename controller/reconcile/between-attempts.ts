import { logFailure } from "../../access/log.ts";
import type { Component } from "../../api/component.ts";
import { newerOf } from "../component-identity.ts";
import { lastingLogFieldsOf } from "../log.ts";
import type { ObservedChange } from "../observe/observation.ts";
import { doubtOf } from "../status/doubt.ts";
import type { WriterDeps } from "../status/status-writer.ts";
import { olderClaimantOf, claimRefusal } from "./claims.ts";
import type { Installation } from "./installation.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";

interface BetweenOptions extends Pick<ReconcileDeps, "clock" | "log"> {
  readonly components: { get(key: string): Component | undefined };
  /** Dependencies of work for a component; undefined when this process may not work for it now. */
  readonly depsFor: (component: Component) => (RetractionDeps & GreetingDeps) | undefined;
}

type RetractionDeps = WriterDeps & Pick<ReconcileDeps, "spokes">;
type GreetingDeps = WriterDeps & Pick<ReconcileDeps, "components" | "references">;

// The first attempt writes first conditions, too. The greeting is for components that wait for a worker.
const greetingDelayMs = 150;

/** Timers of the writes to a status between two attempts. */
export class WritesBetweenAttempts {
  readonly #options: BetweenOptions;
  readonly #signal: AbortSignal;

  constructor(options: BetweenOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Sets the timer of a retraction, unless an earlier one is set; see `retract`. */
  retractLater(key: string, installation: Installation, change: ObservedChange): void {
    const { clock, log, components, depsFor } = this.#options;
    const delayMs = retractionDelayOf(change);
    if (delayMs === undefined) return;
    installation.retraction.begin(clock, delayMs, () => {
      const stored = components.get(key);
      const deps = stored && depsFor(stored);
      if (stored?.metadata.uid !== installation.uid || deps === undefined) return undefined;
      const component = newerOf(installation.latest, stored);
      const retracting = retract({ component, installation }, deps, this.#signal);
      return retracting.catch((err: unknown) => {
        const fields = lastingLogFieldsOf(component);
        logFailure(log, "debug", { ...fields, err }, "Could not take back what the status claims");
      });
    });
  }

  /** Sets the timer that gives a new component its first conditions, unless its first attempt begins before. */
  greetLater(component: Component, installation: Installation): void {
    const { status, metadata } = component;
    const isNew = status?.conditions === undefined && metadata.deletionTimestamp === undefined;
    if (!isNew || installation.attempts > 0 || installation.greeting.wasBegun) return;
    const { clock, depsFor } = this.#options;
    installation.greeting.begin(clock, greetingDelayMs, () => {
      const deps = depsFor(component);
      return deps && greet({ component, installation }, deps, this.#signal);
    });
  }
}

// The change also starts an attempt, which usually ends earlier and writes a better status.
const attemptMs = 2_000;

/** Milliseconds after which the status must show a change on the target; undefined: the change does not concern workloads. */
function retractionDelayOf({ kind }: ObservedChange): number | undefined {
  if (kind === "labels" || kind === "job") return undefined;
  // This change comes some seconds after the interruption of the watch.
  return kind === "watch" ? 0 : attemptMs;
}

/**
 * Removes the claim that all workloads are available from the status when the watches contradict it. Called when no attempt did so in time, because it waits for its cluster or
 * for a worker. Only an attempt writes the claim again. Rejects when the hub refuses the status.
 */
async function retract(
  { component, installation }: Subject,
  deps: RetractionDeps,
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

/** Writes the first conditions of a component, but not of a duplicate or of one that may not use its cluster. Never rejects: the first attempt writes them again. */
export async function greet(
  { component, installation }: Subject,
  deps: GreetingDeps,
  signal: AbortSignal,
): Promise<void> {
  if (claimRefusal(component, deps) !== undefined) return;
  if (olderClaimantOf(component, deps) !== undefined) return;
  const outcome = { kind: "working", steps: { eligible: false, resolved: false } } as const;
  await installation
    .writeBetweenAttempts(outcome, { component, ...deps }, signal)
    .catch(() => undefined);
}
