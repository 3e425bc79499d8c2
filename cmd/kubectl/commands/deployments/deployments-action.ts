import { type ActionInput, askedOf, openReading, print, timesOf } from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import type { ExitCode } from "../../errors.ts";
import type { TimeText } from "../../output/duration.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, objectName } from "../../output/names.ts";
import { deploymentNotes } from "../../output/notes.ts";
import { listExitCode } from "../../output/report.ts";
import { type Cell, orNone, type Table } from "../../output/table.ts";
import { readSelection } from "../../selection/selection-file.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { type DeploymentItem, type DeploymentList, deployments } from "./deployments.ts";

/** `kubectl knfleet deployments`. */
export async function runDeployments(
  input: ActionInput<FilenameFlag>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const { env, now } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const selection = await readSelection(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const list = sortedBy(
    await deployments({ selection, limits }, { access, now }, signal).finally(end),
    flags.sortBy,
  );
  await print(
    {
      document: list,
      table: (wide) => deploymentsTable(list, wide, timesOf(flags, terminal)),
      names: list.items.map(({ cluster, namespace, name }) =>
        objectName(cluster, { namespace, type: "deployment.apps", name }),
      ),
      notes: deploymentNotes(list, askedOf(selection, flags)),
    },
    flags,
    terminal,
  );
  return listExitCode(list);
}

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

function readyCell({ state, replicas }: DeploymentItem): Cell {
  const text = `${replicas.ready}/${replicas.desired}`;
  if (state === null) return { text: "missing", tone: "bad" };
  if (state === "scaledToZero") return { text: `${text} (scaled to zero)`, tone: "warning" };
  if (state === "rollingOut") return { text: `${text} (in progress)`, tone: "warning" };
  return { text, tone: state === "available" ? "good" : "bad" };
}

function installationOf({ installation: { kind, namespace, name } }: DeploymentItem): string {
  return `${kind} ${namespace}/${name}`;
}
