import type { Component } from "../api/component.ts";
import { conditionOf } from "../api/conditions.ts";
import { setAnnotations, setLabels } from "../api/fleet-set.ts";
import type { ConditionType, Reason } from "../api/reasons.ts";

/** What a reason of a component means for the rollout. */
type Meaning = "Blocked" | "Unreachable" | "Failed" | "Updating";

/** What a reason of a component means for the rollout. A test holds it to the catalogue of reasons. Spec: sets.md 6, 11. */
export const statesByReason: Readonly<Record<Reason, Meaning>> = {
  ClusterProfileNotFound: "Unreachable",
  ClusterProfileNotReady: "Unreachable",
  ClusterProfileUnavailable: "Updating",
  AccessProviderNotConfigured: "Updating",
  MulticlusterDisabled: "Updating",
  AccessProviderFailed: "Updating",
  RemoteClientCreationFailed: "Unreachable",
  SpokeUnreachable: "Unreachable",
  RemoteClusterStale: "Updating",
  ClusterProviderClosed: "Updating",
  ReferenceNotPermitted: "Failed",
  VersionNotEligible: "Blocked",
  ReleaseNotFound: "Failed",
  ManifestInvalid: "Failed",
  ManifestSourceNotAllowed: "Failed",
  ManifestSourceUnavailable: "Updating",
  KubernetesVersionTooOld: "Failed",
  ApplyFailed: "Updating",
  AnchorConflict: "Failed",
  AnchorUnprotected: "Updating",
  DuplicateComponent: "Blocked",
  ClusterBusy: "Updating",
  DeploymentsNotReady: "Updating",
  ConfigInvalid: "Updating",
};

/** The same for the text of any reason. */
const meanings = new Map<string, Meaning>(Object.entries(statesByReason));

/**
 * Conditions have the reason `Error` for ReleaseNotFound, ManifestInvalid and ApplyFailed, as upstream's have. Only the first two are final. These texts belong
 * to them alone: an ApplyFailed begins with the name of a cluster or of an object. Other failures with this reason count when the deadline is over.
 */
const finalErrors: readonly (readonly [Reason, RegExp])[] = [
  ["ReleaseNotFound", /^the manifests of the target version \S+ are not available to this release/],
  ["ReleaseNotFound", /^The release directory holds no /],
  ["ManifestInvalid", /^the version of the manifests \S+ of the component /],
  ["ManifestInvalid", /^(?:spec\.[\w-]|patch \d+ target )/],
];
const errorPrefix = "Install failed with message: ";

/** A condition of a component. */
export interface Said {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | undefined;
  /** Undefined: the condition is True, or its reason is none of ours. */
  readonly means: Meaning | undefined;
}

/** What a component says in the condition of a type. */
export function saidBy({ status }: Component, type: ConditionType | "Ready"): Said {
  const said = conditionOf(status?.conditions, type) ?? { type, status: "Unknown" };
  const { message = "", lastTransitionTime: since } = said;
  const reason = finerReason(said.reason ?? "", message);
  const means = said.status === "True" ? undefined : meanings.get(reason);
  return { status: said.status, reason, message, since, means };
}

function finerReason(reason: string, message: string): string {
  if (reason !== "Error" || !message.startsWith(errorPrefix)) return reason;
  const text = message.slice(errorPrefix.length);
  return finalErrors.find(([, pattern]) => pattern.test(text))?.[0] ?? reason;
}

/** A component may still show the result of the spec before for this long after a stamp. */
export const graceMs = 60_000;

/** Whether a condition may describe the spec before the stamp. It counts when it is newer than the stamp, or when the stamp is a minute old. */
export function isStale(child: Component, { since }: Said, now: number): boolean {
  const updatedAt = updatedAtOf(child, now);
  if (isObserved(child) && timeOf(since, now) >= updatedAt) return false;
  return now - updatedAt < graceMs;
}

/** Whether the status is about the spec that the component has now. */
export function isObserved({ status, metadata }: Component): boolean {
  return status?.observedGeneration === metadata.generation;
}

/** Whether a component was stamped with a revision. */
export function hasRevision({ metadata }: Component, revision: string): boolean {
  return metadata.labels?.[setLabels.revision] === revision;
}

/** When the last revision was stamped on a component; a time in the future is now. */
export function updatedAtOf({ metadata }: Component, now: number): number {
  return timeOf(metadata.annotations?.[setAnnotations.updatedAt], now);
}

/** Ms of a time of Kubernetes: 0 for none, now for the future and for what is no time. */
export function timeOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const time = Date.parse(text);
  return Number.isNaN(time) ? now : Math.min(time, now);
}
