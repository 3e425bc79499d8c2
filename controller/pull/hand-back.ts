import { conditionOf } from "../../api/conditions.ts";
import {
  deliveryAnnotation,
  managedClusterAnnotation,
  managedClusterOf,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import type { Next } from "../queue/delays.ts";
import { annotate } from "../reconcile/hold.ts";
import type { Attempt } from "../reconcile/reconcile-deps.ts";
import { reconcile } from "../reconcile/reconcile.ts";
import { conclude } from "../reconcile/report.ts";
import { uninstall } from "../uninstall/uninstall.ts";
import { findWorks } from "./find-works.ts";
import { getFrom, markCopy } from "./hub-works.ts";
import type { PullDeps } from "./pull-deps.ts";
import { removeWorks } from "./remove-pulled.ts";

/**
 * One attempt for a pulled component that the hub is to push again: tells the controller on the spoke to let go, installs as for every pushed component, which waits until it has, and then
 * removes the works. The record of the cluster goes last, so that an attempt after a crash goes on where this one ended. Spec: pull.md 7.
 */
export async function handBack(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Next> {
  try {
    await tellSpoke(attempt, deps, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    const steps = { eligible: false, resolved: false };
    return conclude({ ...attempt, outcome: { kind: "failed", steps, error } }, deps, signal);
  }
  const next = await reconcile(attempt, deps, signal);
  if (!isTakenOver(attempt)) return next;
  const outcome = await removeWorks(attempt, deps, signal);
  if (outcome?.kind === "failed")
    await tellFailure({ ...attempt, error: outcome.error }, deps, signal);
  if (outcome !== undefined) return { kind: "backoff" };
  const annotations = { [managedClusterAnnotation]: null };
  await annotate(attempt.writer, { client: deps.hub, annotations }, signal);
  return next;
}

interface Failed extends Attempt {
  readonly error: FleetError;
}

/** Tells by an Event why the works of an installation that the hub has taken over are still there: its conditions tell of the installation, which is well. */
async function tellFailure(
  { installation, writer: { latest }, error: { reason, message } }: Failed,
  { events }: Pick<PullDeps, "events">,
  signal: AbortSignal,
): Promise<void> {
  const text = `The works of the component stay: ${message}`;
  const event = { type: "Warning", reason, message: text } as const;
  await installation.told.recordOnce(event, (one) => events.record(latest, one, signal));
}

/** One attempt for such a component that is being deleted: removes the works first, and then what the hub has taken over already. */
export async function removeHandedBack(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Next> {
  const outcome = await removeWorks(attempt, deps, signal);
  if (outcome !== undefined) return conclude({ ...attempt, outcome }, deps, signal);
  return uninstall(attempt, deps, signal);
}

/** Writes the annotation of the component into its work, and nothing else of it: it may not be permitted any more. A work that is gone already says nothing more. */
async function tellSpoke(
  { component }: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<void> {
  const cluster = managedClusterOf(component);
  if (cluster === undefined) return;
  deps.pull?.watch.open();
  const { work } = await findWorks(component, cluster, getFrom(deps.hub, signal));
  if (work === undefined || work.metadata.deletionTimestamp !== undefined) return;
  await markCopy(work, { hub: deps.hub, name: deliveryAnnotation, value: "Push" }, signal);
}

/**
 * Whether everything was installed under an anchor of ours. The status alone does not tell: what the spoke told stays in it while an attempt gets nowhere, and with the work the spoke
 * would remove an installation that is still its own.
 */
function isTakenOver({ installation, writer }: Attempt): boolean {
  const installed = conditionOf(writer.latest.status?.conditions, "InstallSucceeded");
  return installation.isComplete && installed?.status === "True";
}
