import { isRecord, jsonOf, listAt } from "../../../../api/fields.ts";
import {
  clusterName,
  type ClusterState,
  type Direction,
  type MigrationFacts,
  type MigrationRecord,
  type Workload,
} from "./migration-facts.ts";

/** Name of the ConfigMap with the record. */
export const recordName = "knfleet-migration";

/** How the Deployments of now differ from the record. */
export interface Comparison {
  /** Deployments that have other pods than before. */
  readonly restarted: readonly string[];
  /** Deployments with another generation and the same pods, such as those that were scaled. */
  readonly touched: readonly string[];
  /** Deployments that are gone: parts that the component does not have any more. */
  readonly gone: readonly string[];
  /** Deployments of the record on clusters that were read. */
  readonly count: number;
}

const shown = 8;

/** The mark of a Deployment in the record: beginnings of its uid and of the hash of its template, and its generation. */
function workloadMark({ uid, generation, template }: Omit<Workload, "name">): string {
  return `${uid.slice(0, shown)} ${template.slice(0, shown)} ${generation}`;
}

/** The record of now. */
export function recordOf({
  direction,
  components,
  clusters,
}: Pick<MigrationFacts, "direction" | "components" | "clusters">): MigrationRecord {
  return {
    direction,
    ready: components.filter(({ isReady }) => isReady).map(({ uid }) => uid),
    workloads: Object.fromEntries(
      clusters.map(({ id, workloads }) => [
        id,
        Object.fromEntries(
          workloads.map((workload) => [workloadKey(workload), workloadMark(workload)]),
        ),
      ]),
    ),
  };
}

function workloadKey({ namespace, name }: Workload): string {
  return `${namespace}/${name}`;
}

/** Reads the text of a record. Undefined when it is none, or one of the other direction. */
export function readRecord(text: string, direction: Direction): MigrationRecord | undefined {
  const content = jsonOf(text);
  if (!isRecord(content) || content["direction"] !== direction) return undefined;
  const { workloads } = content;
  if (!isRecord(workloads)) return undefined;
  return {
    direction,
    ready: listAt(content, "ready").map(String),
    workloads: Object.fromEntries(
      Object.entries(workloads).map(([id, marks]) => [
        id,
        Object.fromEntries(
          Object.entries(isRecord(marks) ? marks : {}).map(([key, mark]) => [key, String(mark)]),
        ),
      ]),
    ),
  };
}

/** Compares the Deployments of the clusters that were read with the record. */
export function compareWithRecord(
  { workloads: recorded }: MigrationRecord,
  clusters: readonly ClusterState[],
): Comparison {
  const found = clusters.flatMap(({ id, workloads }) => {
    const now = new Map(workloads.map((workload) => [workloadKey(workload), workload]));
    return Object.entries(recorded[id] ?? {}).map(([key, mark]) => ({
      name: `${key} of ${clusterName(id)}`,
      change: changeOf(mark, now.get(key)),
    }));
  });
  const those = (change: Change): readonly string[] =>
    found.filter((one) => one.change === change).map(({ name }) => name);
  return {
    restarted: those("restarted"),
    touched: those("touched"),
    gone: those("gone"),
    count: found.length,
  };
}

type Change = "none" | "restarted" | "touched" | "gone";

function changeOf(mark: string, workload: Workload | undefined): Change {
  if (workload === undefined) return "gone";
  const now = workloadMark(workload);
  if (now === mark) return "none";
  const [uid, template] = mark.split(" ");
  const [uidNow, templateNow] = now.split(" ");
  return uid === uidNow && template === templateNow ? "touched" : "restarted";
}
