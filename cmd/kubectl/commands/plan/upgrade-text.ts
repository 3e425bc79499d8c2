import { plainText } from "../../../../api/foreign-text.ts";
import type { PlanItem } from "../../compare/plan-item.ts";
import type { Upgrade } from "../../compare/upgrade.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { clusterNames, codedReason, nameOf, shortNameOf } from "../../output/names.ts";
import { countOf } from "../../output/notes.ts";
import { codedError, type ReportError } from "../../output/report.ts";
import { type Commands, stepLine, words } from "../../output/steps.ts";
import { type Cell, orNone, type Table } from "../../output/table.ts";
import type { Planned } from "./plan.ts";

const unknown: Cell = { text: "<unknown>", tone: "warning" };

const headers = [
  "CLUSTER",
  "NAMESPACE",
  "COMPONENT",
  "HOPS",
  "KUBERNETES",
  "RIGHTS",
  "STORED",
  "RESTARTS",
  "SET",
  "STAGE",
  "MESSAGE",
];

/** The plan of an upgrade as it is printed: counts below the table, clusters that could not be read, and the next steps. */
export function upgradeReport(
  planned: Planned,
  version: string,
  { commands }: Pick<Fleet, "commands">,
): Report<PlanItem> {
  const { blocked, components, pods } = planned.summary;
  return {
    ...planned,
    tables: ({ isWide }, items) => [upgradeTable(items, planned.errors, isWide)],
    name: ({ installation }) => nameOf(installation),
    notes: (items) => {
      const upgrading = items.filter(({ upgrade }) => upgrade?.hops?.length !== 0).length;
      return [
        ...(components === 0 ? ["No matching Knative installations found."] : []),
        `${upgrading} of ${countOf(components, "component")} would get another version; ${countOf(pods, "pod")} would restart.`,
        ...(blocked === 0
          ? []
          : [
              `${blocked} of ${countOf(components, "component")} could not be upgraded:`,
              ...refusalLines(items),
            ]),
        ...warningLines(items),
        "Nothing was changed.",
      ];
    },
    next: (items) => stepsOf(items, version, commands),
  };
}

/** One row for each component: its way to the version, and what its cluster says about the version. In wide output with the workloads that restart, and whole sentences. */
function upgradeTable(
  items: readonly PlanItem[],
  errors: readonly ReportError[],
  wide: boolean,
): Table {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  return {
    headers,
    mayShorten: ["MESSAGE"],
    rows: items.flatMap((item): Cell[][] => {
      const { installation, cluster, upgrade } = item;
      if (upgrade === null) return [];
      const { set } = upgrade;
      return [
        [
          clusterOf(cluster),
          installation.namespace,
          shortNameOf(installation),
          hopsCell(item, upgrade),
          kubernetesCell(upgrade),
          rightsCell(upgrade),
          storedCell(upgrade),
          restartsCell(item, wide),
          set === null ? "<none>" : shortNameOf(set),
          orNone(set?.stage),
          messageCell(item, { upgrade, errors, wide }),
        ],
      ];
    }),
  };
}

function hopsCell({ version }: PlanItem, { hops, refusals }: Upgrade): Cell {
  const way = [version.installed ?? "none", ...(hops ?? ["?"])].join(" > ");
  const isRefused = refusals.some(({ reason }) =>
    ["VersionNotEligible", "ReleaseNotFound"].includes(reason),
  );
  return isRefused ? { text: way, tone: "bad" } : way;
}

function kubernetesCell({ kubernetes: { cluster, minimum }, refusals }: Upgrade): Cell {
  if (cluster === null) return unknown;
  const isTooOld = refusals.some(({ reason }) => reason === "KubernetesVersionTooOld");
  return isTooOld ? { text: `${cluster} < ${minimum}`, tone: "bad" } : cluster;
}

function rightsCell({ rights }: Upgrade): Cell {
  if (rights === null) return unknown;
  const { missing } = rights;
  if (missing.length === 0) return { text: "all", tone: "good" };
  const verbs = missing.reduce((sum, one) => sum + one.verbs.length, 0);
  const isNeeded = missing.some(({ purpose }) => purpose === "install");
  return { text: `${verbs} missing`, tone: isNeeded ? "bad" : "warning" };
}

function storedCell({ storedVersions }: Upgrade): Cell {
  if (storedVersions === null) return unknown;
  if (storedVersions.length === 0) return { text: "fine", tone: "good" };
  const dropped = storedVersions.filter((one) => one.dropped.length > 0).length;
  if (dropped > 0) return { text: `${dropped} refused`, tone: "bad" };
  return { text: `${storedVersions.length} old`, tone: "warning" };
}

function restartsOf({ changes }: PlanItem) {
  return (changes ?? []).filter(({ pods }) => pods > 0);
}

function restartsCell(item: PlanItem, wide: boolean): Cell {
  if (item.changes === null) return unknown;
  const all = restartsOf(item);
  if (all.length === 0) return "<none>";
  const pods = all.reduce((sum, one) => sum + one.pods, 0);
  const names = wide ? `: ${all.map(({ object }) => object.name).join(",")}` : "";
  return `${countOf(pods, "pod")}${names}`;
}

interface Saying {
  readonly upgrade: Upgrade;
  readonly errors: readonly ReportError[];
  readonly wide: boolean;
}

/** The first thing in the way; else why the cluster is not known, or what is worth knowing. */
function messageCell(item: PlanItem, { upgrade, errors, wide }: Saying): Cell {
  const [first, ...others] = upgrade.refusals;
  const said = wide ? sentenceOf : codedReason;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  if (first !== undefined) return { text: said(first) + more, tone: "bad" };
  const refused = item.changes?.find(({ action }) => action === "refused");
  if (refused !== undefined) return { text: refused.message ?? "refused", tone: "bad" };
  const unread = unreadError(item, errors);
  if (unread !== undefined) return { text: said(codedError(unread)), tone: "warning" };
  return upgrade.hops?.length === 0 ? "installed already" : setText(upgrade, wide);
}

function unreadError({ cluster, changes }: PlanItem, errors: readonly ReportError[]) {
  if (changes !== null) return undefined;
  const id = cluster === null ? null : `${cluster.namespace}/${cluster.name}`;
  return errors.find((error) => error.cluster === id);
}

/** What the rollout of the set would do, where it does not just write the version. */
function setText({ set }: Upgrade, wide: boolean): string {
  if (set === null || set.message === null) return "<none>";
  const { action, message } = set;
  return wide ? `${action ?? "unknown"}: ${message}` : (action ?? "unknown");
}

function sentenceOf(said: Upgrade["refusals"][number]): string {
  return `${codedReason(said)}: ${said.message}`;
}

const shownLines = 10;

/** One line for each thing that stands in the way. */
function refusalLines(items: readonly PlanItem[]): readonly string[] {
  return linesOf(items, ({ upgrade }) => (upgrade?.refusals ?? []).map(sentenceOf));
}

function warningLines(items: readonly PlanItem[]): readonly string[] {
  const lines = linesOf(items, ({ warnings }) => warnings);
  return lines.length === 0 ? [] : ["Worth knowing:", ...lines];
}

function linesOf(
  items: readonly PlanItem[],
  sentences: (item: PlanItem) => readonly string[],
): readonly string[] {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  const lines = items.flatMap((item) => {
    const { cluster, installation } = item;
    const who = `${clusterOf(cluster)} ${shortNameOf(installation)} -n ${installation.namespace}`;
    return sentences(item).map((text) => `  ${plainText(`${who}: ${text}`)}`);
  });
  const rest = lines.length - shownLines;
  const more = rest > 0 ? [`  … and ${rest} more (-o json lists all)`] : [];
  return [...lines.slice(0, shownLines), ...more];
}

/** One command for a missing right, and one for a component that has to go over another version. */
function stepsOf(
  items: readonly PlanItem[],
  version: string,
  { knfleet }: Commands,
): readonly string[] {
  const lacking = items.find(({ upgrade }) => (upgrade?.rights?.missing.length ?? 0) > 0);
  const far = items.find(({ upgrade }) => (upgrade?.hops?.length ?? 0) > 1);
  return [
    ...(lacking === undefined ? [] : [stepLine(`${knfleet} ${rightsCommand(lacking, version)}`)]),
    ...(far === undefined ? [] : [stepLine(`${knfleet} ${hopCommand(far)}`)]),
  ];
}

function rightsCommand({ cluster, installation }: PlanItem, version: string): string {
  const target =
    cluster === null
      ? [shortNameOf(installation), "-n", installation.namespace]
      : [`${cluster.namespace}/${cluster.name}`];
  return words("can-i", ...target, "--version", version, "-o", "clusterrole");
}

function hopCommand({ installation, upgrade }: PlanItem): string {
  const [first = ""] = upgrade?.hops ?? [];
  return words("plan", shortNameOf(installation), "-n", installation.namespace, "--version", first);
}
