import { clusterNames } from "../../output/cluster-name.ts";
import { unreadNotes } from "../../output/notes.ts";
import { plainText } from "../../output/plain-text.ts";
import { orNone, type Cell, type Table } from "../../output/table.ts";
import type { ControllerVersion } from "./controller-version.ts";
import type { VersionItem, VersionReport } from "./version.ts";

/** The lines above the table of installations, written as `kubectl version` writes them. */
export function versionLines({ summary, items }: VersionReport, wide: boolean): string {
  const { client, hub, controllers } = summary;
  const lines = [
    `Client Version: ${client.version}`,
    ...(wide ? [`Node Version: ${client.node} (${client.platform})`] : []),
    ...(controllers ?? []).flatMap((one) => controllerLines(one, wide)),
    ...(hub === null ? [] : [`Hub Version: ${orNone(hub.kubernetes)}`]),
    ...(wide && hub !== null ? [`Hub Server: ${hub.server}`] : []),
    ...(items.length > 0 ? [""] : []),
  ];
  return lines.map((line) => `${plainText(line)}\n`).join("");
}

function controllerLines(controller: ControllerVersion, wide: boolean): readonly string[] {
  const { flavour, namespace, name, version, image, plugins } = controller;
  const what = flavour === "knfleet" ? "Controller" : "Knative Operator";
  const shown = wide && image !== null ? `, ${image}` : "";
  return [
    `${what} Version: ${orNone(version)} (${namespace}/${name}${shown})`,
    ...plugins.map((plugin) => {
      const which = wide ? `${plugin.name}, ${plugin.image}` : plugin.name;
      return `Plugin Version: ${orNone(plugin.version)} (${which})`;
    }),
  ];
}

/** One row an installation: what is wanted, installed and there, what comes next, and what does not agree. */
export function versionTable({ items }: VersionReport): Table {
  const nameOf = clusterNames(items.map(({ cluster }) => cluster));
  return {
    headers: [
      "NAMESPACE",
      "NAME",
      "KIND",
      "CLUSTER",
      "WANTED",
      "INSTALLED",
      "LIVE",
      "KUBERNETES",
      "NEXT",
      "SKEW",
    ],
    rows: items.map((item) => [
      item.namespace,
      item.name,
      item.kind,
      nameOf(item.cluster),
      orNone(item.wantedVersion),
      orNone(item.version),
      liveText(item),
      item.kubernetes ?? unknown,
      orNone(item.nextVersion),
      skewCell(item),
    ]),
  };
}

const unknown = "<unknown>";

/** The one version, or each with the number of its Deployments. */
function liveText({ liveVersions }: VersionItem): string {
  if (liveVersions === null) return unknown;
  const [first, ...others] = liveVersions;
  if (first === undefined) return "<none>";
  if (others.length === 0) return first.version ?? unknown;
  return liveVersions
    .map(({ version, deployments }) => `${version ?? unknown} (${deployments})`)
    .join(", ");
}

function skewCell({ skew }: VersionItem): Cell {
  if (skew.length === 0) return "<none>";
  return { text: skew.map(({ between }) => between).join(","), tone: "warning" };
}

/** The lines below the table: what does not agree, and what could not be read. */
export function versionNotes({ summary, items, errors }: VersionReport): readonly string[] {
  const own = summary.skew.map(({ message }) => `skew: ${plainText(message)}`);
  const ofItems = items.flatMap(({ namespace, name, skew }) =>
    skew.map(({ message }) => `skew: ${namespace}/${name}: ${plainText(message)}`),
  );
  const told = errors.filter(({ reason }) => reason !== "HubUnavailable");
  const ofClusters = told.filter(({ cluster }) => cluster !== null).length;
  return [
    ...own,
    ...ofItems,
    ...unreadNotes(told, { unread: ofClusters, clusters: clustersOf(items) }),
  ];
}

function clustersOf(items: readonly VersionItem[]): number {
  return new Set(items.map(({ cluster }) => JSON.stringify(cluster))).size;
}
