import { ApiError } from "../../access/kube/api-error.ts";
import { FleetError } from "../../api/errors.ts";
import { withObstacle } from "../apply/refusals.ts";
import type { Target } from "../apply/target.ts";
import { hasFinalizer, clusterNameOf } from "../component-identity.ts";
import type { ClusterGuard } from "../guard/cluster-guard.ts";
import { releaseNamespaces } from "../guard/guarded-objects.ts";
import { logFieldsOf } from "../log.ts";
import type { Next } from "../queue/delays.ts";
import { olderDuplicateOf, assertPermitted, claimantsOf } from "../reconcile/claims.ts";
import type { Happening } from "../reconcile/happenings.ts";
import { removeFinalizer } from "../reconcile/hold.ts";
import { fleetErrorOf, asLoss, type Steps } from "../reconcile/outcome.ts";
import { type Removing, saysWhatKeepsRemoval } from "../reconcile/progress.ts";
import type { ReconcileDeps, Subject } from "../reconcile/reconcile-deps.ts";
import { conclude } from "../reconcile/report.ts";
import { stopManaging, connectionHistoryOf, resolveTarget } from "../reconcile/resolve.ts";
import { openStatusWriter, type StatusWriter } from "../reconcile/status-writer.ts";
import type { Recollection } from "./finalize-scope.ts";
import { finalize } from "./finalize.ts";
import { renderedObjects, orphaningOf, tellLeftBehind, withWayOut } from "./force-orphan.ts";
import { assertUnused, isKeptWhileUsed } from "./in-use.ts";

/**
 * Removes the installation of a component that is being deleted, verifies that, and only then lets the component go. A target that
 * cannot be reached keeps the component, with a condition that says why, until somebody demands that everything is left there (force-orphan.ts).
 */
export async function uninstall(
  subject: Subject,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next> {
  const { component } = subject;
  if (!hasFinalizer(component)) {
    deps.guards.withdraw(component);
    return { kind: "done" };
  }
  const wrote = subject.installation.writing();
  const writer = openStatusWriter(subject, deps, signal);
  const steps = { eligible: false, resolved: false };
  const work = { ...subject, writer, steps };
  try {
    const failed = await unlessParted(work, deps, signal);
    if (failed !== undefined) return failed;
    // From here on what fails is the hub's, and nothing is to be told on the component.
    await writer.quiet();
    await removeFinalizer(writer.latest, deps.hub, signal);
    return { kind: "done" };
  } finally {
    await writer.over();
    wrote(writer.latest);
  }
}

/** Undefined when the component has nothing on its cluster any more that it is to be held for. */
async function unlessParted(
  work: Work,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next | undefined> {
  const { component, steps, installation } = work;
  if (installation.isUntouched) return undefined;
  // A duplicate never touched the cluster, and must not touch the other's things now.
  if (olderDuplicateOf(component, claimantsOf(deps)) !== undefined) return undefined;
  if (orphaningOf(component).kind === "granted") {
    await tellLeftBehind(work, deps, signal);
    deps.guards.withdraw(component);
    return undefined;
  }
  try {
    await parted(work, deps, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    // Replaced in the middle of the work: the next attempt has the new connection, and there is nothing to tell.
    if (error instanceof FleetError && error.reason === "RemoteClusterStale") {
      return { kind: "backoff" };
    }
    const cause = fleetErrorOf(error, clusterNameOf(component));
    if (cause.reason === "ReferenceNotPermitted") await stopManaging(work, deps);
    const failure = withWayOut(asLoss(cause, connectionHistoryOf(work, deps)), component);
    const outcome = { kind: "failed", steps, error: failure, isRemoval: true } as const;
    return conclude({ ...work, outcome }, deps, signal);
  }
}

interface Work extends Subject {
  readonly writer: StatusWriter;
  readonly steps: { -readonly [K in keyof Steps]: Steps[K] };
}

interface LastSteps extends Pick<Work, "component"> {
  readonly target: Target;
  readonly guard: ClusterGuard | undefined;
  /** Whether the hub still has a component. */
  readonly isKnown: (uid: string) => boolean;
}

/** What the guard needed goes with the anchor. Spec: anchor-guard.md 6.3, steps 6 and 7. */
async function leaveGuard(
  { component, target, guard, isKnown }: LastSteps,
  signal: AbortSignal,
): Promise<void> {
  if (target.profile === undefined) return;
  try {
    const componentUid = component.metadata.uid;
    // Neither needs the other: whichever fails is done again by the next attempt.
    await Promise.all([
      releaseNamespaces({ ...target, componentUid, isKnown }, signal),
      guard?.retire(component, signal),
    ]);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    const sentence = "Removing the guard of the anchor is not allowed on the target cluster";
    const message = withObstacle(sentence, error);
    throw new FleetError("ApplyFailed", message, { code: "Forbidden", cause: error });
  }
}

/** Removes the installation of a component that was not let go without. */
async function parted(work: Work, deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  const { component } = work;
  const orphaning = orphaningOf(component);
  if (orphaning.kind === "refused") {
    const { message } = orphaning;
    const happening = { type: "Warning", reason: "ForceOrphanIgnored", message } as const;
    await recordOnce(work, happening, deps, signal);
  }
  assertPermitted(component, deps);
  tellRemoval(work, isKeptWhileUsed(component) ? "looking for users" : undefined, signal);
  return removed(work, deps, signal);
}

// oxlint-disable-next-line max-params -- what, whereby, and the signal last
async function recordOnce(
  { component, installation: { told } }: Work,
  happening: Happening,
  { events }: Pick<ReconcileDeps, "events">,
  signal: AbortSignal,
): Promise<void> {
  const said = `${happening.reason} ${happening.message}`;
  if (told.has(said)) return;
  await events.record(component, happening, signal);
  told.add(said);
}

/** Why an attempt failed is said until the next one fails or succeeds. */
function tellRemoval(
  { component, writer, steps }: Work,
  remaining: Removing,
  signal: AbortSignal,
): void {
  if (saysWhatKeepsRemoval(component.status?.conditions)) return;
  const left = remaining === undefined ? {} : { remaining };
  writer.progress({ kind: "removing", steps, ...left }, signal);
}

/** What was installed as far as this process knows, and what the component renders to. */
async function recollectionOf(
  { component, installation, namespace }: Work & Pick<Target, "namespace">,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Recollection> {
  const rendered = await renderedObjects(component, { ...deps, namespace }, signal);
  const known = installation.inventory?.entries ?? [];
  return { entries: [...known, ...(rendered ?? [])], isAll: rendered !== undefined };
}

async function removed(work: Work, deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  const { component, installation, steps } = work;
  const { target, connection } = await resolveTarget(work, deps, signal);
  steps.resolved = true;
  installation.wasReached = true;
  const observation = installation.observationOver(target.client);
  const log = deps.log.child(logFieldsOf(work));
  const either = AbortSignal.any([signal, connection.signal]);
  const where = { target, signal: connection.signal };
  const { namespace } = target;
  const recall = (): Promise<Recollection> => recollectionOf({ ...work, namespace }, deps, either);
  await assertUnused({ component, target, recall }, either);
  if (isKeptWhileUsed(component)) tellRemoval(work, undefined, signal);
  const guard = await deps.guards.forRemoval(component, where, either);
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
        onProgress: (remaining) => tellRemoval(work, remaining, signal),
      },
      either,
    );
    const isKnown = (uid: string): boolean =>
      [...deps.components.all()].some(({ metadata }) => metadata.uid === uid);
    await leaveGuard({ component, target, guard, isKnown }, either);
    // Without the number, which another attempt would not know: the hub may refuse to let the component go.
    const message = removalMessage(clusterNameOf(component), left);
    await recordOnce(work, { type: "Normal", reason: "Removed", message }, deps, signal);
  } finally {
    // The next attempt asks the cluster itself.
    await installation.closeView();
  }
}

function removalMessage(cluster: string, left: string | undefined): string {
  if (left === undefined) return `Removed everything of this component from ${cluster}`;
  return `Nothing of this component was on ${cluster}; ${left} there is not its own and stays`;
}
