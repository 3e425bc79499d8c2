import { type Component, orphaningOf } from "../../api/component.ts";
import {
  agentWorkName,
  componentWorkName,
  managedClusterOf,
  type ManifestWork,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { clusterNameOf, hasFinalizer } from "../component-identity.ts";
import type { Next } from "../queue/delays.ts";
import { assertPermitted, olderClaimantOf } from "../reconcile/claims.ts";
import { isStillPushed } from "../reconcile/hand-over.ts";
import { release } from "../reconcile/hold.ts";
import type { Outcome } from "../reconcile/outcome.ts";
import type { Attempt } from "../reconcile/reconcile-deps.ts";
import { conclude } from "../reconcile/report.ts";
import { reportOrphaned, withOrphanHint } from "../uninstall/force-orphan.ts";
import { isKeptWhileUsed } from "../uninstall/in-use.ts";
import { uninstall } from "../uninstall/uninstall.ts";
import { findWorks } from "./find-works.ts";
import {
  deleteWork,
  ensureComponentWork,
  getFrom,
  isOrphaned,
  listWorks,
  orphanWork,
} from "./hub-works.ts";
import { isApplied, silenceOf } from "./judge.ts";
import { managedClusterFor } from "./managed-cluster.ts";
import type { PullDeps } from "./pull-deps.ts";
import { assertSameCluster } from "./pull.ts";

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
  if (!isGivenUp && (await isStillPushed(attempt, deps, signal))) {
    return uninstall(attempt, deps, signal);
  }
  await writer.stopProgress();
  if (!isGivenUp) {
    const message = `Removed everything of this component from ${clusterNameOf(component)}`;
    await deps.events.record(component, { type: "Normal", reason: "Removed", message }, signal);
  }
  await release(attempt, deps.hub, signal);
  return { kind: "done" };
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
    if (orphaningOf(component).kind === "granted") return await orphan(removal, signal);
    assertPermitted(component, deps);
    await assertRecord(component, deps, signal);
    return await remove(removal, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    const steps = { eligible: false, resolved: false };
    return { kind: "failed", steps, error: withOrphanHint(error, component), isRemoval: true };
  }
}

/** Checks the record of the cluster, which anybody can write who may write the component. A ClusterProfile that is gone, or is none of Open Cluster Management any more, contradicts nothing. */
async function assertRecord(
  component: Component,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<void> {
  const ref = component.spec?.clusterProfileRef;
  if (ref === undefined) return;
  let cluster: string;
  try {
    cluster = await managedClusterFor(ref, deps, signal);
  } catch (error) {
    const isNone = error instanceof FleetError && error.reason !== "ReferenceNotPermitted";
    if (!isNone) throw error;
    return;
  }
  assertSameCluster(component, cluster);
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
async function orphan(removal: Removal, signal: AbortSignal): Promise<Outcome | undefined> {
  const { attempt, cluster, deps } = removal;
  const { work, agent, managed } = await findWorks(
    attempt.component,
    cluster,
    getFrom(deps.hub, signal),
  );
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
async function remove(removal: Removal, signal: AbortSignal): Promise<Outcome | undefined> {
  const { attempt, cluster, deps } = removal;
  const { component } = attempt;
  const { work, agent, managed } = await findWorks(component, cluster, getFrom(deps.hub, signal));
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

/** Deletes a work. A component that is kept while it is used says so on its spoke first, because a work that is being deleted brings nothing more. */
async function requestRemoval(
  work: ManifestWork,
  { attempt: { component }, cluster, deps }: Removal,
  signal: AbortSignal,
): Promise<void> {
  if (work.metadata.deletionTimestamp !== undefined) return;
  if (isKeptWhileUsed(component)) {
    const written = await ensureComponentWork(
      component,
      { ...deps, cluster, stored: work },
      signal,
    );
    if (!isApplied(written)) return;
  }
  await deleteWork(work, deps.hub, signal);
}

/** Throws when a work has been going for long: only the spoke can tell why. */
function assertInTime(
  { metadata: { namespace, name, deletionTimestamp } }: ManifestWork,
  { clock }: Pick<PullDeps, "clock">,
): void {
  if (deletionTimestamp === undefined) return;
  if (clock.date().getTime() - Date.parse(deletionTimestamp) < patienceMs) return;
  const message = `ManifestWork ${namespace}/${name} has been going since ${deletionTimestamp}; look at the spoke: its component and its agent say what they wait for`;
  throw new FleetError("ClusterBusy", message);
}

/** Whether nothing on a cluster needs the agent any more. The works tell of components that are being removed at the same time, the components of those that have no work yet. */
async function isLast(
  { attempt: { component }, cluster, deps: { hub, components } }: Removal,
  signal: AbortSignal,
): Promise<boolean> {
  for (const other of components.all()) {
    const isOther = other.metadata.uid !== component.metadata.uid;
    const stays = other.metadata.deletionTimestamp === undefined;
    if (isOther && stays && managedClusterOf(other) === cluster) return false;
  }
  const all = await listWorks(cluster, hub, signal);
  const own = [agentWorkName, componentWorkName(component)];
  return all.every((work) => own.includes(work.metadata.name) || isOrphaned(work));
}
