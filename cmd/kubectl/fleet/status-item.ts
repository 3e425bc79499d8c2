import type { Component } from "../../../api/component.ts";
import { byText } from "../../../api/fields.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import {
  possibleNamespaces,
  recordedNamespace,
} from "../../../installation/installation-namespace.ts";
import type { WorkloadState } from "../../../installation/readiness.ts";
import { type WorkloadKind } from "../../../installation/workload-facts.ts";
import type { EventFact } from "../hub/event-fact.ts";
import {
  type HubView,
  hubViewOf,
  type InstallationRow,
  installationRow,
  isTooLong,
} from "../hub/installations.ts";
import type { ServedBy } from "../hub/replicas.ts";
import { conditionCode } from "../output/condition-code.ts";
import { knfOf } from "../output/knf-of.ts";
import { nameKey } from "../output/names.ts";
import {
  anchorOf,
  workloadsOf,
  type LiveView,
  liveViewOf,
  missingWorkloads,
} from "../spokes/live-view.ts";
import type { SpokeReading } from "../spokes/spoke-facts.ts";
import { workloadId } from "../spokes/workload-fact.ts";
import type { WorkloadCount } from "./status-workloads.ts";

/** Severity of an installation; `--fail-on` compares with it. `progress`: it changes, within its deadline. */
type Severity = "ok" | "progress" | "warning" | "error";

/** One installation: the hub's view, the cluster's view, and the verdict. */
export interface StatusItem extends InstallationRow {
  readonly createdAt: string | null;
  /** Namespace of its cluster in which it is installed, or is to be: as the hub says, else as it was found there. */
  readonly targetNamespace: string | null;
  readonly severity: Severity;
  /** Why it is not healthy; the hub's word before the live one. */
  readonly reason: string | null;
  /** Its number, for `explain` and for scripts; null where nothing is wrong, and for words of other programs. */
  readonly code: KnfCode | null;
  readonly message: string | null;
  /** Since when it is so. */
  readonly since: string | null;
  readonly hub: HubView;
  readonly live: LiveView;
  /** More about it when it alone was asked for by name, else null. */
  readonly detail: StatusDetail | null;
  /** The shard of the cluster, and the replica of the controller that serves it; null: not known, or not asked for. */
  readonly replica: ServedBy | null;
  /** The workloads of its users, for -o wide; null: they could not be read. Absent: not asked for, as in documents. */
  readonly workloads?: WorkloadCount | null;
}

/** The row of one component, from what was read of its hub object and its cluster. Without `now` nothing takes too long. */
export function statusItemOf(
  component: Component,
  reading: SpokeReading | undefined,
  now?: Date,
): StatusItem {
  const hub = hubViewOf(component, now);
  const live = liveViewOf(component, reading);
  return {
    ...installationRow(component),
    createdAt: component.metadata.creationTimestamp ?? null,
    targetNamespace: targetNamespaceOf(component, live),
    severity: severityOf(hub, live, now),
    ...causeOf(hub, live),
    hub,
    live,
    detail: null,
    replica: null,
  };
}

function targetNamespaceOf(component: Component, { namespace }: LiveView): string | null {
  const [only, ...others] = possibleNamespaces(component);
  if (only !== undefined && others.length === 0) return only;
  return recordedNamespace(component) ?? namespace;
}

/** The hub's word where the hub says that something is wrong, else that of the cluster. */
function causeOf(
  hub: HubView,
  live: LiveView,
): Pick<StatusItem, "reason" | "code" | "message" | "since"> {
  const isLive = hub.state === "Ready" && !["Skipped", "Ready"].includes(live.state);
  const { reason, code, message, since } = isLive ? live : hub;
  return {
    reason: reason ?? live.reason,
    code: reason === null ? live.code : code,
    message: message ?? live.message,
    since,
  };
}

function severityOf(hub: HubView, live: LiveView, now: Date | undefined): Severity {
  const state = severityOfLive(live);
  if (hub.state === "Deleting") return isTooLong(hub.since, now) ? "warning" : "progress";
  if (hub.state === "Ready") return state === "ok" && hub.reason !== null ? "warning" : state;
  if (hub.state === "InProgress") return isBroken(live) ? "error" : "progress";
  // Upstream's operator has no word for a rollout.
  return hub.code === knfOf("DeploymentsNotReady") && state === "progress" ? "progress" : "error";
}

function severityOfLive({ state }: LiveView): Severity {
  if (state === "Ready" || state === "Skipped" || state === "Unknown") return "ok";
  if (state === "InProgress") return "progress";
  return state === "ScaledToZero" ? "warning" : "error";
}

/** Whether a cluster shows a fault, and not only that something is not there yet. */
function isBroken(live: LiveView): boolean {
  const isComing = live.reason === "DeploymentsMissing" || live.state === "NotInstalled";
  return severityOfLive(live) === "error" && !isComing;
}

/** Whether the target cluster was to be read and could not. */
export function isUnread({ live: { state } }: StatusItem): boolean {
  return ["Unreachable", "Denied", "NoAccess", "Unknown"].includes(state);
}

const ranks = { error: 0, warning: 1, progress: 2, ok: 3 } as const;

/** Worst first, then by namespace, name and kind; stable between runs. */
export function worstFirst(items: readonly StatusItem[]): readonly StatusItem[] {
  return items.toSorted(byText((item) => `${ranks[item.severity]}\u0000${nameKey(item)}`));
}

/** Details of one installation beyond its row. */
export interface StatusDetail {
  /** Ready first, then by type. */
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string | null;
    /** KNF number; null for a good condition. */
    readonly code: KnfCode | null;
    readonly message: string | null;
    readonly since: string | null;
  }[];
  /** Null when the cluster was not read. */
  readonly deployments:
    | readonly {
        readonly kind: WorkloadKind;
        readonly namespace: string;
        readonly name: string;
        readonly available: boolean;
        readonly state: WorkloadState;
        /** Why it is not available, such as `0 of 1 pods available`; empty when it is. */
        readonly progress: string;
        readonly ready: number;
        readonly desired: number;
      }[]
    | null;
  /** `namespace/name` of Deployments that should be there and are not, `namespace/statefulset/name` of StatefulSets. */
  readonly missing: readonly string[];
  /** The anchor of the installation; null when there is none, or it was not read. */
  readonly anchor: { readonly namespace: string; readonly name: string } | null;
  /** Last Warning events of the component on the hub, newest last; null when they could not be read. */
  readonly events: readonly EventFact[] | null;
}

/** The detail of one component from its hub object, what was read of its cluster, and its Events. */
export function statusDetailOf(
  component: Component,
  reading: SpokeReading | undefined,
  events: readonly EventFact[] | null,
): StatusDetail {
  const facts = reading?.kind === "read" ? reading.facts : undefined;
  const anchor = facts === undefined ? undefined : anchorOf(component, facts);
  return {
    conditions: (component.status?.conditions ?? [])
      .map((condition) => ({
        type: condition.type,
        status: condition.status,
        reason: condition.reason ?? null,
        code: conditionCode(condition, component.status?.conditions),
        message: condition.message ?? null,
        since: condition.lastTransitionTime ?? null,
      }))
      .toSorted(byText(({ type }) => orderOf(type))),
    deployments:
      facts === undefined
        ? null
        : workloadsOf(component, facts).map(
            ({ kind, namespace, name, available, state, progress, ready, desired }) => ({
              kind,
              namespace,
              name,
              available,
              state,
              progress,
              ready,
              desired,
            }),
          ),
    missing: facts === undefined ? [] : missingWorkloads(component, facts).map(workloadId),
    anchor: anchor === undefined ? null : { namespace: anchor.namespace, name: anchor.name },
    events,
  };
}

function orderOf(type: string): string {
  return type === "Ready" ? "" : type;
}
