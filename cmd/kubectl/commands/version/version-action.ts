import { plainText } from "../../../../api/foreign-text.ts";
import { type ActionInput, openReading, print, selectionOf } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import type { ExitCode } from "../../errors.ts";
import { releaseFolders } from "../../flags.ts";
import { partsText } from "../../hub/replicas.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, nameOf } from "../../output/names.ts";
import { countOf, unreadNotes } from "../../output/notes.ts";
import { ownReasons } from "../../output/own-reasons.ts";
import { type Cell, orNone, type Table } from "../../output/table.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import type { AgentVersion } from "./agents.ts";
import { readOwnReleases, releasesLine } from "./own-releases.ts";
import { type ControllerVersion, readKnownReleases } from "./skew.ts";
import {
  readVersions,
  type ServingReplica,
  type VersionDeps,
  versionExitCode,
  type VersionItem,
  type VersionReport,
} from "./version.ts";

/** Flags of `version` alone. */
interface VersionFlags {
  readonly client?: boolean;
  readonly live?: boolean;
  readonly strict?: boolean;
}

type Input = ActionInput<VersionFlags>;

/** `kubectl knfleet version`: prints what it knows of itself also when the hub cannot be asked, and then fails. */
export async function runVersion(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const wanted = { ...releaseFolders(flags), environment: terminal.env };
  const client = {
    version: clientVersion,
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
    releases: await readOwnReleases(wanted, signal),
  };
  const own = { client, known: await readKnownReleases(), now: terminal.now };
  const clientOnly = await readVersions({ ...own, hub: undefined }, signal);
  if (options.client === true) return await printVersion(clientOnly, input);
  try {
    return await printVersion(await versionOfAll(own, input, signal), input);
  } catch (error) {
    const reason = "HubUnavailable";
    const said = { reason, message: ownReasons[reason], cluster: null } as const;
    await printVersion({ ...clientOnly, complete: false, errors: [said] }, input);
    if (error instanceof Error) Object.assign(error, { isPrinted: true });
    throw error;
  }
}

async function versionOfAll(
  own: Omit<VersionDeps, "hub">,
  { flags, options, terminal }: Input,
  signal: AbortSignal,
): Promise<VersionReport> {
  const { live = true } = options;
  const { env } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: live }, signal);
  const { limits, end } = openReading(flags, terminal);
  // All namespaces unless one is named.
  const namespace = flags.namespace ?? undefined;
  const selection = selectionOf([], { ...flags, namespace }, access);
  const hub = { access, limits, selection, live };
  return await readVersions({ ...own, hub }, signal).finally(end);
}

async function printVersion(
  unsorted: VersionReport,
  { flags, options, terminal }: Input,
): Promise<ExitCode> {
  const report = sortedBy(unsorted, flags.sortBy);
  await print(
    {
      document: report,
      heading: versionLines(report, flags.output === "wide"),
      table: () => versionTable(report),
      names: report.items.map(nameOf),
      notes: versionNotes(report),
    },
    flags,
    terminal,
  );
  return versionExitCode(report, { strict: options.strict === true });
}

/** The lines above the table of installations, written as `kubectl version` writes them. */
export function versionLines({ summary, items }: VersionReport, wide: boolean): string {
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

function agentLine({ version, image, clusters }: AgentVersion, wide: boolean): string {
  const shown = wide ? `, ${image}` : "";
  return `Agent Version: ${orNone(version)} (${countOf(clusters, "cluster")}${shown})`;
}

function replicaLine({ name, shards, fleet }: ServingReplica, of: number): string {
  const parts = fleet ? [...shards, "fleet" as const] : shards;
  return `Replica: ${orNone(name)} (${partsText(parts, of)})`;
}

/** One row for each installation: desired, installed and live version, the next one, and disagreements. */
export function versionTable({ items }: VersionReport): Table {
  const clusterNameOf = clusterNames(items.map(({ cluster }) => cluster));
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
      clusterNameOf(item.cluster),
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

/** Lines below the table: disagreements and clusters that could not be read. */
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
