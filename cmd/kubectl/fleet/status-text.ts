import { plainText } from "../../../api/foreign-text.ts";
import type { WorkloadState } from "../../../installation/readiness.ts";
import type { HubView } from "../hub/installations.ts";
import type { Looks } from "../main/report.ts";
import { conditionTone, type ConditionTone } from "../output/condition-tone.ts";
import type { TimeText } from "../output/duration.ts";
import { clusterNames, codedReason } from "../output/names.ts";
import {
  type Cell,
  cellText,
  fitTable,
  orNone,
  renderTable,
  type Table,
  type Tone,
} from "../output/table.ts";
import { wrapText } from "../output/text-width.ts";
import { countText, toldStates } from "../spokes/live-text.ts";
import type { LiveView } from "../spokes/live-view.ts";
import { shortWorkloadName } from "../spokes/workload-fact.ts";
import type { StatusDetail, StatusItem } from "./status-item.ts";
import type { Before } from "./status-since.ts";

const headers = [
  "NAMESPACE",
  "NAME",
  "KIND",
  "CLUSTER",
  "VERSION",
  "HUB",
  "LIVE",
  "REASON",
  "SINCE",
] as const;
const wideHeaders = [
  "CODE",
  "AGE",
  "INSTALLED IN",
  "SERVER",
  "PROVIDER",
  "KUBERNETES",
  "REPLICA",
  "MESSAGE",
] as const;

/** The fleet table, one row an installation; `wide` adds where the cluster is and what was said. */
export function statusTable(
  items: readonly StatusItem[],
  { isWide: wide, times: ages }: Pick<Looks, "isWide" | "times">,
): Table {
  const nameOf = clusterNames(items.map(({ cluster }) => cluster));
  const isCounted = items.some(({ workloads }) => workloads !== undefined);
  const counted = isCounted ? ["WORKLOADS"] : [];
  return {
    headers: wide ? [...headers, ...counted, ...wideHeaders] : headers,
    rows: items.map((item) => [
      item.namespace,
      item.name,
      item.kind,
      nameOf(item.cluster),
      orNone(item.version),
      hubCell(item.hub),
      liveCell(item.live),
      orNone(item.reason),
      ages(item.since),
      ...(wide && isCounted ? [workloadsCell(item.workloads)] : []),
      ...(wide ? wideCells(item, ages) : []),
    ]),
  };
}

/** `41/42`: how many of the workloads of users are ready. */
function workloadsCell(count: StatusItem["workloads"]): Cell {
  if (count === undefined || count === null) return "<unknown>";
  const { ready, all } = count;
  return { text: `${ready}/${all}`, tone: ready < all ? "warning" : "good" };
}

/** The same table with how each installation was before. */
export function withBefore(table: Table, items: readonly StatusItem[], before: Before): Table {
  const at = headers.length;
  return {
    ...table,
    headers: table.headers.toSpliced(at, 0, "WAS"),
    rows: items.map((item, line) =>
      (table.rows[line] ?? []).toSpliced(at, 0, wasText(before.was(item))),
    ),
  };
}

/** How an installation was in the bundle of `--since`. */
function wasText(item: StatusItem | undefined): string {
  if (item === undefined) return "<none>";
  const { hub, live, reason, code, version } = item;
  const spoke = live.state === "Skipped" ? [] : [cellText(liveCell(live))];
  const why = reason === null ? [] : [codedReason({ reason, code })];
  return [version ?? "<none>", hub.state, ...spoke, ...why].join(", ");
}

function wideCells(
  { code, createdAt, targetNamespace, live, replica, message }: StatusItem,
  ages: TimeText,
): readonly Cell[] {
  return [
    orNone(code),
    ages(createdAt),
    orNone(targetNamespace),
    orNone(live.server),
    orNone(live.provider),
    orNone(live.kubernetesVersion),
    replicaCell(replica),
    orNone(message),
  ];
}

function replicaCell(replica: StatusItem["replica"]): Cell {
  if (replica === null) return "<unknown>";
  return replica.name ?? { text: "<none>", tone: "warning" };
}

const hubTones = {
  Ready: "good",
  InProgress: "warning",
  NotReady: "bad",
  Unknown: "warning",
  Outdated: "warning",
  Deleting: "warning",
} as const satisfies Record<HubView["state"], Tone>;

function hubCell({ state, reason }: HubView): Cell {
  const isNoted = state === "Ready" && reason !== null;
  return { text: state, tone: isNoted ? "warning" : hubTones[state] };
}

/** The spoke's word in a cell: `Ready`, `2/9 not available`, `2/9 in progress`, `Unreachable` and so on; `Ready (feedback)` where works told it to the hub. */
function liveCell(live: LiveView): Cell {
  const { state, feedback } = live;
  if (state === "Skipped") return "<none>";
  if (state === "Unknown") return { text: "<unknown>", tone: "warning" };
  const tone = liveTones[state] ?? "bad";
  const isTold = feedback !== null && toldStates.includes(state);
  return { text: isTold ? `${state} (feedback)` : (countText(live) ?? state), tone };
}

const liveTones: Readonly<Partial<Record<LiveView["state"], Tone>>> = {
  Ready: "good",
  ScaledToZero: "warning",
  InProgress: "warning",
};

/** The blocks below the row of one installation: conditions, Deployments, anchor and Warning events. */
export function statusDetailText(
  item: StatusItem,
  detail: StatusDetail,
  { times: ages, paint, width }: Pick<Looks, "times" | "paint" | "width">,
): string {
  const blocks = [
    causeText(item, width),
    feedbackText(item, ages),
    block("Conditions", conditionsTable(detail, ages), { paint, width }),
    block("Deployments", deploymentsTable(detail), { paint, width }),
    `Anchor: ${anchorText(item, detail)}\n`,
    eventsText(detail, ages, { paint, width }),
  ];
  return blocks
    .filter((text) => text !== "")
    .map((text) => `\n${text}`)
    .join("");
}

/** The problem in the words of the wide table. */
function causeText({ reason, code, message }: StatusItem, width: number | undefined): string {
  if (reason === null) return "";
  const said = codedReason({ reason, code });
  const text = `Cause: ${plainText(message === null ? said : `${said}: ${message}`)}`;
  return `${wrapText(text, width, 2).join("\n")}\n`;
}

function block(
  title: string,
  table: Table,
  { paint, width }: Pick<Looks, "paint" | "width">,
): string {
  if (table.rows.length === 0) return "";
  const fitted = width === undefined ? table : fitTable(table, width - 2);
  const lines = renderTable(fitted, { headers: true, paint }).trimEnd().split("\n");
  return [`${title}:`, ...lines.map((line) => `  ${line}`)].map((line) => `${line}\n`).join("");
}

const tones: Readonly<Record<ConditionTone, Tone>> = {
  good: "good",
  progress: "warning",
  warning: "warning",
  bad: "bad",
};

function conditionsTable({ conditions }: StatusDetail, ages: TimeText): Table {
  return {
    headers: ["TYPE", "STATUS", "REASON", "CODE", "SINCE", "MESSAGE"],
    wraps: true,
    rows: conditions.map(({ type, status, reason, code, since, message }) => [
      type,
      { text: status, tone: tones[conditionTone({ type, status, code })] },
      orNone(reason),
      orNone(code),
      ages(since),
      orNone(message),
    ]),
  };
}

function deploymentsTable({ deployments, missing }: StatusDetail): Table {
  const present = (deployments ?? []).map((one) => {
    const { namespace, ready, desired, state, progress } = one;
    return [
      namespace,
      shortWorkloadName(one),
      { text: `${ready}/${desired}`, tone: workloadTones[state] },
      progress === "" ? "available" : progress,
    ];
  });
  const gone = missing.map((id) => {
    const [namespace = "", ...name] = id.split("/");
    const tone: Tone = "bad";
    return [namespace, name.join("/"), { text: "missing", tone }, "<none>"];
  });
  const rows = [...present, ...gone];
  const isTold = present.some(([, , , state]) => state !== "available");
  // Most installations have nothing to tell.
  return isTold
    ? { headers: ["NAMESPACE", "NAME", "READY", "STATE"], rows }
    : { headers: ["NAMESPACE", "NAME", "READY"], rows: rows.map((row) => row.slice(0, 3)) };
}

const workloadTones = {
  available: "good",
  scaledToZero: "warning",
  rollingOut: "warning",
  notAvailable: "bad",
} as const satisfies Record<WorkloadState, Tone>;

function anchorText({ cluster, live }: StatusItem, { anchor, deployments }: StatusDetail): string {
  if (cluster === null) return "<none> (the installation is on the hub itself)";
  if (deployments === null)
    return `<unknown> (${live.reason === null ? whyUnseen(live) : codedReason(live)})`;
  return anchor === null ? "<none>" : `ConfigMap ${anchor.namespace}/${anchor.name}`;
}

function whyUnseen({ feedback }: LiveView): string {
  return feedback === null ? "not looked at" : "PullOnly";
}

/** From whom the state of a pulled installation is, and how old it is at most. */
function feedbackText({ live: { feedback } }: StatusItem, ages: TimeText): string {
  if (feedback === null) return "";
  const age = feedback.heardAt === null ? "<unknown>" : ages(feedback.heardAt);
  return `Feedback: ManagedCluster ${plainText(feedback.cluster)}, last report ${age}\n`;
}

function eventsText(
  { events }: StatusDetail,
  ages: TimeText,
  looks: Pick<Looks, "paint" | "width">,
): string {
  if (events === null) return "Warning events: <unknown> (they could not be read)\n";
  const table = {
    headers: ["LAST SEEN", "COUNT", "REASON", "MESSAGE"],
    wraps: true,
    rows: events.map(({ time, count, reason, message }) => [
      ages(time),
      String(count),
      orNone(reason),
      orNone(message),
    ]),
  };
  return events.length === 0 ? "Warning events: <none>\n" : block("Warning events", table, looks);
}
