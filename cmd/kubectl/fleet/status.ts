import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { byText } from "../../../api/fields.ts";
import { targetId } from "../../../api/keys.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import {
  type ControllerFacts,
  type ControllerView,
  controllerViewOf,
  type JudgedAt,
  readControllerFacts,
} from "../hub/controller-view.ts";
import { isReason, listInstallations } from "../hub/installations.ts";
import { servedBy } from "../hub/replicas.ts";
import { type SetItem, setItemOf, setsBeside } from "../hub/set-view.ts";
import { warningsOf } from "../hub/warnings.ts";
import type { FailOn } from "../main/command-flags.ts";
import {
  notFoundErrors,
  type ReportDocument,
  type ReportError,
  reportOf,
  stampAt,
  type ReportStamp,
} from "../output/report.ts";
import { missingNames, type Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { readClusters, type Readings, type ReadLimits } from "../spokes/read-clusters.ts";
import type { SpokeReading } from "../spokes/spoke-facts.ts";
import {
  isUnread,
  statusDetailOf,
  type StatusItem,
  statusItemOf,
  worstFirst,
} from "./status-item.ts";
import { wantedSets, wantedSetTitle, type WantedSet } from "./status-sets.ts";
import type { WorkloadCounts } from "./status-workloads.ts";

export interface StatusOptions {
  readonly selection: Selection;
  /** The fleet sets that are of interest, too: all of the namespace, or one; absent: none. */
  readonly sets?: "all" | WantedSet;
  /** False: the hub's view only. */
  readonly live: boolean;
  readonly limits: ReadLimits;
  /** Also counts the workloads of users, which are many objects. */
  readonly workloads?: boolean;
  /** Also whether the controller works, and which replica serves each cluster, if that may be read. */
  readonly replicas?: JudgedAt;
  /** Which of the selected are of interest; absent: all. */
  readonly keep?: (component: Component, known: Known) => boolean;
}

/** Facts about one installation. */
export interface Known {
  readonly item: StatusItem;
  /** Undefined: its cluster was not to be read. */
  readonly reading: SpokeReading | undefined;
}

/** Causes that several installations may share. */
interface Cause {
  readonly reason: string;
  readonly code: KnfCode | null;
  /** Null: the hub itself, or a cluster that was not reached. */
  readonly provider: string | null;
}

interface StatusSummary {
  readonly total: number;
  readonly healthy: number;
  readonly inProgress: number;
  readonly warnings: number;
  readonly errors: number;
  /** Installations whose cluster was to be read and could not. */
  readonly unread: number;
  /** How often each reason occurs among the unhealthy of one access provider, most frequent first. */
  readonly causes: readonly (Cause & { readonly count: number })[];
}

export type FleetStatus = ReportDocument<"FleetStatus", StatusSummary, StatusItem> & {
  /** Null: they were not asked for, or may not be read. */
  readonly sets: readonly SetItem[] | null;
  /** Whether the controller works; null: it was not asked for, or is not known. */
  readonly controller: ControllerView | null;
};

export interface StatusDeps {
  readonly access: ClusterAccess;
  readonly now: () => Date;
}

/**
 * The state of the selected installations, worst first: the hub's view and, with `live`, what the target clusters say.
 * Throws only when the hub cannot be read. An abort while clusters are being read gives an incomplete report.
 */
export async function status(
  options: StatusOptions,
  { access, now }: StatusDeps,
  signal: AbortSignal,
): Promise<FleetStatus> {
  const { selection, sets, replicas, keep = () => true } = options;
  const wanted = sets === "all" ? undefined : sets;
  const [components, beside, working] = await Promise.all([
    listInstallations(access, selection, signal),
    sets === undefined ? null : setsBeside(access, selection, signal),
    replicas === undefined ? undefined : readWorking(access, replicas, signal),
  ]);
  const ownSets = beside === null ? null : wantedSets(beside, wanted);
  const { readings, counts } = await readLive(components, { ...options, access }, signal);
  const readAt = now();
  const items = components.map((component) => {
    const item = statusItemOf(component, readings.get(targetId(component)), readAt);
    return withReplica({ ...item, ...counts?.of(component) }, working);
  });
  const found = items.map(({ kind, namespace, name }) => ({ kind, namespace, name }));
  const detailed = await withDetail(items, { components, readings, selection, access }, signal);
  const kept = detailed.filter((item, at) => {
    const component = components[at];
    if (component === undefined) return false;
    return keep(component, { item, reading: readings.get(targetId(component)) });
  });
  const asked = kept.filter((item) => isAsked(item, selection));
  const missing = [
    ...missingNames(selection, found),
    ...(wanted !== undefined && ownSets?.length === 0 ? [wantedSetTitle(wanted)] : []),
  ];
  const report = fleetStatusOf(asked, missing, stampAt(now()));
  const shown = ownSets?.map(setItemOf) ?? null;
  return { ...report, sets: shown, controller: controllerOf(working, detailed, shown) };
}

interface Live {
  readonly readings: Readings;
  /** Absent: workloads were not asked for. */
  readonly counts?: WorkloadCounts;
}

/** Reads the clusters of components; none without `live`. */
async function readLive(
  components: readonly Component[],
  { live, limits, workloads, access }: StatusOptions & Pick<StatusDeps, "access">,
  signal: AbortSignal,
): Promise<Live> {
  if (!live) return { readings: new Map() };
  if (workloads !== true) {
    return { readings: await readClusters(components, { access, limits }, signal) };
  }
  const { WorkloadCounts: Counts } = await import("./status-workloads.ts");
  const counts = new Counts(limits.spokeTimeoutMs);
  const deps = { access, limits, beside: counts.read };
  return { readings: await readClusters(components, deps, signal), counts };
}

async function readWorking(
  { hub, hubTimeoutMs }: ClusterAccess,
  at: JudgedAt,
  signal: AbortSignal,
): Promise<ControllerFacts | undefined> {
  return await readControllerFacts(hub, at, withTimeout(systemClock, hubTimeoutMs, signal));
}

/**
 * Whether the controller works for these installations and sets, also for those that `--failed` and the like leave out; without any, for the whole fleet. Null:
 * it is not known.
 */
export function controllerOf(
  facts: ControllerFacts | undefined,
  items: readonly StatusItem[],
  sets: FleetStatus["sets"],
): ControllerView | null {
  if (facts === undefined) return null;
  const hasSets = sets !== null && sets.length > 0;
  return controllerViewOf(facts, { clusters: items.map(({ cluster }) => cluster), hasSets });
}

function withReplica(item: StatusItem, facts: ControllerFacts | undefined): StatusItem {
  const serving = facts?.serving;
  return serving === undefined ? item : { ...item, replica: servedBy(item.cluster, serving) };
}

interface DetailContext extends Pick<StatusDeps, "access"> {
  readonly components: readonly Component[];
  readonly readings: Readings;
  readonly selection: Selection;
}

/** One installation that was asked for by its name comes with all that is known of it. */
async function withDetail(
  items: readonly StatusItem[],
  { components, readings, selection, access }: DetailContext,
  signal: AbortSignal,
): Promise<readonly StatusItem[]> {
  const [item] = items;
  const [component] = components;
  const isOne = items.length === 1 && selection.names.length === 1;
  if (!isOne || item === undefined || component === undefined) return items;
  const events = await warningsOf(component, access, signal);
  const reading = readings.get(targetId(component));
  return [{ ...item, detail: statusDetailOf(component, reading, events) }];
}

/** Whether a row passes `--failed` and `--reason`, judged by hub and cluster. */
export function isAsked(item: StatusItem, { failed, reason }: Selection): boolean {
  if (failed === true && ["ok", "progress"].includes(item.severity)) return false;
  const said = [item, item.hub, item.live];
  return reason === undefined || said.some((each) => isReason(reason, each));
}

/** The document for a list of rows and the names that were asked for and not found, without sets. */
export function fleetStatusOf(
  items: readonly StatusItem[],
  missing: readonly string[],
  stamp: ReportStamp,
): FleetStatus {
  const unread = items.filter(isUnread);
  const notFound = notFoundErrors(missing);
  const report = reportOf("FleetStatus", stamp, {
    complete: unread.length === 0,
    summary: summaryOf(items),
    items: worstFirst(items),
    errors: [...notFound, ...errorsOf(unread)],
  });
  return { ...report, sets: null, controller: null };
}

function summaryOf(items: readonly StatusItem[]): StatusSummary {
  const bad = items.filter(({ severity }) => severity === "error");
  const byCause = Map.groupBy(bad, (item) => keyOf(causeOf(item)));
  const causes = [...byCause.values()]
    .flatMap(([first, ...more]) =>
      first === undefined ? [] : [{ ...causeOf(first), count: more.length + 1 }],
    )
    .toSorted((a, b) => b.count - a.count || (keyOf(a) < keyOf(b) ? -1 : 1));
  return {
    total: items.length,
    healthy: items.filter(({ severity }) => severity === "ok").length,
    inProgress: items.filter(({ severity }) => severity === "progress").length,
    warnings: items.filter(({ severity }) => severity === "warning").length,
    errors: bad.length,
    unread: items.filter(isUnread).length,
    causes,
  };
}

function causeOf({ reason, code, live: { provider } }: StatusItem): Cause {
  return { reason: reason ?? "Unknown", code, provider };
}

function keyOf({ reason, code, provider }: Cause): string {
  return JSON.stringify([reason, code, provider]);
}

/** Whether an unhealthy installation has this cause. */
export function isOfCause(item: StatusItem, cause: Cause): boolean {
  return item.severity === "error" && keyOf(causeOf(item)) === keyOf(cause);
}

function errorsOf(unread: readonly StatusItem[]): readonly ReportError[] {
  const errors = unread.flatMap(({ cluster, live }) => {
    if (live.reason === null) return [];
    const id = cluster === null ? null : `${cluster.namespace}/${cluster.name}`;
    return [{ reason: live.reason, message: live.message ?? "", cluster: id }];
  });
  const byCluster = new Map(errors.map((error) => [error.cluster, error]));
  return [...byCluster.values()].toSorted(byText(({ cluster }) => cluster ?? ""));
}

/** The exit code that a status stands for. */
export function statusExitCode(report: FleetStatus, failOn: FailOn): ExitCode {
  const { errors, warnings, inProgress } = report.summary;
  const notFound = report.errors.some(({ reason }) => reason === "NotFound");
  // What nobody looks after is not well, whatever was said of it last.
  const idle = report.controller?.works === false ? 1 : 0;
  const counted = {
    error: errors + idle,
    warning: errors + warnings + inProgress + idle,
    never: 0,
  }[failOn];
  if (notFound || counted > 0) return exitCodes.unhealthy;
  return report.complete || failOn === "never" ? exitCodes.fine : exitCodes.incomplete;
}
