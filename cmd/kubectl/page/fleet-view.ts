import type { StatusItem } from "../fleet/status-item.ts";
import type { FleetStatus } from "../fleet/status.ts";
import { clusterNames, shortNameOf } from "../output/names.ts";
import { countText, toldStates } from "../spokes/live-text.ts";
import type { ClusterItem } from "./clusters.ts";

/** The states that the page counts. An installation that is deleted or unreachable is nothing else. */
export type PageStateName = "bad" | "unreachable" | "warning" | "deleting" | "progress" | "healthy";

/** The states in the order of the page: what needs a person stands first. */
export const pageStates: readonly { readonly name: PageStateName; readonly title: string }[] = [
  { name: "bad", title: "Not healthy" },
  { name: "unreachable", title: "Unreachable" },
  { name: "warning", title: "Warning" },
  { name: "deleting", title: "Deleting" },
  { name: "progress", title: "In progress" },
  { name: "healthy", title: "Healthy" },
];

const unreachable: readonly string[] = ["Unreachable", "Denied", "NoAccess"];

/** Whether the cluster of an installation was asked, and did not answer. */
export function isUnreachable({ live }: Pick<StatusItem, "live">): boolean {
  return unreachable.includes(live.state);
}

/** The state under which the page counts an installation. */
export function pageStateOf(item: StatusItem): PageStateName {
  if (item.hub.state === "Deleting") return "deleting";
  return isUnreachable(item) ? "unreachable" : stateBySeverity[item.severity];
}

const stateBySeverity = {
  error: "bad",
  warning: "warning",
  progress: "progress",
  ok: "healthy",
} as const satisfies Record<StatusItem["severity"], PageStateName>;

/** What the reader asked for. */
export interface FleetFilter {
  /** Words that all have to occur, also as `reason:`, `version:`, `cluster:`, `namespace:`, `provider:`, `label:`, `property:`. */
  readonly text: string;
  readonly state: PageStateName | null;
}

/** One installation as a row. */
export interface FleetRow {
  readonly key: string;
  readonly item: StatusItem;
  readonly state: PageStateName;
  readonly title: string;
  readonly cluster: string;
  readonly version: string;
  /** What the hub says, and what the cluster says, in a word. */
  readonly hub: string;
  readonly live: string;
}

/** A cause that several installations may share. */
export interface CauseView {
  readonly reason: string;
  readonly code: string | null;
  readonly provider: string | null;
  readonly count: number;
  readonly clusters: number;
  /** What all of them say, without the names of clusters and servers where these differ; else what the first one says. */
  readonly message: string | null;
  readonly isShared: boolean;
  /** Text of a filter that selects them. */
  readonly filter: string;
}

/** A bar of the histogram. */
export interface VersionView {
  readonly version: string;
  readonly count: number;
  /** Of the largest bar, 0 to 1. */
  readonly share: number;
}

/** The page of the fleet. */
export interface FleetView {
  readonly counts: Readonly<Record<PageStateName, number>>;
  readonly total: number;
  readonly causes: readonly CauseView[];
  readonly versions: readonly VersionView[];
  /** The rows that the filter leaves. */
  readonly rows: readonly FleetRow[];
}

interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Names one installation, or one fleet set, in addresses and lists. */
export function keyOf({ kind, namespace, name }: Named): string {
  return [kind, namespace, name].map(encodeURIComponent).join("/");
}

/** What ClusterProfiles say, by `namespace/name`. */
export type Traits = ReadonlyMap<string, ClusterItem>;

/** Whether the filter is about what ClusterProfiles say. */
export function needsTraits({ text }: FleetFilter): boolean {
  return /(?:^|\s)(?:label|property):/i.test(text);
}

/** The page of a fleet. Counts and causes are of the whole fleet; the filter selects rows. */
export function fleetView(
  { items }: Pick<FleetStatus, "items">,
  filter: FleetFilter,
  traits: Traits = new Map(),
): FleetView {
  const rows = rowsOf(items);
  const counts = { bad: 0, unreachable: 0, warning: 0, deleting: 0, progress: 0, healthy: 0 };
  for (const { state } of rows) counts[state] += 1;
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const isShown = (row: FleetRow): boolean =>
    (filter.state === null || row.state === filter.state) &&
    words.every((word) => hasWord(row, word) || hasTrait(row, word, traits));
  return {
    counts,
    total: rows.length,
    causes: causesOf(rows),
    versions: versionsOf(rows),
    rows: rows.filter(isShown),
  };
}

/** The fleet in one sentence. */
export interface Verdict {
  /** `unknown`: what is shown may be out of date. */
  readonly tone: "healthy" | "bad" | "unknown";
  readonly text: string;
}

/** Whether the fleet is well. What is deleted or on its way needs nobody. */
export function verdictOf(
  { counts, total }: Pick<FleetView, "counts" | "total">,
  controller: FleetStatus["controller"] = null,
): Verdict {
  const wrong = counts.bad + counts.unreachable + counts.warning;
  const all = total === 1 ? "installation" : "installations";
  const said = controller?.message ?? null;
  if (controller?.works === false && said !== null) return { tone: "bad", text: said };
  const note = said === null ? "" : `. ${said}`;
  if (total === 0) return { tone: "healthy", text: `There are no installations${note}` };
  return wrong === 0
    ? { tone: "healthy", text: `Nothing is wrong with ${total} ${all}${note}` }
    : {
        tone: "bad",
        text: `${wrong} of ${total} ${all} ${wrong === 1 ? "needs" : "need"} attention${note}`,
      };
}

/** A verdict about a fleet that cannot be read now: `age` is that of what is shown. */
export function outdated({ text }: Verdict, age: string): Verdict {
  return { tone: "unknown", text: `${text}, as of ${age} ago` };
}

/** Installations as rows, with the namespace of a ClusterProfile where two have the same name. */
export function rowsOf(items: readonly StatusItem[]): readonly FleetRow[] {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  return items.map((item) => ({
    key: keyOf(item),
    item,
    state: pageStateOf(item),
    title: shortNameOf(item),
    cluster: item.cluster === null ? "hub" : clusterOf(item.cluster),
    version: item.version ?? "none",
    hub: item.hub.state,
    live: liveText(item.live),
  }));
}

/** What the cluster of an installation says, in a word. */
export function liveText(live: StatusItem["live"]): string {
  const { state, feedback } = live;
  // Not yet, or not at all with --no-live.
  if (state === "Skipped") return "Not read";
  // The cluster pulls, and was not asked itself.
  if (feedback !== null && toldStates.includes(state)) return `${state} (feedback)`;
  return countText(live, " of ") ?? state;
}

const fields: Readonly<Record<string, (row: FleetRow) => readonly (string | null)[]>> = {
  reason: ({ item }) => [item.reason, item.code],
  version: ({ version }) => [version],
  cluster: ({ item: { cluster } }) => [
    cluster === null ? "hub" : `${cluster.namespace}/${cluster.name}`,
  ],
  namespace: ({ item }) => [item.namespace],
  provider: ({ item }) => [item.live.provider],
};

function hasWord(row: FleetRow, word: string): boolean {
  const at = word.indexOf(":");
  const field = at < 0 ? undefined : fieldOf(word.slice(0, at));
  if (field !== undefined) return isIn(field(row), word.slice(at + 1));
  const all = Object.values(fields).flatMap((values) => values(row));
  return isIn([...all, row.title, row.item.kind, row.hub, row.live, row.item.message], word);
}

/** `label:env=prod` is a part of one label, as any other word is a part of one field. */
function hasTrait({ item: { cluster } }: FleetRow, word: string, traits: Traits): boolean {
  const [, name, part = ""] = /^(label|property):(.*)$/.exec(word) ?? [];
  if (name === undefined || cluster === null) return false;
  const said = traits.get(`${cluster.namespace}/${cluster.name}`);
  if (said === undefined) return false;
  const pairs = Object.entries(name === "label" ? said.labels : said.properties);
  return isIn(
    pairs.map((pair) => pair.join("=")),
    part,
  );
}

function fieldOf(name: string) {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function isIn(values: readonly (string | null)[], word: string): boolean {
  return values.some((value) => value?.toLowerCase().includes(word) === true);
}

/** Most frequent first; of equal ones the first that the fleet lists. */
function causesOf(rows: readonly FleetRow[]): readonly CauseView[] {
  const unwell = rows.filter(({ item }) => ["error", "warning"].includes(item.severity));
  const groups = Map.groupBy(unwell, ({ item: { reason, code, live } }) =>
    JSON.stringify([reason, code, live.provider]),
  );
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { reason, code, live } = first.item;
      return [
        {
          reason: reason ?? "Unknown",
          code,
          provider: live.provider,
          count: group.length,
          clusters: new Set(group.map(({ cluster }) => cluster)).size,
          ...sharedMessage(group.map(({ item }) => item)),
          filter: filterText({ reason, code, provider: live.provider }),
        },
      ];
    })
    .toSorted((one, other) => other.count - one.count);
}

/** One sentence for all of them, when they differ in nothing but the names of their clusters and servers. */
function sharedMessage(items: readonly StatusItem[]): Pick<CauseView, "message" | "isShared"> {
  const [message = null] = items.map((one) => one.message);
  if (items.every((one) => one.message === message)) return { message, isShared: true };
  const texts = new Set(items.map(withoutNames));
  const [text = null] = texts;
  return texts.size === 1 ? { message: text, isShared: true } : { message, isShared: false };
}

/** `ClusterProfile fleet/eu-1: https://eu-1:6443 refused it` is `The server refused it` on every cluster. */
function withoutNames({ message, cluster }: StatusItem): string | null {
  if (message === null || cluster === null) return message;
  const profile = `ClusterProfile ${cluster.namespace}/${cluster.name}`;
  const text = message
    .replaceAll(`${profile}: `, "")
    .replaceAll(profile, "the ClusterProfile")
    .replaceAll(/https?:\/\/[\w.:[\]-]*[\w\]]/g, "the server");
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function filterText({
  reason,
  code,
  provider,
}: Record<"reason" | "code" | "provider", string | null>): string {
  const words = [
    ["reason", reason],
    ["reason", code],
    ["provider", provider],
  ] as const;
  return words.flatMap(([field, value]) => (value === null ? [] : [`${field}:${value}`])).join(" ");
}

/** Newest version first, and what has none last. */
function versionsOf(rows: readonly FleetRow[]): readonly VersionView[] {
  const groups = Map.groupBy(rows, ({ version }) => version);
  const largest = Math.max(1, ...[...groups.values()].map((group) => group.length));
  return [...groups]
    .map(([version, group]) => ({ version, count: group.length, share: group.length / largest }))
    .toSorted((one, other) => compareVersions(other.version, one.version));
}

function compareVersions(one: string, other: string): number {
  const numbers = Number(/^\d/.test(one)) - Number(/^\d/.test(other));
  return numbers === 0 ? one.localeCompare(other, "en", { numeric: true }) : numbers;
}

/** The rows in the order in which they are shown already, so that nothing moves under a reader; new rows come last. */
export function inShownOrder(
  rows: readonly FleetRow[],
  shown: readonly string[],
): readonly FleetRow[] {
  const places = new Map(shown.map((key, at) => [key, at]));
  const placeOf = ({ key }: FleetRow): number => places.get(key) ?? shown.length;
  return rows.toSorted((one, other) => placeOf(one) - placeOf(other));
}
