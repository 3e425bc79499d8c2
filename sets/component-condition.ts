import type { Component } from "../api/component.ts";
import { conditionOf } from "../api/conditions.ts";
import { setAnnotations, setLabels } from "../api/fleet-set.ts";
import type { Condition } from "../api/kubernetes.ts";
import { ownReasonOf } from "../api/own-reason.ts";
import {
  type ConditionType,
  latenessWords,
  type ProcessReason,
  type Reason,
} from "../api/reasons.ts";

/** The state of a cluster to which a reason of its component leads. */
type Meaning = "Blocked" | "Unreachable" | "Failed" | "Updating";

/** By reason of a component: the state of its cluster. The compiler holds it to the catalogue of reasons. A process that ends leaves no condition. Spec: sets.md 6, 11. */
export const statesByReason: Readonly<Record<Exclude<Reason, ProcessReason>, Meaning>> = {
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
  ReleasePartNotFound: "Failed",
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
};

const meanings = new Map<string, Meaning>(Object.entries(statesByReason));

/** Whether a component with this reason needs a change of its spec or its cluster to become ready. */
export function isLastingFailure(reason: string): boolean {
  return ["Blocked", "Failed"].includes(meanings.get(reason) ?? "");
}

/** The types of conditions that report a lasting failure. */
export const failedTypes = [
  "InstallSucceeded",
  "TargetClusterResolved",
  "DeploymentsAvailable",
] as const;

/** The first of these conditions with a failure that does not go away by itself. Undefined without one. */
export function lastingFailureOf(
  conditions: readonly Omit<Condition, "lastTransitionTime">[],
): ComponentCondition | undefined {
  const status = { conditions };
  if (conditionOf(conditions, "VersionMigrationEligible")?.status === "False") {
    return componentCondition({ status }, "VersionMigrationEligible");
  }
  return failedTypes
    .map((type) => componentCondition({ status }, type))
    .find(
      (condition) =>
        condition.means === "Failed" || condition.means === "Blocked" || isLate(condition),
    );
}

/** Whether workloads have not progressed within their deadline. */
export function isLate({ status, message }: ComponentCondition): boolean {
  return status === "False" && latenessWords.some((words) => message.includes(words));
}

/** A condition of a component. */
export interface ComponentCondition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | undefined;
  /** Undefined when the condition is True or its reason is not ours. */
  readonly means: Meaning | undefined;
}

/** The condition of a type of a component; Unknown when the component lacks it. */
export function componentCondition(
  { status }: Pick<Component, "status">,
  type: ConditionType | "Ready",
): ComponentCondition {
  const condition = conditionOf(status?.conditions, type) ?? { type, status: "Unknown" };
  const { message = "", lastTransitionTime: since } = condition;
  const reason = ownReasonOf(condition, status?.conditions);
  const means = condition.status === "True" ? undefined : meanings.get(reason);
  return { status: condition.status, reason, message, since, means };
}

/** After a stamp, a component may still show the result of its earlier spec for this long. */
export const graceMs = 60_000;

/** True when a condition may describe the spec before the stamp: it is older than the stamp, and the stamp is less than a minute old. */
export function isStale(child: Component, { since }: ComponentCondition, now: number): boolean {
  const updatedAt = updatedAtOf(child, now);
  if (isObserved(child) && timeOf(since, now) >= updatedAt) return false;
  return now - updatedAt < graceMs;
}

/** True when the status describes the current spec of the component. */
export function isObserved({ status, metadata }: Component): boolean {
  return status?.observedGeneration === metadata.generation;
}

/** True when a component was stamped with a revision. */
export function hasRevision({ metadata }: Component, revision: string): boolean {
  return metadata.labels?.[setLabels.revision] === revision;
}

/** When a component was last stamped. A time in the future counts as now. */
export function updatedAtOf({ metadata }: Component, now: number): number {
  return timeOf(metadata.annotations?.[setAnnotations.updatedAt], now);
}

/** A time of Kubernetes in ms since the epoch. 0 when the time is missing. A time in the future or an invalid one counts as now. */
export function timeOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const time = Date.parse(text);
  return Number.isNaN(time) ? now : Math.min(time, now);
}
