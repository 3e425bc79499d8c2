import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { rightTexts, rightTo } from "../../../../access/kube/missing-right.ts";
import { allKinds, type Component, componentKeyOf } from "../../../../api/component.ts";
import { recordAt } from "../../../../api/fields.ts";
import { targetId } from "../../../../api/keys.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { isOfLibrary } from "../../../../controller/apply/adoption/take-over.ts";
import { inventoryTextOf } from "../../../../installation/anchor-object.ts";
import { anchorAnnotations, anchorNameOf } from "../../../../installation/anchor.ts";
import {
  anchoredNamespaces,
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
} from "../../../../installation/installation-namespace.ts";
import { decodeInventory } from "../../../../installation/inventory.ts";
import { hashOf } from "../../../../render/fields.ts";
import { readHubId } from "../../compare/target-installation.ts";
import { UsageError } from "../../errors.ts";
import { listSets } from "../../hub/fleet-sets.ts";
import { hubViewOf, listInstallations } from "../../hub/installations.ts";
import type { ReportError } from "../../output/report.ts";
import { lackText, throwDenied } from "../../rights/missing-rights.ts";
import { allSetKinds } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { readEach, type ReadLimits, unreadErrors } from "../../spokes/read-clusters.ts";
import { guardObjects } from "./guard-objects.ts";
import type {
  AnchorState,
  ClusterState,
  ComponentState,
  Direction,
  MigrationFacts,
  Workload,
} from "./migration-facts.ts";
import { readHub, type RecordPlace } from "./read-hub.ts";

/** What a look at the fleet needs. */
export interface MigrationReading {
  readonly direction: Direction;
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly now: () => Date;
}

/** The facts of a migration, and the components and failures behind them. */
export interface MigrationLook {
  readonly facts: MigrationFacts;
  readonly components: readonly Component[];
  readonly recordPlace: RecordPlace;
  readonly errors: readonly ReportError[];
}

/** Reads the hub and every cluster of its components. Throws the errors of KubeClient for the hub; a cluster that cannot be read is an error of the result. */
export async function readMigration(
  { direction, access, limits, now }: MigrationReading,
  signal: AbortSignal,
): Promise<MigrationLook> {
  const { hub, hubTimeoutMs: timeoutMs } = access;
  // What has not the form of its kind may be what a migration must not touch.
  const { malformed: _, ...strict } = access;
  const [hubId, components, sets, state] = await Promise.all([
    readHubId(access, signal),
    listInstallations(strict, { kinds: allKinds, names: [] }, signal),
    listSets(strict, { kinds: allSetKinds }, signal),
    readHub({ hub, direction, timeoutMs, now: now() }, signal),
  ]).catch(throwDenied("the hub"));
  if (hubId === undefined) {
    const right = rightTo("get", knownResource("v1", "Namespace"));
    throw new UsageError(lackText("the hub", rightTexts([right])));
  }
  const byCluster = Map.groupBy(components, targetId);
  const readings = await readEach(
    components,
    {
      access,
      limits,
      read: ({ id, client }, deadline) =>
        readCluster(byCluster.get(id) ?? [], { client, direction, hubId }, deadline),
    },
    signal,
  );
  const read = [...readings].flatMap(([id, reading]) =>
    reading.kind === "read" ? [{ id, ...reading.facts }] : [],
  );
  const states = new Map(read.flatMap((cluster) => [...cluster.installations]));
  const { recordPlace, ...hubFacts } = state;
  return {
    facts: {
      direction,
      hubId,
      ...hubFacts,
      recordNamespace: recordPlace.namespace,
      sets: sets.map(({ kind, metadata: { namespace, name }, spec }) => {
        return { kind, namespace, name, deletesComponents: spec.deletionPolicy === "Delete" };
      }),
      components: components.map((component) => ({
        ...componentStateOf(component),
        ...(states.get(component.metadata.uid) ?? { anchor: null, place: null }),
      })),
      clusters: read.map(({ id, workloads, guards }) => ({ id, workloads, guards })),
    },
    components,
    recordPlace,
    errors: unreadErrors(readings),
  };
}

type Installation = Pick<ComponentState, "anchor" | "place">;

function componentStateOf(component: Component): Omit<ComponentState, keyof Installation> {
  const { metadata } = component;
  const { state, reason, message } = hubViewOf(component);
  return {
    ...componentKeyOf(component),
    uid: metadata.uid,
    clusterId: targetId(component),
    isReady: state === "Ready",
    isDeleting: state === "Deleting",
    message: [reason, message].filter((text) => text !== null && text !== "").join(": "),
  };
}

interface ClusterReading extends Omit<ClusterState, "id"> {
  /** By uid of the component. */
  readonly installations: ReadonlyMap<string, Installation>;
}

const configMaps = knownResource("v1", "ConfigMap");
const deployments = knownResource("apps/v1", "Deployment");

async function readCluster(
  components: readonly Component[],
  {
    client,
    direction,
    hubId,
  }: Pick<MigrationFacts, "direction" | "hubId"> & { client: KubeClient },
  signal: AbortSignal,
): Promise<ClusterReading> {
  const found = await Promise.all(
    components.map(async (component) => {
      const anchors = await readAnchors(component, client, signal);
      const place = installationNamespace(
        component,
        defaultSpokeNamespace,
        anchoredNamespaces(anchors),
      );
      const anchor = anchors.find(({ namespace }) => namespace === place) ?? null;
      return { component, anchor, place };
    }),
  );
  const listed = found.map(async ({ component, anchor, place }) => {
    const owners = [component.metadata.uid, ...(anchor === null ? [] : [anchor.uid])];
    const { items } = await client.list({ resource: deployments, namespace: place }, {}, signal);
    return items.filter((object) => isOwned(object, owners)).map(workloadOf);
  });
  const [workloads, guards] = await Promise.all([
    Promise.all(listed),
    // Only the way back takes the guard away.
    direction === "to-upstream" ? guardObjects(client, hubId, signal) : [],
  ]);
  return {
    installations: new Map(
      found.map(({ component, anchor, place }) => [component.metadata.uid, { anchor, place }]),
    ),
    workloads: workloads.flat(),
    guards: guards.length,
  };
}

type FoundAnchor = AnchorState & { readonly uid: string };

async function readAnchors(
  component: Component,
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly FoundAnchor[]> {
  const { kind, metadata } = component;
  const name = anchorNameOf({ kind, name: metadata.name });
  const found = await Promise.all(
    possibleNamespaces(component).map((namespace) =>
      client.get({ resource: configMaps, namespace, name }, {}, signal),
    ),
  );
  return found.flatMap((object) => (object === undefined ? [] : [anchorStateOf(object)]));
}

function anchorStateOf(object: KubeObject): FoundAnchor {
  const { namespace = "", name, uid, annotations = {} } = object.metadata;
  const inventory = decodeInventory(inventoryTextOf(object));
  return {
    namespace,
    name,
    uid,
    hubId: annotations[anchorAnnotations.hubId] ?? null,
    componentUid: annotations[anchorAnnotations.componentUid] ?? null,
    isComplete: inventory?.complete === true && inventory.adopting !== true,
    isImmutable: object["immutable"] === true,
  };
}

function isOwned({ metadata: { ownerReferences = [] } }: KubeObject, owners: readonly string[]) {
  return ownerReferences.some(({ uid }) => owners.includes(uid));
}

function workloadOf(object: KubeObject): Workload {
  const { namespace = "", name, uid, generation = 0 } = object.metadata;
  const template: unknown = recordAt(object, "spec")["template"];
  return {
    namespace,
    name,
    uid,
    generation,
    template: hashOf(template),
    isUpstreams: isOfLibrary(object),
  };
}
