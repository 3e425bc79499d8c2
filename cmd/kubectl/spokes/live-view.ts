import { type Component, componentKinds } from "../../../api/component.ts";
import { byText } from "../../../api/fields.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { type KubeObject, nameFirst } from "../../../api/kubernetes.ts";
import { rollingOut, scaledToZero } from "../../../api/reasons.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import {
  anchoredNamespaces,
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
} from "../../../installation/installation-namespace.ts";
import { type WorkloadState } from "../../../installation/readiness.ts";
import { isWorkloadKind, workloadName } from "../../../installation/workload-facts.ts";
import { knfOf } from "../output/knf-of.ts";
import type { LiveReason } from "../output/own-reasons.ts";
import type { AnchorFact, FeedbackFact, SpokeFacts, SpokeReading } from "./spoke-facts.ts";
import type { UnreadSpoke } from "./spoke-reading.ts";
import { type WorkloadFact, workloadId, type WorkloadKey } from "./workload-fact.ts";

/**
 * `ScaledToZero`: available, but somebody wants no pods of some Deployments. `InProgress`: a rollout goes on within its deadline. `Skipped`: the command does not
 * read spokes (`--no-live`).
 */
export type LiveState =
  | "Ready"
  | "ScaledToZero"
  | "InProgress"
  | "NotAvailable"
  | "NotInstalled"
  | "Skipped"
  | UnreadSpoke["state"];

/** The state of an installation on its target. Null: not known. */
export interface LiveView {
  readonly state: LiveState;
  readonly reason: LiveReason | null;
  readonly code: KnfCode | null;
  readonly message: string | null;
  /** When the state began, RFC 3339. */
  readonly since: string | null;
  /** Namespace of the installation on the target. */
  readonly namespace: string | null;
  readonly deployments: number | null;
  /** Names of live workloads that are not available, with the kind of all but Deployments. */
  readonly notAvailable: readonly string[];
  /** Names of workloads that somebody scaled to zero. */
  readonly scaledToZero: readonly string[];
  /** Names of workloads of the inventory that are not on the target. */
  readonly missing: readonly string[];
  readonly server: string | null;
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
  /** Where the state comes from when the cluster was not dialled; null: from the cluster itself. */
  readonly feedback: FeedbackFact | null;
}

const nothingKnown: LiveView = {
  state: "Skipped",
  reason: null,
  code: null,
  message: null,
  since: null,
  namespace: null,
  deployments: null,
  notAvailable: [],
  scaledToZero: [],
  missing: [],
  server: null,
  provider: null,
  kubernetesVersion: null,
  feedback: null,
};

/** The state of a component on its target. Without a reading (`--no-live`) it is `Skipped`. */
export function liveViewOf(component: Component, reading: SpokeReading | undefined): LiveView {
  if (reading === undefined) return nothingKnown;
  const view = { ...nothingKnown, ...readingView(component, reading) };
  const { reason, message } = view;
  return { ...view, code: knfOf(reason, { isHub: !isRemote(component), message }) };
}

function readingView(component: Component, reading: SpokeReading): Partial<LiveView> {
  if (reading.kind === "unread") {
    const { state, reason, message, told } = reading;
    return told?.get(component.metadata.uid) ?? { state, reason, message };
  }
  const { facts } = reading;
  const { server, provider, kubernetesVersion } = facts;
  return { server, provider, kubernetesVersion, ...installedView(component, facts) };
}

function installedView(component: Component, facts: SpokeFacts): Partial<LiveView> {
  const anchor = anchorOf(component, facts);
  const own = workloadsOf(component, facts);
  const missing = missingWorkloads(component, facts).map(workloadName);
  const counted = {
    namespace: anchor?.namespace ?? own[0]?.namespace ?? null,
    deployments: own.length,
    missing,
  };
  if (isRemote(component) && facts.anchors !== undefined && anchor === undefined) {
    return { ...counted, state: "NotInstalled", ...whyNoAnchor(component, own.length, facts) };
  }
  if (own.length === 0) {
    const message = `No Deployment of ${component.kind} ${component.metadata.name} exists`;
    return { ...counted, state: "NotInstalled", reason: "NoDeployments", message };
  }
  return { ...counted, ...deploymentsView(own, missing) };
}

function deploymentsView(
  own: readonly WorkloadFact[],
  missing: readonly string[],
): Pick<LiveView, "state"> & Partial<LiveView> {
  const those = (wanted: WorkloadState) => own.filter(({ state }) => state === wanted);
  const [broken, rolling, scaled] = [
    those("notAvailable"),
    those("rollingOut"),
    those("scaledToZero"),
  ];
  const view = stateView({ broken, rolling, scaled }, missing);
  return {
    ...view,
    message: problemsOf({ broken, rolling, scaled }, missing),
    notAvailable: [...broken, ...rolling].map(workloadName).toSorted(),
    scaledToZero: scaled.map(workloadName),
  };
}

type Grouped = Readonly<Record<"broken" | "rolling" | "scaled", readonly WorkloadFact[]>>;

/** The worst that some Deployments are in. */
function stateView(
  { broken, rolling, scaled }: Grouped,
  missing: readonly string[],
): Pick<LiveView, "state"> & Partial<Pick<LiveView, "reason" | "since">> {
  if (broken.length > 0) {
    return { state: "NotAvailable", reason: "DeploymentsNotReady", since: oldest(broken) };
  }
  if (missing.length > 0) return { state: "NotAvailable", reason: "DeploymentsMissing" };
  if (rolling.length > 0) {
    return { state: "InProgress", reason: rollingOut, since: oldest(rolling) };
  }
  if (scaled.length === 0) return { state: "Ready" };
  return { state: "ScaledToZero", reason: scaledToZero, since: oldest(scaled) };
}

const mostNamed = 10;

/** A workload that is not available, and why. */
export function withProgress(fact: WorkloadFact): string {
  return `${workloadName(fact)} (${fact.progress})`;
}

function problemsOf(
  { broken, rolling, scaled }: Grouped,
  missing: readonly string[],
): string | null {
  const problems = [
    ["Not available", broken.map(withProgress)],
    ["Missing", missing],
    ["In progress", rolling.map(withProgress)],
    ["Scaled to zero", scaled.map(workloadName)],
  ] as const;
  const texts = problems
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what}: ${nameFirst(names, mostNamed)}`);
  return texts.length === 0 ? null : texts.join("; ");
}

function whyNoAnchor(
  component: Component,
  ownDeployments: number,
  facts: SpokeFacts,
): Pick<LiveView, "reason" | "message"> {
  const { kind, metadata } = component;
  const anchor = `ConfigMap ${anchorNameOf({ kind, name: metadata.name })}`;
  if (conflictingAnchor(component, facts) !== undefined) {
    const message = `The anchor ${anchor} belongs to another component or another hub`;
    return { reason: "AnchorConflict", message };
  }
  if (ownDeployments > 0) {
    const message = `The anchor ${anchor} is gone; the garbage collector removes what it owned`;
    return { reason: "AnchorMissing", message };
  }
  const { label } = componentKinds[kind];
  const foreign = facts.workloads.filter((deployment) => deployment.component === label);
  const where = [...new Set(foreign.map(({ namespace }) => namespace))].toSorted();
  if (where.length === 0) {
    return { reason: "NotInstalled", message: `There is no anchor ${anchor}` };
  }
  const message = `There is no anchor ${anchor}, but another installation is in namespace ${where.join(", ")}`;
  return { reason: "OtherInstallation", message };
}

function oldest(deployments: readonly WorkloadFact[]): string | null {
  return deployments.flatMap(({ changedAt }) => changedAt ?? []).toSorted()[0] ?? null;
}

/** The workloads of one installation, sorted by namespace and name, whichever operator installed them. */
export function workloadsOf(component: Component, facts: SpokeFacts): readonly WorkloadFact[] {
  const anchor = anchorOf(component, facts);
  const { label } = componentKinds[component.kind];
  return facts.workloads
    .filter((deployment) => deployment.component === label)
    .filter((deployment) => belongsTo(deployment, component, anchor))
    .toSorted(byText(workloadId));
}

/** Workloads of the inventory that are not on the target. */
export function missingWorkloads(component: Component, facts: SpokeFacts): readonly WorkloadKey[] {
  const present = new Set(facts.workloads.map(workloadId));
  const expected = anchorOf(component, facts)?.workloads ?? [];
  return expected.filter(
    (key) => !facts.unlisted.includes(key.kind) && !present.has(workloadId(key)),
  );
}

/** The anchor of an installation. Undefined when it has none, or only that of another component. */
export function anchorOf(component: Component, facts: SpokeFacts): AnchorFact | undefined {
  const possible = possibleNamespaces(component);
  const own = namesakesOf(component, facts).filter(
    ({ namespace, componentUid }) =>
      possible.includes(namespace) &&
      (componentUid === null || componentUid === component.metadata.uid),
  );
  const anchored = anchoredNamespaces(own);
  // The mode matters only where an anchor of the upstream operator is left.
  const expected = installationNamespace(component, defaultSpokeNamespace, anchored);
  return own.find(({ namespace }) => namespace === expected);
}

/** The anchor of another component or hub that has the place of this installation's anchor. */
export function conflictingAnchor(component: Component, facts: SpokeFacts): AnchorFact | undefined {
  const { uid } = component.metadata;
  const possible = possibleNamespaces(component);
  return namesakesOf(component, facts).find(
    ({ namespace, componentUid }) =>
      possible.includes(namespace) && componentUid !== null && componentUid !== uid,
  );
}

/** Whether an installation is on another cluster than the hub. */
export function isRemote({ spec }: Component): boolean {
  return spec?.clusterProfileRef !== undefined;
}

function namesakesOf(
  { kind, metadata: { name } }: Component,
  { anchors = [] }: SpokeFacts,
): readonly AnchorFact[] {
  const anchorName = anchorNameOf({ kind, name });
  return anchors.filter((anchor) => anchor.name === anchorName);
}

function belongsTo(
  { componentUid, owners, namespace }: WorkloadFact,
  component: Component,
  anchor: AnchorFact | undefined,
): boolean {
  if (componentUid !== null) {
    return componentUid === (anchor?.labelUid ?? component.metadata.uid);
  }
  if (owners.length === 0) return namespace === anchor?.namespace;
  // An owner is in the namespace of its object, so that its name proves something only in a namespace of this installation.
  const namespaces = anchor === undefined ? possibleNamespaces(component) : [anchor.namespace];
  if (!namespaces.includes(namespace)) return false;
  const { kind, name } = ownerOf(component);
  return owners.some((owner) => owner.kind === kind && owner.name === name);
}

function ownerOf(component: Component): { readonly kind: string; readonly name: string } {
  const { kind, metadata } = component;
  const key = { kind, name: metadata.name };
  return isRemote(component) ? { kind: "ConfigMap", name: anchorNameOf(key) } : key;
}

/** Whether a pod is one of a workload. */
export function isOf(pod: KubeObject, workload: WorkloadKey): boolean {
  const owner = workloadOfPod(pod);
  return owner !== undefined && workloadId(owner) === workloadId(workload);
}

/**
 * The workload of a pod. That of a Deployment is known by its ReplicaSet, whose name is that of the Deployment and the hash that the pod has as a label.
 * Undefined for other pods.
 */
function workloadOfPod({
  metadata: { namespace = "", ownerReferences = [], labels = {} },
}: KubeObject): WorkloadKey | undefined {
  const owner = ownerReferences.find(({ kind }) => kind === "ReplicaSet" || isWorkloadKind(kind));
  if (owner === undefined) return undefined;
  const { kind, name } = owner;
  if (isWorkloadKind(kind)) return { kind, namespace, name };
  const hash = labels["pod-template-hash"];
  if (hash === undefined || !name.endsWith(`-${hash}`)) return undefined;
  return { kind: "Deployment", namespace, name: name.slice(0, -hash.length - 1) };
}
