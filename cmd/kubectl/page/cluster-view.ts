import type { StatusItem } from "../commands/status/status-item.ts";
import { words } from "../output/steps.ts";
import { type FleetRow, rowsOf } from "./fleet-view.ts";
import type { Beginning, NextCommand } from "./installation-view.ts";

/** The page of a cluster. */
export interface ClusterView {
  /** `namespace/name` of its ClusterProfile. */
  readonly title: string;
  /** What is known of it, by name; nothing that is not known. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly rows: readonly FleetRow[];
  readonly next: readonly NextCommand[];
}

type Cluster = NonNullable<StatusItem["cluster"]>;

/** Names one cluster in addresses. */
export function clusterKey({ namespace, name }: Cluster): string {
  return [namespace, name].map(encodeURIComponent).join("/");
}

/** The page of the cluster with this key; undefined when no installation is for it. */
export function clusterView(
  items: readonly StatusItem[],
  key: string,
  { knfleet, isRecorded }: Beginning,
): ClusterView | undefined {
  const own = items.filter(({ cluster }) => cluster !== null && clusterKey(cluster) === key);
  const cluster = own[0]?.cluster;
  if (cluster === undefined || cluster === null) return undefined;
  const title = `${cluster.namespace}/${cluster.name}`;
  const fact = (name: string, value: (live: StatusItem["live"]) => string | null) => {
    const [found] = own.flatMap(({ live }) => value(live) ?? []);
    return found === undefined ? [] : [[name, found] as const];
  };
  return {
    title,
    facts: [
      ...fact("Provider", ({ provider }) => provider),
      ...fact("Server", ({ server }) => server),
      ...fact("Kubernetes", ({ kubernetesVersion }) => kubernetesVersion),
    ],
    rows: rowsOf(own),
    next: isRecorded
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
        ],
  };
}
