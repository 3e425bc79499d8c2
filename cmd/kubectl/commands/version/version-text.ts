import { plainText } from "../../../../api/foreign-text.ts";
import type { InstallationRow } from "../../hub/installations.ts";
import { partsText } from "../../hub/replicas.ts";
import { type Columns, onCluster, toned } from "../../output/columns.ts";
import { countOf } from "../../output/notes.ts";
import { orNone } from "../../output/table.ts";
import type { AgentVersion } from "./agents.ts";
import { type OwnReleases, releasesLine } from "./own-releases.ts";
import type { ControllerVersion, LiveVersion, Skew } from "./skew.ts";

/** The versions of one installation. */
export interface VersionItem extends InstallationRow {
  /** Versions of the Deployments on the cluster, the most frequent first; null when it was not read. */
  readonly liveVersions: readonly LiveVersion[] | null;
  /** Of the target cluster; null when it was not read. */
  readonly kubernetes: string | null;
  /** The newest version of this release of knfleet to which one upgrade can lead; null without one. */
  readonly nextVersion: string | null;
  readonly skew: readonly Skew[];
}

export interface VersionSummary {
  readonly client: {
    readonly version: string;
    readonly node: string;
    readonly platform: string;
    readonly releases: OwnReleases;
  };
  /** Null with `--client` and when the hub could not be asked. */
  readonly hub: { readonly server: string; readonly kubernetes: string | null } | null;
  /** Controllers of the components; null without the right to list them. */
  readonly controllers: readonly ControllerVersion[] | null;
  /** Controllers that works bring to spokes that pull. Null without the right to list works, and when the hub was not asked. */
  readonly agents: readonly AgentVersion[] | null;
  readonly skew: readonly Skew[];
  /** Number of shards of the fleet; 1: there is a leader. Null: not known. */
  readonly shards: number | null;
  /** What each replica serves, and last what no replica serves. Null: not known. */
  readonly replicas: readonly ServingReplica[] | null;
}

/** A replica of the controller, and the parts of the fleet that it serves. With one shard that is shard 0. */
export interface ServingReplica {
  /** Its pod; null: no replica serves these parts. */
  readonly name: string | null;
  readonly shards: readonly number[];
  /** Whether it does the work that needs the whole fleet. */
  readonly fleet: boolean;
}

/** The lines above the table of installations, written as `kubectl version` writes them. */
export function versionLines(summary: VersionSummary, wide: boolean, hasTable: boolean): string {
  const { client, hub, controllers, replicas, agents, shards } = summary;
  const lines = [
    `Client Version: ${client.version}`,
    ...(wide ? [`Node Version: ${client.node} (${client.platform})`] : []),
    releasesLine(client.releases),
    ...(controllers ?? []).flatMap((one) => controllerLines(one, wide)),
    ...(replicas ?? []).map((one) => replicaLine(one, shards ?? 1)),
    ...(agents ?? []).map((one) => agentLine(one, wide)),
    ...(hub === null ? [] : [`Hub Version: ${orNone(hub.kubernetes)}`]),
    ...(wide && hub !== null ? [`Hub Server: ${hub.server}`] : []),
    ...(hasTable ? [""] : []),
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

function agentLine({ version, image, clusters }: AgentVersion, wide: boolean): string {
  const shown = wide ? `, ${image}` : "";
  return `Agent Version: ${orNone(version)} (${countOf(clusters, "cluster")}${shown})`;
}

function replicaLine({ name, shards, fleet }: ServingReplica, of: number): string {
  const parts = fleet ? [...shards, "fleet" as const] : shards;
  return `Replica: ${orNone(name)} (${partsText(parts, of)})`;
}

/** Desired, installed and live version, the next one, and disagreements. */
export const versionColumns: Columns<VersionItem> = {
  NAMESPACE: ({ namespace }) => namespace,
  NAME: ({ name }) => name,
  KIND: ({ kind }) => kind,
  CLUSTER: onCluster(({ cluster }) => cluster),
  WANTED: ({ wantedVersion }) => wantedVersion,
  INSTALLED: ({ version }) => version,
  LIVE: liveText,
  KUBERNETES: ({ kubernetes }) => kubernetes ?? unknown,
  NEXT: ({ nextVersion }) => nextVersion,
  SKEW: ({ skew }) =>
    skew.length === 0 ? null : toned("warning", skew.map(({ between }) => between).join(",")),
};

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
