import { orphaningOf } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import {
  agentWorkName,
  componentWorkName,
  managedClusterOf,
  type ManifestWork,
  workApiVersion,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { knownResource } from "../../api/resources.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import { clusterNameOf, hasFinalizer } from "../component-identity.ts";
import type { Next } from "../queue/delays.ts";
import { assertPermitted, olderClaimantOf } from "../reconcile/claims.ts";
import { removeFinalizer } from "../reconcile/hold.ts";
import type { Outcome } from "../reconcile/outcome.ts";
import type { Attempt } from "../reconcile/reconcile-deps.ts";
import { conclude } from "../reconcile/report.ts";
import { reportOrphaned, withOrphanHint } from "../uninstall/force-orphan.ts";
import { isKeptWhileUsed } from "../uninstall/in-use.ts";
import { deleteWork, ensureWork, orphanWork } from "./hub-works.ts";
import { silenceOf } from "./judge.ts";
import type { PullDeps } from "./pull-deps.ts";
import { gather } from "./pull.ts";
import { componentWork, workLabel } from "./works.ts";

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
  const { component, writer } = attempt;
  if (!hasFinalizer(component)) return { kind: "done" };
  const outcome = await removeWorks(attempt, deps, signal);
  if (outcome !== undefined) return conclude({ ...attempt, outcome }, deps, signal);
  await writer.stopProgress();
  if (orphaningOf(component).kind !== "granted") {
    const message = `Removed everything of this component from ${clusterNameOf(component)}`;
    await deps.events.record(component, { type: "Normal", reason: "Removed", message }, signal);
  }
  await removeFinalizer(writer.latest, deps.hub, signal);
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
    return await remove(removal, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    const steps = { eligible: false, resolved: false };
    return { kind: "failed", steps, error: withOrphanHint(error, component), isRemoval: true };
  }
}

interface Removal {
  readonly attempt: Attempt;
  readonly cluster: string;
  readonly deps: PullDeps;
}

/** Deletes the works and leaves what they brought on the spoke, with the agent. Does not wait for a spoke that may never answer. */
async function orphan(
  { attempt, cluster, deps }: Removal,
  signal: AbortSignal,
): Promise<undefined> {
  const { work, agent } = await gather(attempt.component, { cluster, deps }, signal);
  await reportOrphaned(attempt, deps, signal);
  if (work !== undefined) await orphanWork(work, deps.hub, signal);
  const isUnused = agent !== undefined && (await isLast({ attempt, cluster, deps }, signal));
  if (isUnused) await orphanWork(agent, deps.hub, signal);
}

/** Deletes the work of a component, and after it that of the agent. Undefined when both are done. */
async function remove(removal: Removal, signal: AbortSignal): Promise<Outcome | undefined> {
  const { attempt, cluster, deps } = removal;
  const { component } = attempt;
  const { work, agent, managed } = await gather(component, { cluster, deps }, signal);
  if (work !== undefined) {
    await requestRemoval(work, removal, signal);
    const silence = silenceOf(cluster, managed);
    if (silence !== undefined) throw silence;
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
    const namespace = installationNamespace(component, deps.spokeNamespace);
    const desired = componentWork(component, { cluster, namespace, hubId: deps.hubId });
    const current = await ensureWork(desired, { ...deps, stored: work }, signal);
    const applied = conditionOf(current.status?.conditions, "Applied");
    const { generation } = current.metadata;
    if (applied?.status !== "True" || applied.observedGeneration !== generation) return;
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
  const message = `Work ${namespace}/${name} has been going since ${deletionTimestamp}; look at the spoke: its component and its agent say what they wait for`;
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
  const { items } = await hub.list(
    {
      resource: knownResource(workApiVersion, "ManifestWork"),
      namespace: cluster,
      labelSelector: `${workLabel.key}=${workLabel.value}`,
    },
    { metadataOnly: true },
    signal,
  );
  const isOwn = (name: string): boolean => name === componentWorkName(component);
  return items.every(({ metadata: { name } }) => name === agentWorkName || isOwn(name));
}
