import type { StatusItem } from "../fleet/status-item.ts";
import { words } from "../output/steps.ts";
import type { ClusterItem } from "./clusters.ts";
import { type FleetRow, isUnreachable, type PageStateName, rowsOf } from "./fleet-view.ts";
import type { Beginning, NextCommand } from "./installation-view.ts";

type Named = NonNullable<StatusItem["cluster"]>;
/** What is known of a cluster, by name; nothing that is not known. */
type ClusterFacts = readonly (readonly [name: string, value: string])[];

/** The state of a cluster in a word. */
interface ClusterState {
  readonly tone: PageStateName | "none";
  readonly text: string;
}

/** A cluster in the list of clusters. */
export interface ClusterRow {
  readonly key: string;
  /** `namespace/name` of its ClusterProfile. */
  readonly title: string;
  readonly state: ClusterState;
  readonly provider: string | null;
  readonly server: string | null;
  readonly kubernetesVersion: string | null;
  readonly items: readonly StatusItem[];
}

/** The page of a cluster. */
export interface ClusterView {
  readonly title: string;
  readonly facts: ClusterFacts;
  /** Why it is not well; null where it is. */
  readonly why: string | null;
  readonly tone: ClusterState["tone"];
  readonly rows: readonly FleetRow[];
  readonly next: readonly NextCommand[];
}

/** Names one cluster in addresses. */
export function clusterKey({ namespace, name }: Named): string {
  return [namespace, name].map(encodeURIComponent).join("/");
}

interface Fleet {
  readonly items: readonly StatusItem[];
  /** Empty until they are read. */
  readonly clusters: readonly ClusterItem[];
}

/** The clusters of the hub, also those without installations; those that need somebody first. */
export function clusterRows({ items, clusters }: Fleet): readonly ClusterRow[] {
  const own = Map.groupBy(items, ({ cluster }) => (cluster === null ? "" : clusterKey(cluster)));
  own.delete("");
  const said = new Map(clusters.map((one) => [clusterKey(one), one]));
  return [...new Set([...said.keys(), ...own.keys()])]
    .map((key) => rowOf(key, own.get(key) ?? [], said.get(key)))
    .toSorted(
      (one, other) =>
        rankOf(one) - rankOf(other) ||
        one.title.localeCompare(other.title, "en", { numeric: true }),
    );
}

function rowOf(
  key: string,
  items: readonly StatusItem[],
  said: ClusterItem | undefined,
): ClusterRow {
  // What was read now, else what the ClusterProfile says, which outlives the cluster.
  const first = (value: (live: StatusItem["live"]) => string | null): string | undefined =>
    items.flatMap(({ live }) => value(live) ?? [])[0];
  return {
    key,
    title: key.split("/").map(decodeURIComponent).join("/"),
    state: stateOf(items, said),
    provider: first(({ provider }) => provider) ?? said?.provider ?? null,
    server: first(({ server }) => server) ?? said?.server ?? null,
    kubernetesVersion:
      first(({ kubernetesVersion }) => kubernetesVersion) ?? said?.kubernetesVersion ?? null,
    items,
  };
}

function stateOf(items: readonly StatusItem[], said: ClusterItem | undefined): ClusterState {
  const lost = items.find(isUnreachable);
  if (lost !== undefined) return { tone: "unreachable", text: lost.live.state };
  if (said?.healthy === false) return { tone: "bad", text: "Not healthy" };
  const isRead = items.some(({ live }) => live.server !== null);
  if (isRead) return { tone: "healthy", text: "Reachable" };
  if (said?.healthy === true) return { tone: "healthy", text: "Healthy" };
  return { tone: "none", text: "Not known" };
}

const ranks: Readonly<Partial<Record<ClusterState["tone"], number>>> = { unreachable: 0, bad: 1 };

function rankOf({ state }: ClusterRow): number {
  return ranks[state.tone] ?? 2;
}

/** What is known of the cluster of an installation or page. The version of one that does not answer is the last one that its ClusterProfile was told. */
function clusterFacts({ state, provider, server, kubernetesVersion }: ClusterRow): ClusterFacts {
  const isOld = state.tone === "unreachable" && kubernetesVersion !== null;
  const facts = [
    ["State", state.text],
    ["Provider", provider],
    ["Server", server],
    ["Kubernetes", isOld ? `${kubernetesVersion} (last known)` : kubernetesVersion],
  ] as const;
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}

/** The same of the cluster of one installation. */
export function factsOfCluster(item: StatusItem, clusters: readonly ClusterItem[]): ClusterFacts {
  const { cluster } = item;
  const key = cluster === null ? "" : clusterKey(cluster);
  const facts = clusterFacts(
    rowOf(
      key,
      [item],
      clusters.find((one) => clusterKey(one) === key),
    ),
  );
  // The page of an installation has what its cluster says.
  return facts.filter(([name]) => name !== "State");
}

/** The page of the cluster with this key; undefined when there is no ClusterProfile and no installation for it. */
export function clusterView(
  key: string,
  { items, clusters }: Fleet,
  beginning: Beginning,
): ClusterView | undefined {
  const row = clusterRows({ items, clusters }).find((one) => one.key === key);
  if (row === undefined) return undefined;
  const { title, state } = row;
  const said = clusters.find((one) => clusterKey(one) === key);
  const lost = row.items.find(isUnreachable);
  return {
    title,
    facts: clusterFacts(row),
    why: lost?.live.message ?? said?.message ?? null,
    tone: state.tone,
    rows: rowsOf(row.items),
    next: nextOf(title, beginning),
  };
}

function nextOf(title: string, { knfleet, isRecorded }: Beginning): readonly NextCommand[] {
  return isRecorded
    ? [
        {
          why: "Walk to its installations",
          // A bundle has no walk to a cluster alone.
          command: `${knfleet} ${words("diagnose", "-A", "--cluster", title)}`,
        },
      ]
    : [
        { why: "Walk the whole path", command: `${knfleet} ${words("diagnose", title)}` },
        { why: "A shell on it", command: `${knfleet} ${words("connect", title)}` },
      ];
}
