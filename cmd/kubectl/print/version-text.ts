import type { VersionReport } from "../version.ts";
import { clusterNames } from "./cluster-name.ts";
import { orNone, type Table } from "./table.ts";

/** The lines above the table of installations, written as `kubectl version` writes them. */
export function versionLines({ summary, items }: VersionReport, wide: boolean): string {
  const { client, hub } = summary;
  const lines = [
    `Client Version: ${client.version}`,
    ...(wide ? [`Node Version: ${client.node} (${client.platform})`] : []),
    ...(hub === null ? [] : [`Hub Version: ${orNone(hub.kubernetes)}`]),
    ...(wide && hub !== null ? [`Hub Server: ${hub.server}`] : []),
    ...(items.length > 0 ? [""] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** One row an installation: what is installed and what the spec wants. */
export function versionTable({ items }: VersionReport): Table {
  const nameOf = clusterNames(items.map(({ cluster }) => cluster));
  return {
    headers: ["NAMESPACE", "NAME", "KIND", "CLUSTER", "INSTALLED", "WANTED"],
    rows: items.map(({ namespace, name, kind, cluster, version, wantedVersion }) => [
      namespace,
      name,
      kind,
      nameOf(cluster),
      orNone(version),
      orNone(wantedVersion),
    ]),
  };
}
