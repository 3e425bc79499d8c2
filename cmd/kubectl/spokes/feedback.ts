import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { timeoutError, TurnWaits } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { conditionOf } from "../../../api/conditions.ts";
import { managedClusterOf } from "../../../api/delivery.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { type Reason, reasons, rollingOut, scaledToZero } from "../../../api/reasons.ts";
import { knownResource } from "../../../api/resources.ts";
import { judge } from "../../../controller/pull/judge.ts";
import type { ReportedStatus } from "../../../controller/status/outcome.ts";
import { readWorks } from "../hub/works.ts";
import { conditionCode, isUnderWay } from "../output/condition-code.ts";
import { knfOfReason } from "../output/knf-of.ts";
import { stringAt } from "../selection/fields.ts";
import type { ToldView } from "./spoke-facts.ts";
import { ifDenied, unreadBecause } from "./spoke-reading.ts";

/** Name of the Lease that the agent of Open Cluster Management renews in the namespace of its cluster. */
const heartbeat = "managed-cluster-lease";

/** What works tell the hub of a pulled component: three requests to the hub, and none to the spoke. Never rejects but for a bug. */
export async function readFeedback(
  component: Component,
  { hub, timeoutMs }: { readonly hub: KubeClient; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<ToldView> {
  const cluster = managedClusterOf(component) ?? "";
  using limit = new TurnWaits(systemClock).limit(signal, { ms: timeoutMs, reason: timeoutError() });
  try {
    return await askHub(component, { hub, cluster }, limit.signal);
  } catch (error) {
    const { state, reason, message } = unreadBecause(
      limit.signal.aborted ? timeoutError() : error,
      timeoutMs,
    );
    return { state, reason, message, feedback: { cluster, heardAt: null } };
  }
}

async function askHub(
  component: Component,
  { hub, cluster }: { readonly hub: KubeClient; readonly cluster: string },
  signal: AbortSignal,
): Promise<ToldView> {
  const resource = knownResource("coordination.k8s.io/v1", "Lease");
  const [works, lease] = await Promise.all([
    readWorks(component, hub, signal),
    hub.get({ resource, namespace: cluster, name: heartbeat }, {}, signal).catch(ifDenied),
  ]);
  const told = judge(works);
  const feedback = { cluster, heardAt: stringAt(lease, "spec", "renewTime") };
  if (!(told instanceof FleetError)) return { ...toldViewOf(told), feedback };
  const { state, reason, message } = unreadBecause(told, 0);
  return { state, reason, message, feedback };
}

/** What has to be true of a healthy installation, in the order of an install, and the state without it. */
const needed = [
  ["VersionMigrationEligible", "NotInstalled"],
  ["InstallSucceeded", "NotInstalled"],
  ["DeploymentsAvailable", "NotAvailable"],
  ["DependenciesInstalled", "NotAvailable"],
] as const;

/** The state of an installation by what the controller on its spoke tells. */
export function toldViewOf({ conditions }: ReportedStatus): Omit<ToldView, "feedback"> {
  for (const [type, state] of needed) {
    const condition = conditionOf(conditions, type);
    if (condition?.status !== "True") return lackingView(condition, state, conditions);
  }
  const available = conditionOf(conditions, "DeploymentsAvailable");
  return available?.reason === scaledToZero
    ? { state: "ScaledToZero", reason: scaledToZero, message: available.message ?? null }
    : { state: "Ready", reason: null, message: null };
}

/** The state without a condition that is needed. */
function lackingView(
  condition: Condition | undefined,
  state: (typeof needed)[number][1],
  conditions: ReportedStatus["conditions"],
): Omit<ToldView, "feedback"> {
  const message = condition?.message ?? null;
  if (condition !== undefined && isUnderWay(condition)) {
    return { state: "InProgress", reason: rollingOut, message };
  }
  const fallback = state === "NotInstalled" ? "NotInstalled" : "DeploymentsNotReady";
  const reason = condition === undefined ? undefined : reasonOf(condition, conditions);
  return { state, reason: reason ?? fallback, message };
}

/** Our reason of a condition, which has a word of upstream's where the controller writes as upstream does. */
function reasonOf(
  condition: Condition,
  conditions: ReportedStatus["conditions"],
): Reason | undefined {
  const { reason = "" } = condition;
  if (isReason(reason)) return reason;
  const code = conditionCode(condition, conditions);
  return Object.keys(reasons)
    .filter(isReason)
    .find((one) => knfOfReason[one] === code);
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}
