import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component, ComponentKind } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import type { Part } from "../../../../api/shards.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { findControllers } from "../../hub/find-controller.ts";
import { listInstallations, NotServedError } from "../../hub/installations.ts";
import { type Serving, servingOf } from "../../hub/replicas.ts";
import { nameKey } from "../../output/names.ts";
import { type ReportDocument, type ReportError, reportOf, stampAt } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import { deploymentsOf } from "../../spokes/live-view.ts";
import {
  clusterIdOf,
  readClusters,
  type Readings,
  type ReadLimits,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import { type AgentVersion, readAgents } from "./agents.ts";
import type { OwnReleases } from "./own-releases.ts";
import {
  agentSkew,
  controllerSkew,
  type ControllerVersion,
  controllerVersionOf,
  type KnownVersions,
  type LiveVersion,
  nextVersion,
  type Skew,
  skewOf,
} from "./skew.ts";

/** The versions of one installation. */
export interface VersionItem {
  readonly namespace: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** The ClusterProfile of the target; null for the hub itself. */
  readonly cluster: { readonly namespace: string; readonly name: string } | null;
  /** Installed version, as the hub says. */
  readonly version: string | null;
  /** `spec.version`; null when the controller chooses. */
  readonly wantedVersion: string | null;
  /** Versions of the Deployments on the cluster, the most frequent first; null when it was not read. */
  readonly liveVersions: readonly LiveVersion[] | null;
  /** Of the target cluster; null when it was not read. */
  readonly kubernetes: string | null;
  /** The newest version of this release of knfleet to which one upgrade can lead; null without one. */
  readonly nextVersion: string | null;
  readonly skew: readonly Skew[];
}

interface VersionSummary {
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

export type VersionReport = ReportDocument<"Version", VersionSummary, VersionItem>;

export interface VersionDeps {
  /** Undefined: the client's version only. */
  readonly hub: HubDeps | undefined;
  readonly known: KnownVersions;
  readonly client: VersionSummary["client"];
  readonly now: () => Date;
}

interface HubDeps {
  /** Without access to spokes only the hub itself is read. */
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly selection: Selection;
  /** False: no cluster is read. */
  readonly live: boolean;
}

/**
 * The versions of this program, of the hub, of every selected installation and of its cluster. Throws when the hub cannot be asked for its
 * version; installations that may not be listed, and clusters that cannot be read, are in `errors`.
 */
export async function readVersions(
  { hub, known, client, now }: VersionDeps,
  signal: AbortSignal,
): Promise<VersionReport> {
  const said = hub === undefined ? nothing : await askHub(hub, now, signal);
  return reportOf("Version", stampAt(now(), client.version), {
    complete: said.errors.length === 0,
    summary: {
      client,
      hub: said.hub,
      controllers: said.controllers,
      agents: said.agents,
      skew: [
        ...controllerSkew(said.controllers, client.version),
        ...agentSkew(said.agents, client.version),
      ],
      shards: said.serving?.shards ?? null,
      replicas: said.serving === undefined ? null : servingReplicas(said.serving),
    },
    items: said.components
      .map((component) => versionItemOf(component, { readings: said.readings, known }))
      .toSorted(byText(nameKey)),
    errors: said.errors,
  });
}

interface HubAnswer extends Pick<VersionSummary, "hub" | "controllers" | "agents"> {
  /** Undefined when it is not known. */
  readonly serving: Serving | undefined;
  readonly components: readonly Component[];
  readonly readings: Readings;
  readonly errors: readonly ReportError[];
}

const nothing: HubAnswer = {
  hub: null,
  controllers: null,
  agents: null,
  serving: undefined,
  components: [],
  readings: new Map(),
  errors: [],
};

async function askHub(
  { access, limits, selection, live }: HubDeps,
  now: () => Date,
  signal: AbortSignal,
): Promise<HubAnswer> {
  const { hub, hubTimeoutMs } = access;
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const [version, found, listed] = await Promise.all([
    readKubernetesVersion(hub, deadline),
    readControllers(hub, now, deadline),
    listComponents(access, selection, deadline),
  ]);
  const { components } = listed;
  const isRemote = components.some(({ spec }) => spec?.clusterProfileRef !== undefined);
  const { reach } = live && isRemote ? await access.spokes() : { reach: undefined };
  // Without a provider file the spokes are left out silently.
  const readable = components.filter(({ spec }) => {
    return live && (reach !== undefined || spec?.clusterProfileRef === undefined);
  });
  const [readings, agents] = await Promise.all([
    readClusters(readable, { access, limits }, signal),
    readAgents(components, hub, deadline),
  ]);
  return {
    hub: { server: hub.server, kubernetes: version ?? null },
    ...found,
    agents,
    components,
    readings,
    errors: [...listed.errors, ...unreadErrors(readings)],
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

async function listComponents(
  access: ClusterAccess,
  selection: Selection,
  signal: AbortSignal,
): Promise<Pick<HubAnswer, "components" | "errors">> {
  try {
    const components = await listInstallations(access, selection, signal);
    return { components, errors: [] };
  } catch (error) {
    if (error instanceof NotServedError) return { components: [], errors: [] };
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    const { message } = error;
    return { components: [], errors: [{ reason: "Forbidden", message, cluster: null }] };
  }
}

/** The versions of a component, from its object on the hub and from its cluster. */
export function versionItemOf(
  component: Component,
  { readings, known }: { readonly readings: Readings; readonly known: KnownVersions },
): VersionItem {
  const { kind, metadata, spec, status } = component;
  const reading = readings.get(clusterIdOf(component));
  const facts = reading?.kind === "read" ? reading.facts : undefined;
  const live = facts === undefined ? null : liveVersionsOf(deploymentsOf(component, facts));
  const kubernetes = facts?.kubernetesVersion ?? null;
  const installed = status?.version ?? null;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    kind,
    cluster: spec?.clusterProfileRef ?? null,
    version: installed,
    wantedVersion: spec?.version ?? null,
    liveVersions: live,
    kubernetes,
    nextVersion: nextVersion(kind, installed, known[kind]),
    skew: skewOf(component, { known: known[kind], live, kubernetes }),
  };
}

function liveVersionsOf(
  deployments: readonly { readonly version: string | null }[],
): readonly LiveVersion[] {
  const groups = Map.groupBy(deployments, (deployment) => deployment.version);
  return [...groups]
    .map(([of, all]) => ({ version: of, deployments: all.length }))
    .toSorted((a, b) => b.deployments - a.deployments);
}

/** The exit code that a report stands for; a skew counts only with `--strict`. */
export function versionExitCode(
  { complete, summary, items }: VersionReport,
  { strict }: { readonly strict: boolean },
): ExitCode {
  const isSkewed = [summary, ...items].some(({ skew }) => skew.length > 0);
  if (strict && isSkewed) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}
