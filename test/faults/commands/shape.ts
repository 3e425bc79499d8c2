import type { Cluster } from "../../fleet/fleet.ts";
import { isRecord } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { dumpOfCluster, type SpokeDump } from "../../support/spoke-dump.ts";

/** What clusters hold, by `cluster: identity`, without all that differs between two equal runs. */
export type Shape = Readonly<Record<string, unknown>>;

/** Reads what clusters hold, once nothing is being deleted any more. */
export async function shapeOf(clusters: readonly Cluster[]): Promise<Shape> {
  const shapes = await Promise.all(
    clusters.map(async (cluster) => {
      const dump = await waitFor(
        `the deletions on ${cluster.name}`,
        async () => {
          const read = await dumpOfCluster(cluster);
          return Object.values(read).some(isBeingDeleted) ? undefined : read;
        },
        { timeoutMs: 60_000 },
      );
      return Object.entries(plain(dump)).map(([id, one]) => [`${cluster.name}: ${id}`, one]);
    }),
  );
  return Object.fromEntries(shapes.flat());
}

function isBeingDeleted(object: unknown): boolean {
  const metadata = isRecord(object) ? object["metadata"] : undefined;
  return isRecord(metadata) && metadata["isBeingDeleted"] === true;
}

/** Without what Kubernetes puts into each namespace and on each token that somebody used, the ends of names that are drawn, and what a Secret holds. */
function plain(dump: SpokeDump): SpokeDump {
  return Object.fromEntries(
    Object.entries(dump)
      .filter(([id]) => !/\|ServiceAccount\|[^|]+\|default$/.test(id))
      .map(([id, object]) => [stableId(id), stable(object)]),
  );
}

function stableId(id: string): string {
  return id.replace(/-(token|diagnose)-[0-9a-f]{6}$/, "-$1-*");
}

function stable(object: unknown): unknown {
  if (!isRecord(object)) return object;
  const text = JSON.stringify(object, (key, value: unknown) => {
    if (key === "kubernetes.io/legacy-token-last-used") return undefined;
    return typeof value === "string" ? stableText(value) : value;
  });
  const again: unknown = JSON.parse(text);
  if (!isRecord(again) || again["kind"] !== "Secret" || !isRecord(again["data"])) return again;
  return { ...again, data: Object.keys(again["data"]).toSorted() };
}

const drawn = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d{4}-\d\d-\d\dT[\d:.]+Z/g;

function stableText(text: string): string {
  return stableId(text).replaceAll(drawn, "(drawn)");
}
