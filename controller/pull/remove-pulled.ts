import { ApiError } from "../../access/kube/api-error.ts";
import {
  type Component,
  isKeptWhileUsed,
  keepWhileUsedAnnotation,
  orphaningOf,
} from "../../api/component.ts";
import {
  agentWorkName,
  componentWorkName,
  managedClusterOf,
  type ManifestWork,
  wasPushed,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { letsGo } from "../../api/sentences.ts";
import { clusterNameOf, hasFinalizer } from "../component-identity.ts";
import type { Next } from "../queue/delays.ts";
import { assertPermitted, olderClaimantOf } from "../reconcile/claims.ts";
import { isStillPushed } from "../reconcile/hand-over.ts";
import { release } from "../reconcile/hold.ts";
import type { Attempt } from "../reconcile/reconcile-deps.ts";
import { conclude } from "../reconcile/report.ts";
import { fleetErrorOf, type Outcome } from "../status/outcome.ts";
import { reportOrphaned, withOrphanHint } from "../uninstall/force-orphan.ts";
import { uninstall } from "../uninstall/uninstall.ts";
import { removeCheckWorks } from "./check-works.ts";
import { findWorks } from "./find-works.ts";
import { deleteWork, getFrom, isOrphaned, listWorks, markCopy, orphanWork } from "./hub-works.ts";
import { isApplied, isBehind, silenceOf } from "./judge.ts";
import { managedClusterFor } from "./managed-cluster.ts";
import type { PullDeps } from "./pull-deps.ts";

// The controller on a spoke removes an installation within seconds. Nothing is told of it meanwhile.
const patienceMs = 600_000;

/**
 * One attempt for a pulled component that is being deleted: deletes its work, and removes the finalizer when the work is gone, because Open Cluster Management keeps the work until the
 * controller on the spoke has verified that nothing is left. The agent goes with the last component of its cluster.
 */
export async function removePulled(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Next> {
  const { component, installation, writer } = attempt;
  if (installation.isReleased || !hasFinalizer(component)) return { kind: "done" };
  const outcome = await removeWorks(attempt, deps, signal);
  if (outcome !== undefined) return conclude({ ...attempt, outcome }, deps, signal);
  const isGivenUp = orphaningOf(component).kind === "granted";
  if (!isGivenUp) {
    const answer = await orFailure(component, () => isStillPushed(attempt, deps, signal));
    if (answer === true) return uninstall(attempt, deps, signal);
    // Without the mark most spokes cannot be dialled, and an error says nothing.
    if (answer !== false && wasPushed(component)) {
      return conclude({ ...attempt, outcome: answer }, deps, signal);
    }
  }
  await writer.stopProgress();
  if (!isGivenUp) {
    const message = `Removed everything of this component from ${clusterNameOf(component)}`;
    await deps.events.record(component, { type: "Normal", reason: "Removed", message }, signal);
  }
  return release(attempt, deps, signal);
}

type Failed = Extract<Outcome, { kind: "failed" }>;

/** An answer, or the failed removal that its error makes. */
async function orFailure<T>(component: Component, ask: () => Promise<T>): Promise<T | Failed> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof DOMException) throw error;
    return failedRemoval(fleetErrorOf(error, clusterNameOf(component)), component);
  }
}

function failedRemoval(error: FleetError, component: Component): Failed {
  const steps = { eligible: false, resolved: false };
  return { kind: "failed", steps, error: withOrphanHint(error, component), isRemoval: true };
}

/** Undefined when the works are gone, and with them what they brought to the spoke. */
export async function removeWorks(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { component } = attempt;
  const cluster = managedClusterOf(component);
  // Without the record no work was written. The works of a duplicate belong to the other component.
  if (cluster === undefined || olderClaimantOf(component, deps) !== undefined) return undefined;
  deps.pull?.watch.open();
  const removal = { attempt, cluster, deps };
  try {
    const isGivenUp = orphaningOf(component).kind === "granted";
    if (!isGivenUp) assertPermitted(component, deps);
    const works = await findProven(removal, signal);
    const outcome = await (isGivenUp ? orphan : remove)(works, removal, signal);
    if (outcome === undefined) {
      await removeCheckWorks(component, { hub: deps.hub, cluster }, signal);
    }
    return outcome;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    return failedRemoval(error, component);
  }
}

type Works = Awaited<ReturnType<typeof findWorks>>;

/**
 * What the hub holds of a component. Anybody can write the record of the cluster who may write the component: it is believed when a work carries the uid of the component, or did so in this
 * process, or when the ClusterProfile leads to the same cluster. Otherwise there is nothing.
 */
async function findProven(
  { attempt: { component, installation }, cluster, deps }: Removal,
  signal: AbortSignal,
): Promise<Works> {
  const works = await findWorks(component, cluster, getFrom(deps.hub, signal));
  if (works.work !== undefined) installation.noteReached();
  if (installation.wasReached || (await isClusterOf(component, { cluster, deps }, signal))) {
    return works;
  }
  return { managed: works.managed, agent: undefined, work: undefined };
}

/** Whether the ClusterProfile of a component leads to a ManagedCluster. */
async function isClusterOf(
  { spec }: Component,
  { cluster, deps }: Pick<Removal, "cluster" | "deps">,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = spec?.clusterProfileRef;
  if (ref === undefined) return false;
  try {
    return (await managedClusterFor({ ...ref, isRemoval: true }, deps, signal)) === cluster;
  } catch (error) {
    if (error instanceof FleetError && isProof(error)) return false;
    throw error;
  }
}

/** Whether a failure says that a ClusterProfile leads to no ManagedCluster, and not that the hub did not answer. */
function isProof({ reason, code }: FleetError): boolean {
  return (
    reason === "ReferenceNotPermitted" ||
    reason === "ClusterProfileNotFound" ||
    code === "NotManagedByOCM"
  );
}

interface Removal {
  readonly attempt: Attempt;
  readonly cluster: string;
  readonly deps: PullDeps;
}

/**
 * Deletes the works and leaves what they brought on the spoke, with the agent. The works for a cluster that is silent stay, because their deletion could not be taken back: they go with the
 * ManagedCluster, or before the next component that is brought to it.
 */
async function orphan(
  { work, agent, managed }: Works,
  removal: Removal,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { attempt, cluster, deps } = removal;
  const isUnused = agent !== undefined && (await isLast(removal, signal));
  const orphaned = await Promise.all([
    work === undefined || orphanWork(work, deps.hub, signal),
    !isUnused || orphanWork(agent, deps.hub, signal),
  ]);
  const isDone = orphaned.every(Boolean) || silenceOf(cluster, managed) !== undefined;
  if (!isDone) return { kind: "removing", steps: { eligible: false, resolved: true } };
  await reportOrphaned(attempt, deps, signal);
  return undefined;
}

/** Deletes the work of a component, and after it that of the agent. Undefined when both are done. */
async function remove(
  { work, agent, managed }: Works,
  removal: Removal,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { cluster, deps } = removal;
  if (work !== undefined) {
    // Until the cluster answers, the user may still order to orphan the installation.
    const silence = silenceOf(cluster, managed);
    if (silence !== undefined) throw silence;
    await requestRemoval(work, removal, signal);
    assertInTime(work, deps);
    return { kind: "removing", steps: { eligible: false, resolved: true } };
  }
  const isUnused = agent !== undefined && (await isLast(removal, signal));
  if (isUnused) await deleteWork(agent, deps.hub, signal);
  return undefined;
}

/**
 * Deletes a work. Whether the component is kept while it is used is said on its spoke first, because a work that is being deleted brings nothing more: a copy that says so still could not be
 * unblocked from the hub. Nothing else of the component is written: it may not be permitted any more.
 */
async function requestRemoval(
  work: ManifestWork,
  { attempt: { component }, deps }: Removal,
  signal: AbortSignal,
): Promise<void> {
  if (work.metadata.deletionTimestamp !== undefined) return;
  const isKept = isKeptWhileUsed(component);
  const value = isKept ? "true" : undefined;
  const marked = await markCopy(
    work,
    { hub: deps.hub, name: keepWhileUsedAnnotation, value },
    signal,
  );
  if (marked !== work || (isKept ? !isApplied(work) : isBehind(work))) return;
  await deleteWork(work, deps.hub, signal);
}

/** Throws when a work has been going for long: only the spoke can tell why. */
function assertInTime(
  { metadata: { namespace, name, deletionTimestamp } }: ManifestWork,
  { clock }: Pick<PullDeps, "clock">,
): void {
  if (deletionTimestamp === undefined) return;
  if (clock.date().getTime() - Date.parse(deletionTimestamp) < patienceMs) return;
  const message = `${letsGo.longWork.of(`${namespace}/${name}`, deletionTimestamp)} look at the spoke: its component and its agent say what they wait for`;
  throw new FleetError("ClusterBusy", message);
}

/** As `isClusterOf`, for another component: a failure to find out does not take its agent away. */
async function mayBeClusterOf(
  other: Component,
  place: Pick<Removal, "cluster" | "deps">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await isClusterOf(other, place, signal);
  } catch (error) {
    if (error instanceof FleetError || error instanceof ApiError) return true;
    throw error;
  }
}

/** Whether nothing on a cluster needs the agent any more. The works tell of components that are being removed at the same time, the components of those that have no work yet. */
async function isLast(
  { attempt: { component }, cluster, deps }: Removal,
  signal: AbortSignal,
): Promise<boolean> {
  for (const other of deps.components.all()) {
    const { uid, deletionTimestamp } = other.metadata;
    const isOther = uid !== component.metadata.uid && deletionTimestamp === undefined;
    if (!isOther || managedClusterOf(other) !== cluster) continue;
    if (await mayBeClusterOf(other, { cluster, deps }, signal)) return false;
  }
  const all = await listWorks(cluster, deps.hub, signal);
  const own = [agentWorkName, componentWorkName(component)];
  return all.every((work) => own.includes(work.metadata.name) || isOrphaned(work));
}
