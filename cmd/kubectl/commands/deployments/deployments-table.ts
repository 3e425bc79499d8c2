import type { TimeText } from "../../output/age.ts";
import { clusterNames } from "../../output/cluster-name.ts";
import { orNone, type Cell, type Table } from "../../output/table.ts";
import type { DeploymentItem, DeploymentList } from "./deployments.ts";

const headers = [
  "CLUSTER",
  "NAMESPACE",
  "NAME",
  "READY",
  "UP-TO-DATE",
  "AVAILABLE",
  "AGE",
] as const;

/** One row a Deployment, as `kubectl get deployments` with the cluster in front; `wide` adds images and owner. */
export function deploymentsTable(list: DeploymentList, wide: boolean, ages: TimeText): Table {
  const nameOf = clusterNames(list.items.map(({ cluster }) => cluster));
  return {
    headers: wide ? [...headers, "IMAGES", "INSTALLATION"] : headers,
    rows: list.items.map((item) => [
      nameOf(item.cluster),
      item.namespace,
      item.name,
      readyCell(item),
      String(item.replicas.upToDate),
      String(item.replicas.available),
      ages(item.createdAt),
      ...(wide ? [orNone(item.images.join(",")), installationOf(item)] : []),
    ]),
  };
}

function readyCell({ available, missing, replicas }: DeploymentItem): Cell {
  if (missing) return { text: "missing", tone: "bad" };
  const text = `${replicas.ready}/${replicas.desired}`;
  return { text, tone: available ? "good" : "bad" };
}

function installationOf({ installation: { kind, namespace, name } }: DeploymentItem): string {
  return `${kind} ${namespace}/${name}`;
}
