import { type Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import {
  componentWorkPrefix,
  managedClusterOf,
  type ManifestWork,
  pushedBeforeAnnotation,
  wasPushed,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { byText } from "../../api/fields.ts";
import { componentId } from "../../api/keys.ts";
import { type KubeObject } from "../../api/kubernetes.ts";
import { clusterGoes, letsGo, otherCluster } from "../../api/sentences.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { installationNamespace } from "../../installation/installation-namespace.ts";
import { clusterNameOf } from "../component-identity.ts";
import type { Next } from "../queue/delays.ts";
import { assertOnlyOne, assertPermitted } from "../reconcile/claims.ts";
import { annotate, hold, whileHeld } from "../reconcile/hold.ts";
import type { Writable } from "../reconcile/prepare.ts";
import type { Attempt } from "../reconcile/reconcile-deps.ts";
import { writeFirstConditions } from "../reconcile/reconcile.ts";
import { conclude } from "../reconcile/report.ts";
import { stopManaging } from "../reconcile/resolve.ts";
import type { Outcome, Steps } from "../status/outcome.ts";
import { findWorks, isWorkOf } from "./find-works.ts";
import {
  deleteWork,
  ensureComponentWork,
  ensureWork,
  getFrom,
  isOrphaned,
  listWorks,
  removeOrphanedWorks,
} from "./hub-works.ts";
import { isApplied, isAvailable, judge, type PullFacts, silenceOf } from "./judge.ts";
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
  const { component, writer } = attempt;
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
    const isInstalled = conditionOf(answer.conditions, "InstallSucceeded")?.status === "True";
    // If the hub had installed it before, the spoke has taken it over now.
    if (isInstalled && wasPushed(writer.latest)) {
      const annotations = { [pushedBeforeAnnotation]: null };
      await annotate(writer, { client: deps.hub, annotations }, signal);
    }
    return { kind: "reported", ...answer };
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
    const message =
      "The controller has no --agent-image for spokes that pull; the chart sets it with controller.delivery=Auto";
    throw new FleetError("ReferenceNotPermitted", message);
  }
  const { agentImage, watch } = deps.pull;
  watch.open();
  const cluster = await managedClusterFor(ref, deps, signal);
  assertSameCluster(component, cluster);
  const { managed, agent, work } = await findWorks(component, cluster, getFrom(deps.hub, signal));
  assertManaged(cluster, managed);
  const works = work === undefined ? await listWorks(cluster, deps.hub, signal) : [];
  assertFree(component, works, deps.components);
  const namespace = installationNamespace(component, deps.spokeNamespace);
  await hold(attempt, { ...deps, namespace, cluster }, signal);
  const writtenAgent = await ensureWork(
    agentWork(cluster, agentImage),
    { ...deps, stored: agent },
    signal,
  );
  const isDue = work !== undefined || isAvailable(writtenAgent);
  const place = { ...deps, cluster, stored: work };
  const writtenWork = isDue ? await writeOwn(component, { works, place }, signal) : undefined;
  const { generation = 0 } = component.metadata;
  const isInstalled = component.status?.version !== undefined;
  return { cluster, managed, agent: writtenAgent, work: writtenWork, generation, isInstalled };
}

/**
 * Throws when a ManagedCluster gets no works: it does not exist, or it is being deleted, and with it go its namespace and all works (`ClusterBusy`). One that is silent for now gets
 * its works when it is back.
 */
function assertManaged(cluster: string, managed: KubeObject | undefined): void {
  const silence = silenceOf(cluster, managed);
  if (managed === undefined && silence !== undefined) throw silence;
  const since = managed?.metadata.deletionTimestamp;
  if (since === undefined) return;
  const message = clusterGoes.of(cluster, since);
  throw new FleetError("ClusterBusy", message);
}

/** Throws FleetError `AccessProviderFailed` when the works of a component are recorded for another cluster than its ClusterProfile stands for. */
function assertSameCluster(component: Component, cluster: string): void {
  const recorded = managedClusterOf(component);
  if (recorded === undefined || recorded === cluster) return;
  const message = `${clusterNameOf(component)} ${otherCluster.of(cluster, recorded)}`;
  throw new FleetError("AccessProviderFailed", message);
}

/**
 * Throws FleetError `DuplicateComponent` when the namespace of a cluster holds the work of another component of the kind: both would write the same objects. The works prove it, and not the
 * records of components, which anybody can write who may write the component.
 */
function assertFree(
  component: Component,
  works: readonly ManifestWork[],
  components: PullDeps["components"],
): void {
  const [first] = works
    .filter((work) => isOfAnother(component, work) && !isOrphaned(work))
    .toSorted(byText(ageOf));
  if (first === undefined) return;
  const { namespace, name, labels, deletionTimestamp } = first.metadata;
  if (deletionTimestamp !== undefined) {
    throw new FleetError("ClusterBusy", letsGo.otherWork.of(`${namespace}/${name}`));
  }
  const uid = labels?.[componentUidLabel];
  const other = [...components.all()].find(({ metadata }) => metadata.uid === uid);
  const message =
    other === undefined
      ? `ManifestWork ${namespace}/${name} brings a component to the same cluster that this hub does not have; docs/ocm.md says how such a work goes`
      : `${componentId(other)} is installed on the same cluster already`;
  throw new FleetError("DuplicateComponent", message);
}

/** Whether a work brings another component of the same kind. */
function isOfAnother(component: Component, work: ManifestWork): boolean {
  const isOfKind = work.metadata.name.startsWith(componentWorkPrefix(component.kind));
  return isOfKind && !isWorkOf(component, work);
}

function ageOf({ metadata: { creationTimestamp = "", uid } }: ManifestWork): string {
  return `${creationTimestamp}|${uid}`;
}

/** Writes the work of a component, before the first one without those that were orphaned. `works` is what the cluster has, read for the first one. */
async function writeOwn(
  component: Component,
  { works, place }: { readonly works: readonly ManifestWork[]; readonly place: OwnPlace },
  signal: AbortSignal,
): Promise<ManifestWork> {
  await removeOrphanedWorks(works, place.hub, signal);
  const work = await ensureComponentWork(component, place, signal);
  // Until its agent has it nobody knows whether an earlier attempt came so far.
  if (!isApplied(work)) await yieldToOlder({ component, work }, place, signal);
  return work;
}

interface OwnPlace extends PullDeps {
  readonly cluster: string;
  readonly stored: ManifestWork | undefined;
}

/**
 * Of two components that wrote their first works at the same moment the one with the younger work takes it back. Both see the other's: each looks after it has written.
 */
async function yieldToOlder(
  { component, work }: { readonly component: Component; readonly work: ManifestWork },
  { cluster, hub, components }: OwnPlace,
  signal: AbortSignal,
): Promise<void> {
  const works = await listWorks(cluster, hub, signal);
  const older = works.filter((one) => ageOf(one) < ageOf(work));
  try {
    assertFree(component, older, components);
  } catch (error) {
    await deleteWork(work, hub, signal);
    throw error;
  }
}
