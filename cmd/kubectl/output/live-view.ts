import { componentKinds, type Component } from "../../../api/component.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import type { LiveReason } from "../commands/status/own-reasons.ts";
import { knfOf } from "../explaining/knf-of.ts";
import {
  anchorOf,
  conflictingAnchor,
  deploymentsOf,
  isRemote,
  missingDeployments,
} from "../hub/own-objects.ts";
import type { DeploymentFact } from "../spokes/deployment-fact.ts";
import type { SpokeFacts } from "../spokes/spoke-facts.ts";
import type { SpokeReading, UnreadSpoke } from "../spokes/spoke-reading.ts";

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
  readonly reason: LiveReason | null;
  readonly code: KnfCode | null;
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
  code: null,
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
  const view = { ...nothingKnown, ...seenView(component, reading) };
  const { reason, message } = view;
  return { ...view, code: knfOf(reason, { isHub: !isRemote(component), message }) };
}

function seenView(component: Component, reading: SpokeReading): Partial<LiveView> {
  if (reading.kind === "unread") {
    const { state, reason, message } = reading;
    return { state, reason, message };
  }
  const { facts } = reading;
  const { server, provider, kubernetesVersion } = facts;
  return { server, provider, kubernetesVersion, ...installedView(component, facts) };
}

function installedView(component: Component, facts: SpokeFacts): Partial<LiveView> {
  const anchor = anchorOf(component, facts);
  const own = deploymentsOf(component, facts);
  const missing = missingDeployments(component, facts).map((id) => id.split("/")[1] ?? id);
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
  const broken = own.filter(({ available }) => !available);
  if (broken.length === 0 && missing.length === 0) return { ...counted, state: "Ready" };
  return { ...counted, state: "NotAvailable", ...brokenView(broken, missing) };
}

function brokenView(
  broken: readonly DeploymentFact[],
  missing: readonly string[],
): Pick<LiveView, "notAvailable" | "reason" | "message" | "since"> {
  const names = broken.map(({ name }) => name);
  const problems = [
    ...(names.length > 0 ? [`Not available: ${names.join(", ")}`] : []),
    ...(missing.length > 0 ? [`Missing: ${missing.join(", ")}`] : []),
  ];
  return {
    notAvailable: names,
    reason: names.length > 0 ? "DeploymentsNotReady" : "DeploymentsMissing",
    message: problems.join("; "),
    since: oldest(broken.map(({ changedAt }) => changedAt)),
  };
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
  const strangers = facts.deployments.filter((deployment) => deployment.component === label);
  const where = [...new Set(strangers.map(({ namespace }) => namespace))].toSorted();
  if (where.length === 0) {
    return { reason: "NotInstalled", message: `There is no anchor ${anchor}` };
  }
  const message = `There is no anchor ${anchor}, but another installation is in namespace ${where.join(", ")}`;
  return { reason: "OtherInstallation", message };
}

function oldest(times: readonly (string | null)[]): string | null {
  return times.filter((time) => time !== null).toSorted()[0] ?? null;
}
