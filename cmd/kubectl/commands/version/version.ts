import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import type { Part } from "../../../../api/shards.ts";
import { clientVersion } from "../../client-version.ts";
import { exitCodes } from "../../errors.ts";
import { releaseFolders } from "../../flags.ts";
import type { ClustersRead, Fleet } from "../../fleet/fleet.ts";
import { controllerRights, findControllers } from "../../hub/find-controller.ts";
import { installationRow, listInstallations, NotServedError } from "../../hub/installations.ts";
import { type Serving, servingOf } from "../../hub/replicas.ts";
import type { Report } from "../../main/report.ts";
import { nameKey, nameOf } from "../../output/names.ts";
import { ownReasons } from "../../output/own-reasons.ts";
import type { ReportError } from "../../output/report.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import { workloadsOf, isRemote } from "../../spokes/live-view.ts";
import type { SpokeFacts } from "../../spokes/spoke-facts.ts";
import { deniedMessage } from "../../spokes/spoke-reading.ts";
import type { WorkloadFact } from "../../spokes/workload-fact.ts";
import { readAgents } from "./agents.ts";
import { readOwnReleases } from "./own-releases.ts";
import {
  agentSkew,
  controllerSkew,
  controllerVersionOf,
  type KnownVersions,
  type LiveVersion,
  nextVersion,
  readKnownReleases,
  skewOf,
} from "./skew.ts";
import {
  type ServingReplica,
  versionColumns,
  type VersionItem,
  versionLines,
  type VersionSummary,
} from "./version-text.ts";

/** Flags of `version`. */
interface VersionFlags {
  /** Only the version of this program. */
  readonly client: boolean;
  /** False: no cluster is read. */
  readonly live: boolean;
  readonly strict: boolean;
}

/**
 * The versions of this program, of the hub, of every selected installation and of its cluster. A hub that cannot be asked for its version is the `failure` of the
 * report; installations that may not be listed, and clusters that cannot be read, are in `errors`.
 */
export async function readVersions(
  fleet: Fleet,
  { client: isClientOnly, live, strict }: VersionFlags,
): Promise<Report<VersionItem>> {
  const wanted = { ...releaseFolders(fleet.flags), environment: fleet.env };
  const client = {
    version: clientVersion,
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
    releases: await readOwnReleases(wanted, fleet.signal),
  };
  const known = await readKnownReleases();
  const none = { hub: null, controllers: null, agents: null, serving: undefined };
  const nothing: HubAnswer = { ...none, components: [], read: undefined, errors: [] };
  const reportOn = ({ hub, controllers, agents, ...answer }: HubAnswer): Report<VersionItem> => {
    const { serving, components, read, errors } = answer;
    const summary: VersionSummary = {
      client,
      hub,
      controllers,
      agents,
      skew: [...controllerSkew(controllers, client.version), ...agentSkew(agents, client.version)],
      shards: serving?.shards ?? null,
      replicas: serving === undefined ? null : servingReplicas(serving),
    };
    const items = components.map((one) => versionItemOf(one, read?.of(one), known));
    return versionReport(summary, items.toSorted(byText(nameKey)), errors, strict);
  };
  if (isClientOnly) return reportOn(nothing);
  try {
    return reportOn(await askFleet(fleet, live));
  } catch (failure) {
    if (!(failure instanceof Error)) throw failure;
    const reason = "HubUnavailable";
    const said = { reason, message: ownReasons[reason], cluster: null } as const;
    return { ...reportOn({ ...nothing, errors: [said] }), failure };
  }
}

/** What was found, as it is printed. With `strict` versions that disagree make the exit code 1. */
export function versionReport(
  summary: VersionSummary,
  items: readonly VersionItem[],
  errors: readonly ReportError[],
  strict: boolean,
): Report<VersionItem> {
  const isSkewed = [summary, ...items].some(({ skew }) => skew.length > 0);
  return {
    items,
    summary,
    errors,
    complete: errors.length === 0,
    ...(strict && isSkewed ? { exitCode: exitCodes.unhealthy } : {}),
    heading: ({ isWide }) => versionLines(summary, isWide, items.length > 0),
    columns: versionColumns,
    name: nameOf,
    notes: (sorted) => [
      ...unknownNotes(summary),
      ...summary.skew.map(({ message }) => `skew: ${plainText(message)}`),
      ...sorted.flatMap(({ namespace, name, skew }) =>
        skew.map(({ message }) => `skew: ${namespace}/${name}: ${plainText(message)}`),
      ),
    ],
    counts: {
      unread: errors.filter(({ cluster }) => cluster !== null).length,
      clusters: new Set(items.map(({ cluster }) => JSON.stringify(cluster))).size,
    },
    advises: false,
  };
}

/** What a hub that answered did not let us see. */
function unknownNotes({ hub, controllers, agents }: VersionSummary): readonly string[] {
  if (hub === null) return [];
  return [
    ...(controllers === null ? [controllersUnknown] : []),
    ...(agents === null ? [agentsUnknown] : []),
  ];
}

const controllersUnknown = `The controllers of the hub are not known: you lack ${controllerRights}`;
const agentsUnknown =
  "The agents of pulled clusters are not known: you lack the right to list manifestworks.work.open-cluster-management.io";

interface HubAnswer extends Pick<VersionSummary, "hub" | "controllers" | "agents"> {
  /** Undefined when it is not known. */
  readonly serving: Serving | undefined;
  readonly components: readonly Component[];
  /** Undefined: the hub was not asked. */
  readonly read: ClustersRead<SpokeFacts> | undefined;
  readonly errors: readonly ReportError[];
}

async function askFleet(fleet: Fleet, live: boolean): Promise<HubAnswer> {
  const access = await fleet.access();
  const [version, found, listed] = await Promise.all([
    fleet.askHub(readKubernetesVersion),
    fleet.askHub((hub, deadline) => readControllers(hub, fleet.now, deadline)),
    listComponents(fleet),
  ]);
  const { components } = listed;
  const { reach } =
    live && components.some(isRemote) ? await access.spokes() : { reach: undefined };
  // Without a provider file the spokes are left out silently.
  const readable = components.filter((one) => live && (reach !== undefined || !isRemote(one)));
  const [read, agents] = await Promise.all([
    fleet.readInstalled(readable),
    fleet.askHub((hub, deadline) => readAgents(components, hub, deadline)),
  ]);
  return {
    hub: { server: access.hub.server, kubernetes: version ?? null },
    ...found,
    agents,
    components,
    read,
    errors: [...listed.errors, ...read.unread],
  };
}

/** Judges the Leases when they are read: spokes that answer later take their time. */
async function readControllers(
  hub: KubeClient,
  now: () => Date,
  signal: AbortSignal,
): Promise<Pick<HubAnswer, "controllers" | "serving">> {
  const { deployments, leases = [] } = await findControllers(hub, signal);
  return {
    controllers: deployments?.map(controllerVersionOf) ?? null,
    serving: servingOf(leases, now().getTime()),
  };
}

function servingReplicas({ shards, parts, holders, spare }: Serving): VersionSummary["replicas"] {
  const of = (name: string | null, own: readonly Part[]): ServingReplica => ({
    name,
    shards: own.filter((part) => part !== "fleet"),
    fleet: own.some((part) => part === "fleet" || shards === 1),
  });
  const byName = Map.groupBy(holders.keys(), (part) => holders.get(part) ?? "");
  const replicas = [
    ...[...byName].map(([name, own]) => of(name, own)),
    ...spare.map((name) => of(name, [])),
  ].toSorted(byText(({ name }) => name ?? ""));
  const unserved = parts.filter((part) => !holders.has(part));
  return unserved.length === 0 ? replicas : [...replicas, of(null, unserved)];
}

async function listComponents(fleet: Fleet): Promise<Pick<HubAnswer, "components" | "errors">> {
  const [access, selection] = [await fleet.access(), await fleet.selection()];
  try {
    const components = await listInstallations(access, selection, fleet.signal);
    return { components, errors: [] };
  } catch (error) {
    if (error instanceof NotServedError) return { components: [], errors: [] };
    const message = deniedMessage(error);
    return { components: [], errors: [{ reason: "Forbidden", message, cluster: null }] };
  }
}

/** The versions of a component, from its object on the hub and from its cluster. `facts`: undefined when it was not read. */
export function versionItemOf(
  component: Component,
  facts: SpokeFacts | undefined,
  known: KnownVersions,
): VersionItem {
  const { kind } = component;
  const live = facts === undefined ? null : liveVersionsOf(deploymentsOf(component, facts));
  const kubernetes = facts?.kubernetesVersion ?? null;
  const row = installationRow(component);
  return {
    ...row,
    liveVersions: live,
    kubernetes,
    nextVersion: nextVersion(kind, row.version, known[kind]),
    skew: skewOf(component, { known: known[kind], live, kubernetes }),
  };
}

function deploymentsOf(component: Component, facts: SpokeFacts): readonly WorkloadFact[] {
  return workloadsOf(component, facts).filter(({ kind }) => kind === "Deployment");
}

function liveVersionsOf(
  deployments: readonly { readonly version: string | null }[],
): readonly LiveVersion[] {
  const groups = Map.groupBy(deployments, (deployment) => deployment.version);
  return [...groups]
    .map(([of, all]) => ({ version: of, deployments: all.length }))
    .toSorted((a, b) => b.deployments - a.deployments);
}
