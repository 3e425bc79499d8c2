import type { HubView } from "../../hub/hub-view.ts";
import type { TimeText } from "../../output/age.ts";
import { clusterNames } from "../../output/cluster-name.ts";
import { codedReason } from "../../output/coded-reason.ts";
import type { LiveView } from "../../output/live-view.ts";
import { cellText, orNone, type Cell, type Table, type Tone } from "../../output/table.ts";
import type { StatusItem } from "./status-item.ts";
import type { Before } from "./status-since.ts";
import type { FleetStatus } from "./status.ts";

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
  "MESSAGE",
] as const;

/** The fleet table, one row an installation; `wide` adds where the cluster is and what was said. */
export function statusTable(report: FleetStatus, wide: boolean, ages: TimeText): Table {
  const nameOf = clusterNames(report.items.map(({ cluster }) => cluster));
  return {
    headers: wide ? [...headers, ...wideHeaders] : headers,
    rows: report.items.map((item) => [
      item.namespace,
      item.name,
      item.kind,
      nameOf(item.cluster),
      orNone(item.version),
      hubCell(item.hub),
      liveCell(item.live),
      orNone(item.reason),
      ages(item.since),
      ...(wide ? wideCells(item, ages) : []),
    ]),
  };
}

/** The same table with how each installation was before. */
export function withBefore(table: Table, { items }: FleetStatus, before: Before): Table {
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
  { code, createdAt, targetNamespace, live, message }: StatusItem,
  ages: TimeText,
): readonly Cell[] {
  return [
    orNone(code),
    ages(createdAt),
    orNone(targetNamespace),
    orNone(live.server),
    orNone(live.provider),
    orNone(live.kubernetesVersion),
    orNone(message),
  ];
}

const hubTones = {
  Ready: "good",
  NotReady: "bad",
  Unknown: "warning",
  Outdated: "warning",
  Deleting: "warning",
} as const satisfies Record<HubView["state"], Tone>;

function hubCell({ state }: HubView): Cell {
  return { text: state, tone: hubTones[state] };
}

/** The spoke's word in a cell: `Ready`, `2/9 not available`, `Unreachable` and so on. */
function liveCell({ state, deployments, notAvailable, missing }: LiveView): Cell {
  if (state === "Skipped") return "<none>";
  if (state === "Unknown") return { text: "<unknown>", tone: "warning" };
  if (state === "Ready") return { text: state, tone: "good" };
  if (state !== "NotAvailable") return { text: state, tone: "bad" };
  const total = (deployments ?? 0) + missing.length;
  const text =
    notAvailable.length === 0
      ? `${missing.length}/${total} missing`
      : `${notAvailable.length + missing.length}/${total} not available`;
  return { text, tone: "bad" };
}
