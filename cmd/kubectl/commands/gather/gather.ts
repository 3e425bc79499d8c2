import { ifServed } from "../../../../access/kube/api-error.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import {
  allKinds,
  type ClusterProfileRef,
  type Component,
  componentKeyOf,
} from "../../../../api/component.ts";
import { managedClusterOf } from "../../../../api/delivery.ts";
import { byText, isRecord } from "../../../../api/fields.ts";
import { nameId, targetId } from "../../../../api/keys.ts";
import { isNarrowed } from "../../action.ts";
import type { Bundle, RecordedCluster, RecordedTable } from "../../bundle/bundle.ts";
import { namespacesOf } from "../../compare/rendering-options.ts";
import { controllerRights, listControllerDeployments } from "../../hub/find-controller.ts";
import { listInstallations } from "../../hub/installations.ts";
import { listSelectedProfiles } from "../../hub/profiles.ts";
import { stringAt } from "../../selection/fields.ts";
import { missingNames, type Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { isRemote } from "../../spokes/live-view.ts";
import type { ObjectRow } from "../../spokes/object-table.ts";
import { type ReadLimits, readTargets, targetsOf } from "../../spokes/read-clusters.ts";
import { ifDenied, type Reading } from "../../spokes/spoke-reading.ts";
import { type ClusterFacts, type ClusterPlan, gatherCluster } from "./gather-cluster.ts";
import { planSets } from "./gathered-sets.ts";

interface GatherDeps {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly limits: ReadLimits;
}

interface Gathered {
  /** The hub first. */
  readonly clusters: readonly RecordedCluster[];
  /** Whether all installations, and every cluster with a ClusterProfile, were read. */
  readonly isWhole: boolean;
  /** Names in the selection that no installation has. */
  readonly missing: readonly string[];
  /** What of the hub could not be found out. */
  readonly errors: Bundle["errors"];
}

/** Reads the selected installations and their clusters; nothing is redacted yet. Throws only when the hub cannot be read. */
export async function gather(
  { access, selection, limits }: GatherDeps,
  signal: AbortSignal,
): Promise<Gathered> {
  const components = await listInstallations(access, selection, signal);
  const profiles = isWholeFleet(selection) ? await listProfiles(access, signal) : undefined;
  const refs = (profiles ?? []).map(({ metadata: { namespace, name } }) => ({ namespace, name }));
  const used = targetsOf(components.filter(isRemote));
  const usedIds = new Set(used.flatMap(({ ref }) => (ref === undefined ? [] : [nameId(ref)])));
  const unused = refs.filter((ref) => !usedIds.has(nameId(ref)));
  const traces = profiles !== undefined;
  const providers = new Map<string, string | null>();
  const [{ hub, errors }, readings] = await Promise.all([
    gatherHub(components, { access, selection, traces, refs }, signal),
    readTargets(
      [...used, ...unused.map((ref) => ({ ref }))],
      {
        access,
        limits,
        read: ({ id, client, provider }, deadline) => {
          providers.set(id, provider);
          return gatherCluster(client, { ...planSpoke(id, components), traces }, deadline);
        },
      },
      signal,
    ),
  ]);
  const spokes = [...readings].toSorted(byText(([key]) => key));
  const clusters = [
    recordedCluster({ cluster: null, folder: "hub", provider: null }, { kind: "read", facts: hub }),
    ...spokes.map(([id, reading], at) => {
      const folder = `spokes/${at + 1}-${id.replaceAll(/[^\w.-]/g, "-").slice(0, 60)}`;
      return recordedCluster({ cluster: id, folder, provider: providers.get(id) ?? null }, reading);
    }),
  ];
  const missing = missingNames(selection, components.map(componentKeyOf));
  return { clusters, isWhole: traces, missing, errors };
}

/** Whether a selection has every installation. */
export function isWholeFleet(selection: Selection): boolean {
  const { kinds, namespace } = selection;
  return kinds.length === allKinds.length && namespace === undefined && !isNarrowed(selection);
}

/** Lists the ClusterProfiles of the hub; none when it does not serve them, undefined when they may not be listed. */
async function listProfiles(
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<readonly ClusterProfile[] | undefined> {
  const flags = { namespace: undefined, cluster: undefined, on: undefined };
  return await ifServed(listSelectedProfiles({ access, flags }, signal))
    .then((profiles) => profiles ?? [])
    .catch(ifDenied);
}

interface HubPlanDeps extends Pick<GatherDeps, "access" | "selection"> {
  readonly traces: boolean;
  /** The ClusterProfiles that the bundle has besides those of the components. */
  readonly refs: readonly ClusterProfileRef[];
}

async function gatherHub(
  components: readonly Component[],
  deps: HubPlanDeps,
  signal: AbortSignal,
): Promise<{ readonly hub: ClusterFacts; readonly errors: Gathered["errors"] }> {
  const { plan, errors } = await planHub(components, deps, signal);
  return { hub: await gatherCluster(deps.access.hub, plan, signal), errors };
}

const controllersUnknown = `The namespaces of the controllers are not in the bundle: you lack ${controllerRights} in the whole hub`;

const setsUnknown =
  "Fleet sets are not in the bundle: you lack the right to list knativeservingsets.knfleet.dev or knativeeventingsets.knfleet.dev in the whole hub, or in the namespace of -n";

async function planHub(
  components: readonly Component[],
  { access, selection, traces, refs }: HubPlanDeps,
  signal: AbortSignal,
): Promise<{ readonly plan: ClusterPlan; readonly errors: Gathered["errors"] }> {
  const { hub, hubTimeoutMs } = access;
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const [deployments, sets] = await Promise.all([
    listControllerDeployments(hub, deadline).catch(ifDenied),
    planSets(components, { access, selection, isWhole: traces }, deadline)
      .then((plan) => plan ?? null)
      .catch(ifDenied),
  ]);
  const places = [
    ...components.map(({ metadata: { namespace } }) => namespace),
    ...components.flatMap(({ spec }) => spec?.clusterProfileRef?.namespace ?? []),
    ...refs.map(({ namespace }) => namespace),
    ...(deployments ?? []).map(({ namespace }) => namespace),
    ...(sets?.sets ?? []).map(({ metadata: { namespace } }) => namespace),
  ];
  const uids = new Set(components.map(({ metadata }) => metadata.uid));
  const profiles = new Set([...components.map(targetId), ...refs.map(nameId)]);
  const plan: ClusterPlan = {
    namespaces: [...new Set(places)],
    pulled: [...new Set(components.flatMap((one) => managedClusterOf(one) ?? []))],
    traces,
    ...(sets === undefined || sets === null ? {} : { sets }),
    wantsHubObject: (object) => {
      const [namespace, name] = [
        stringAt(object, "metadata", "namespace"),
        stringAt(object, "metadata", "name"),
      ];
      const uid = stringAt(object, "metadata", "uid") ?? "";
      return (
        uids.has(uid) ||
        access.malformed?.has(uid) === true ||
        profiles.has(`${namespace ?? ""}/${name ?? ""}`)
      );
    },
  };
  const unknown = [
    ...(deployments === undefined ? [controllersUnknown] : []),
    ...(sets === undefined ? [setsUnknown] : []),
  ];
  const errors = unknown.map(
    (message) => ({ reason: "Forbidden", message, cluster: null }) as const,
  );
  return { plan, errors };
}

function planSpoke(id: string, components: readonly Component[]): Pick<ClusterPlan, "namespaces"> {
  const own = components.filter((component) => targetId(component) === id);
  return { namespaces: namespacesOf(own) };
}

function recordedCluster(
  place: Pick<RecordedCluster, "cluster" | "folder" | "provider">,
  reading: Reading<ClusterFacts>,
): RecordedCluster {
  if (reading.kind === "unread") {
    const { state, reason, message } = reading;
    const nothing = { server: null, kubernetesVersion: null, objects: 0, tables: [] };
    return { ...place, ...nothing, unread: { state, reason, message } };
  }
  const { server, kubernetesVersion, tables } = reading.facts;
  const objects = tables.reduce((sum, { rows }) => sum + rows.length, 0);
  return { ...place, server, kubernetesVersion, objects, tables, unread: null };
}

/** The clusters with every row replaced by the result of `change`. */
export function mapRows(
  clusters: readonly RecordedCluster[],
  change: (row: ObjectRow, table: RecordedTable) => ObjectRow,
): readonly RecordedCluster[] {
  return clusters.map((cluster) => ({
    ...cluster,
    tables: cluster.tables.map((table) => ({
      ...table,
      rows: table.rows.map((row) => change(row, table)),
    })),
  }));
}

/** Names of objects and namespaces, and values of labels: texts that are no secrets. */
export function objectNames(clusters: readonly RecordedCluster[]): readonly string[] {
  const objects = clusters.flatMap(({ tables }) =>
    tables.flatMap(({ rows }) => rows.map(({ object }) => object)),
  );
  return objects.flatMap(({ metadata }) => {
    const labels = isRecord(metadata) && isRecord(metadata["labels"]) ? metadata["labels"] : {};
    const texts = [
      stringAt(metadata, "name"),
      stringAt(metadata, "namespace"),
      ...Object.values(labels),
    ];
    return texts.filter((text) => typeof text === "string");
  });
}
