import { anchorNameOf } from "../../api/anchor.ts";
import { componentKinds, type Component } from "../../api/component.ts";
import type { DeploymentFact } from "./deployment-fact.ts";
import type { SpokeFacts } from "./spoke-facts.ts";
import type { SpokeReading, UnreadSpoke } from "./spoke-reading.ts";

/** `Skipped`: the command was told not to look at spokes. */
export type LiveState =
  | "Ready"
  | "NotAvailable"
  | "NotInstalled"
  | "Skipped"
  | UnreadSpoke["state"];

/** What the target cluster says about an installation; null where nothing is known. */
export interface LiveView {
  readonly state: LiveState;
  readonly reason: string | null;
  readonly message: string | null;
  /** Since when, RFC 3339. */
  readonly since: string | null;
  /** Where the installation was found on the target cluster. */
  readonly namespace: string | null;
  readonly deployments: number | null;
  /** Names of Deployments that are there but not available. */
  readonly notAvailable: readonly string[];
  /** Names of Deployments that the installation's inventory has and the cluster has not. */
  readonly missing: readonly string[];
  readonly server: string | null;
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
}

const nothingKnown: LiveView = {
  state: "Skipped",
  reason: null,
  message: null,
  since: null,
  namespace: null,
  deployments: null,
  notAvailable: [],
  missing: [],
  server: null,
  provider: null,
  kubernetesVersion: null,
};

/** The target cluster's view of a component; without a reading (`--no-live`) it is `Skipped`. */
export function liveViewOf(component: Component, reading: SpokeReading | undefined): LiveView {
  if (reading === undefined) return nothingKnown;
  if (reading.kind === "unread") {
    const { state, reason, message } = reading;
    return { ...nothingKnown, state, reason, message };
  }
  const { facts } = reading;
  const { server, provider, kubernetesVersion } = facts;
  return {
    ...nothingKnown,
    server,
    provider,
    kubernetesVersion,
    ...installedView(component, facts),
  };
}

function installedView(component: Component, facts: SpokeFacts): Partial<LiveView> {
  const anchor = anchorOf(component, facts);
  const own = deploymentsOf(component, facts);
  const namespace = anchor?.metadata.namespace ?? own[0]?.namespace ?? null;
  const counted = { namespace, deployments: own.length };
  if (isRemote(component) && facts.anchors !== undefined && anchor === undefined) {
    return { ...counted, state: "NotInstalled", ...whyNoAnchor(component, own, facts) };
  }
  if (own.length === 0) {
    const message = `No Deployment of ${component.kind} ${component.metadata.name} exists`;
    return { ...counted, state: "NotInstalled", reason: "NoDeployments", message };
  }
  const broken = own.filter(({ available }) => !available);
  if (broken.length === 0) return { ...counted, state: "Ready" };
  const names = broken.map(({ name }) => name);
  return {
    ...counted,
    state: "NotAvailable",
    notAvailable: names,
    reason: "DeploymentsNotReady",
    message: `Not available: ${names.join(", ")}`,
    since: oldest(broken.map(({ changedAt }) => changedAt)),
  };
}

function whyNoAnchor(
  component: Component,
  own: readonly DeploymentFact[],
  facts: SpokeFacts,
): Pick<LiveView, "reason" | "message"> {
  const anchor = `ConfigMap ${anchorNameOf(keyNames(component))}`;
  if (own.length > 0) {
    const message = `The anchor ${anchor} is gone; the garbage collector removes what it owned`;
    return { reason: "AnchorMissing", message };
  }
  const { label } = componentKinds[component.kind];
  const strangers = facts.deployments.filter((deployment) => deployment.component === label);
  if (strangers.length === 0)
    return { reason: "NotInstalled", message: `There is no anchor ${anchor}` };
  const where = [...new Set(strangers.map(({ namespace }) => namespace))].toSorted().join(", ");
  const message = `There is no anchor ${anchor}, but another installation is in namespace ${where}`;
  return { reason: "OtherInstallation", message };
}

/** The Deployments of one installation, sorted by namespace and name, whichever operator installed them. */
export function deploymentsOf(component: Component, facts: SpokeFacts): readonly DeploymentFact[] {
  const anchor = anchorOf(component, facts);
  const { label } = componentKinds[component.kind];
  return facts.deployments
    .filter((deployment) => deployment.component === label)
    .filter((deployment) => belongsTo(deployment, component, anchor?.metadata.namespace))
    .toSorted((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
}

function belongsTo(
  deployment: DeploymentFact,
  component: Component,
  anchorNamespace: string | undefined,
): boolean {
  if (deployment.componentUid !== null) return deployment.componentUid === component.metadata.uid;
  const { kind, name } = keyNames(component);
  const owner = isRemote(component)
    ? { kind: "ConfigMap", name: anchorNameOf({ kind, name }) }
    : { kind, name };
  if (deployment.owners.length > 0) {
    return deployment.owners.some((ref) => ref.kind === owner.kind && ref.name === owner.name);
  }
  return deployment.namespace === anchorNamespace;
}

function anchorOf(component: Component, facts: SpokeFacts) {
  const name = anchorNameOf(keyNames(component));
  const found = (facts.anchors ?? []).filter(({ metadata }) => metadata.name === name);
  // The component's own namespace is the rule; upstream 2349 moved installations to fixed namespaces.
  return (
    found.find(({ metadata }) => metadata.namespace === component.metadata.namespace) ??
    found.find(({ metadata }) => metadata.namespace === componentKinds[component.kind].label)
  );
}

function keyNames({ kind, metadata }: Component) {
  return { kind, name: metadata.name };
}

function isRemote(component: Component): boolean {
  return component.spec?.clusterProfileRef !== undefined;
}

function oldest(times: readonly (string | null)[]): string | null {
  return times.filter((time) => time !== null).toSorted()[0] ?? null;
}
