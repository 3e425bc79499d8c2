import { ApiError } from "../../access/kube/api-error.ts";
import { Follower } from "../../access/time/deadline.ts";
import { isKeptWhileUsed, orphaningOf } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { hasFinalizer, clusterNameOf } from "../component-identity.ts";
import type { NewEvent } from "../events.ts";
import type { ClusterGuard } from "../guard/cluster-guard.ts";
import { releaseNamespaces } from "../guard/guarded-objects.ts";
import { logFieldsOf } from "../log.ts";
import type { Next } from "../queue/delays.ts";
import { assertPermitted, olderClaimantOf } from "../reconcile/claims.ts";
import { release } from "../reconcile/hold.ts";
import type { Attempt, ReconcileDeps } from "../reconcile/reconcile-deps.ts";
import { conclude } from "../reconcile/report.ts";
import { stopManaging, connectionHistoryOf, resolveTarget } from "../reconcile/resolve.ts";
import { fleetErrorOf, asLoss, type Steps } from "../status/outcome.ts";
import { type Removing, showsRemovalFailure } from "../status/progress.ts";
import type { Target } from "../target/target.ts";
import type { Recollection } from "./finalize-scope.ts";
import { finalize } from "./finalize.ts";
import { renderedObjects, reportOrphaned, withOrphanHint } from "./force-orphan.ts";
import { assertUnused } from "./in-use.ts";
import { notAllowed } from "./not-allowed.ts";

/**
 * One attempt for a component that is being deleted: removes its installation, verifies that it is gone, and only then removes the finalizer. While the target cannot be reached,
 * the component stays with a condition that says why, until a user orders to orphan the installation (force-orphan.ts).
 */
export async function uninstall(
  attempt: Attempt,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next> {
  const { component, installation, writer } = attempt;
  if (installation.isReleased || !hasFinalizer(component)) {
    deps.guards.stopProtecting(component);
    return { kind: "done" };
  }
  const steps = { eligible: false, resolved: false };
  const retry = await removeInstallation({ ...attempt, steps }, deps, signal);
  if (retry !== undefined) return retry;
  await writer.stopProgress();
  return release(attempt, deps, signal);
}

/** Removes the installation, if there is one. Undefined when the finalizer may be removed; otherwise when to come back. */
async function removeInstallation(
  attempt: RemovalAttempt,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next | undefined> {
  const { component, steps, installation } = attempt;
  if (installation.isUntouched) return undefined;
  // The objects on the cluster belong to the other component.
  if (olderClaimantOf(component, deps) !== undefined) return undefined;
  if (orphaningOf(component).kind === "granted") {
    await reportOrphaned(attempt, deps, signal);
    deps.guards.stopProtecting(component);
    return undefined;
  }
  try {
    await checkAndRemove(attempt, deps, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    // The connection was replaced during the attempt. The next attempt has the new one, so nothing is reported.
    if (error instanceof FleetError && error.reason === "RemoteClusterStale") {
      return { kind: "backoff" };
    }
    const cause = fleetErrorOf(error, clusterNameOf(component));
    if (cause.reason === "ReferenceNotPermitted") await stopManaging(attempt, deps);
    const failure = withOrphanHint(asLoss(cause, connectionHistoryOf(attempt, deps)), component);
    const outcome = { kind: "failed", steps, error: failure, isRemoval: true } as const;
    return conclude({ ...attempt, outcome }, deps, signal);
  }
}

interface RemovalAttempt extends Attempt {
  readonly steps: { -readonly [K in keyof Steps]: Steps[K] };
}

interface GuardRemoval extends Pick<RemovalAttempt, "component"> {
  readonly target: Target;
  readonly guard: ClusterGuard | undefined;
  /** Whether the hub still has the component with a uid. */
  readonly isKnown: (uid: string) => boolean;
}

/** Removes the labels and policies of the guard, once the anchor is gone. Spec: anchor-guard.md 6.3, steps 6 and 7. */
async function retireGuard(
  { component, target, guard, isKnown }: GuardRemoval,
  signal: AbortSignal,
): Promise<void> {
  if (target.profile === undefined) return;
  try {
    const componentUid = component.metadata.uid;
    // Both are independent, and the next attempt repeats the one that failed.
    await Promise.all([
      releaseNamespaces({ ...target, componentUid, isKnown }, signal),
      guard?.retire(component, signal),
    ]);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    throw notAllowed("Removing the guard of the anchor", error);
  }
}

/** Checks the annotation and the permission, then removes the installation. */
async function checkAndRemove(
  attempt: RemovalAttempt,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<void> {
  const { component } = attempt;
  const orphaning = orphaningOf(component);
  if (orphaning.kind === "refused") {
    const { message } = orphaning;
    const event = { type: "Warning", reason: "ForceOrphanIgnored", message } as const;
    await recordOnce({ ...attempt, event }, deps, signal);
  }
  assertPermitted(component, deps);
  writeRemovalProgress(
    attempt,
    isKeptWhileUsed(component) ? "looking for users" : undefined,
    signal,
  );
  return removeFromTarget(attempt, deps, signal);
}

/** Records an Event of the removal, but not again in the next attempts. */
async function recordOnce(
  { component, installation, event }: RemovalAttempt & { readonly event: NewEvent },
  { events }: Pick<ReconcileDeps, "events">,
  signal: AbortSignal,
): Promise<void> {
  await installation.told.recordOnce(event, (one) => events.record(component, one, signal));
}

/** Writes progress of the removal. The failure of the previous attempt stays until this attempt ends. */
function writeRemovalProgress(
  { component, writer, steps }: RemovalAttempt,
  remaining: Removing,
  signal: AbortSignal,
): void {
  if (showsRemovalFailure(component.status?.conditions)) return;
  const left = remaining === undefined ? {} : { remaining };
  writer.reportProgress({ kind: "removing", steps, ...left }, signal);
}

/** The objects of the last known inventory and of the rendered component. */
async function recallObjects(
  { component, installation, namespace }: RemovalAttempt & Pick<Target, "namespace">,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Recollection> {
  const rendered = await renderedObjects(component, { ...deps, namespace }, signal);
  const recorded = installation.inventory?.entries ?? [];
  return { entries: [...recorded, ...(rendered ?? [])], isAll: rendered !== undefined };
}

async function removeFromTarget(
  attempt: RemovalAttempt,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<void> {
  const { component, installation, steps } = attempt;
  const { target, connection } = await resolveTarget(attempt, deps, signal);
  steps.resolved = true;
  installation.noteReached();
  const observation = installation.observationOver(target.client);
  const log = deps.log.child(logFieldsOf(attempt));
  using follower = new Follower(signal, connection.signal);
  const either = follower.signal;
  const { namespace } = target;
  const recall = (): Promise<Recollection> =>
    recallObjects({ ...attempt, namespace }, deps, either);
  await assertUnused({ clock: deps.clock, component, target, recall }, either);
  if (isKeptWhileUsed(component)) writeRemovalProgress(attempt, undefined, signal);
  const spoke = { target, signal: connection.signal };
  const guard = await deps.guards.prepareRemoval(component, spoke, either);
  try {
    const { left } = await finalize(
      {
        component,
        target,
        recall,
        ...(observation === undefined ? {} : { observation }),
      },
      {
        log,
        clock: deps.clock,
        onProgress: (remaining) => writeRemovalProgress(attempt, remaining, signal),
      },
      either,
    );
    const isKnown = (uid: string): boolean =>
      [...deps.components.all()].some(({ metadata }) => metadata.uid === uid);
    await retireGuard({ component, target, guard, isKnown }, either);
    // Without the number of objects: when the hub refuses to remove the finalizer, the next attempt has the same message.
    const message = removedMessage(clusterNameOf(component), left);
    const event = { type: "Normal", reason: "Removed", message } as const;
    await recordOnce({ ...attempt, event }, deps, signal);
  } finally {
    // The next attempt reads the cluster again.
    await installation.closeView();
  }
}

function removedMessage(cluster: string, left: string | undefined): string {
  if (left === undefined) return `Removed everything of this component from ${cluster}`;
  return `Nothing of this component was on ${cluster}; ${left} there is not its own and stays`;
}
