import { type Component, componentKeyOf } from "../../api/component.ts";
import { componentWorkName, managedClusterOf } from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { describe } from "../../api/kubernetes.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import { clusterNameOf } from "../component-identity.ts";
import type { Next } from "../queue/delays.ts";
import { assertOnlyOne, assertPermitted } from "../reconcile/claims.ts";
import { hold, whileHeld } from "../reconcile/hold.ts";
import type { Outcome, Steps } from "../reconcile/outcome.ts";
import type { Writable } from "../reconcile/prepare.ts";
import type { Attempt } from "../reconcile/reconcile-deps.ts";
import { writeFirstConditions } from "../reconcile/reconcile.ts";
import { conclude } from "../reconcile/report.ts";
import { stopManaging } from "../reconcile/resolve.ts";
import { findWorks, workRef } from "./find-works.ts";
import { ensureComponentWork, ensureWork, getFrom, removeOrphanedWorks } from "./hub-works.ts";
import { isAvailable, judge, type PullFacts, silenceOf } from "./judge.ts";
import { managedClusterFor } from "./managed-cluster.ts";
import type { PullDeps } from "./pull-deps.ts";
import { agentWork } from "./works.ts";

/**
 * One attempt for a component that works bring to its spoke: gathers what the hub holds, writes the works that differ, and writes what the spoke tells to the status. The controller
 * on the spoke does the rest. Rejects with the reason of the signal, and with an error of the hub that may pass.
 */
export function pull(attempt: Attempt, deps: PullDeps, signal: AbortSignal): Promise<Next> {
  return whileHeld(async () => {
    const outcome = await pullComponent(attempt, deps, signal);
    return conclude({ ...attempt, outcome }, deps, signal);
  });
}

async function pullComponent(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const steps: Writable<Steps> = { eligible: false, resolved: false };
  const { component } = attempt;
  try {
    assertPermitted(component, deps);
    assertOnlyOne(component, deps);
    writeFirstConditions(attempt, signal);
    // It may have been pushed before, and two must not write to one spoke.
    await stopManaging(attempt, deps);
    const facts = await writeWorks(attempt, deps, signal);
    steps.resolved = true;
    const answer = judge(facts);
    if (answer instanceof FleetError) throw answer;
    return { kind: "told", ...answer };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    return { kind: "failed", steps, error };
  }
}

/** Writes the works of a component where they differ. That of the component waits for the agent, which brings the CRD. Resolves with what the hub holds then. */
async function writeWorks(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<PullFacts> {
  const { component } = attempt;
  const ref = component.spec?.clusterProfileRef;
  if (deps.pull === undefined || ref === undefined) {
    const message = "The controller has no --agent-image for spokes that pull";
    throw new FleetError("ConfigInvalid", message);
  }
  const { agentImage, watch } = deps.pull;
  watch.open();
  const cluster = await managedClusterFor(ref, deps, signal);
  assertSameCluster(component, cluster);
  await assertFree(component, { cluster, deps }, signal);
  const { managed, agent, work } = await findWorks(component, cluster, getFrom(deps.hub, signal));
  // A cluster that is silent for now gets its works when it is back.
  const silence = silenceOf(cluster, managed);
  if (managed === undefined && silence !== undefined) throw silence;
  const namespace = installationNamespace(component, deps.spokeNamespace);
  await hold(attempt, { ...deps, namespace, cluster }, signal);
  const writtenAgent = await ensureWork(
    agentWork(cluster, agentImage),
    { ...deps, stored: agent },
    signal,
  );
  const isDue = work !== undefined || isAvailable(writtenAgent);
  if (isDue && work === undefined) await removeOrphanedWorks(cluster, deps.hub, signal);
  const writtenWork = isDue
    ? await ensureComponentWork(component, { ...deps, cluster, stored: work }, signal)
    : undefined;
  const { generation = 0 } = component.metadata;
  const isInstalled = component.status?.version !== undefined;
  return { cluster, managed, agent: writtenAgent, work: writtenWork, generation, isInstalled };
}

/** Throws FleetError `AccessProviderFailed` when the works of a component are recorded for another cluster than its ClusterProfile stands for. */
export function assertSameCluster(component: Component, cluster: string): void {
  const recorded = managedClusterOf(component);
  if (recorded === undefined || recorded === cluster) return;
  const message = `${clusterNameOf(component)} stands for ManagedCluster ${cluster} now, and the works are for ${recorded}`;
  throw new FleetError("AccessProviderFailed", message, { code: "NotManagedByOCM" });
}

/**
 * Throws FleetError `DuplicateComponent` when another component of the kind has the cluster through another ClusterProfile: both works would write the same objects. Its work proves it, and not
 * its record, which anybody can write who may write the component.
 */
async function assertFree(
  component: Component,
  { cluster, deps }: { readonly cluster: string; readonly deps: PullDeps },
  signal: AbortSignal,
): Promise<void> {
  const get = getFrom(deps.hub, signal);
  const isHere = managedClusterOf(component) !== undefined;
  for (const other of deps.components.all()) {
    if (other.kind !== component.kind || managedClusterOf(other) !== cluster) continue;
    if (other.metadata.uid === component.metadata.uid) continue;
    if (isHere && ageOf(component) < ageOf(other)) continue;
    const work = await get(workRef(cluster, componentWorkName(other)));
    if (work === undefined) continue;
    const message = `${describe(componentKeyOf(other))} is installed on the same cluster already`;
    throw new FleetError("DuplicateComponent", message);
  }
}

function ageOf({ metadata: { creationTimestamp = "", uid } }: Component): string {
  return `${creationTimestamp}|${uid}`;
}
