import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../api/component.ts";
import {
  availableCondition,
  managedClusterApiVersion,
  managedClusterLabel,
  ocmManager,
  workApiVersion,
} from "../../api/delivery.ts";
import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { Manifest, ObjectKey } from "../../api/kubernetes.ts";
import type { SpokeRequest } from "../simulator/spoke-request.ts";
import { SimulatedCluster } from "./cluster.ts";
import type { Random } from "./random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Namespace of the ClusterProfiles, the components and the sets. */
export const fleetNamespace = "fleet";
export const credentialNamespace = "fleet-credentials";

/** The clusters of a simulation. */
export interface SimulatedFleet extends Disposable {
  readonly hub: SimulatedCluster;
  readonly spokes: readonly SimulatedCluster[];
  /** The spokes to which works of Open Cluster Management may bring components. */
  readonly pulling: readonly SimulatedCluster[];
  /** Uids of components that a restored cluster knows or has objects of, and nobody has any more: what is left of them is for people. */
  readonly orphans: Set<string>;
}

export interface FleetOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly spokes: number;
  /** So many of them are in the first stage of sets at the beginning. */
  readonly canaries: number;
  readonly pull: Pulling;
  /** Called for each request that a cluster lets in. */
  readonly onRequest?: (request: SpokeRequest) => void;
}

/** How the last clusters of a fleet are managed by Open Cluster Management. */
export interface Pulling {
  /** So many of them are. */
  readonly spokes: number;
  /** The hub can reach them, too. */
  readonly isDialled: boolean;
}

/** The name of a spoke. */
export function spokeName(at: number): string {
  return `spoke-${at + 1}`;
}

/** A hub that serves our kinds, and spokes that are published on it. */
export function simulatedFleet({
  time,
  random,
  spokes: count,
  canaries,
  pull,
  onRequest,
}: FleetOptions): SimulatedFleet {
  const clock = time.clock(random.fork());
  const pods = random.fork();
  const clusterOf = (name: string): SimulatedCluster =>
    new SimulatedCluster(name, {
      clock,
      random,
      availableAfterMs: () => startMs(pods),
      onRequest,
    });
  const hub = clusterOf("hub");
  const spokes = Array.from({ length: count }, (_, index) => clusterOf(spokeName(index)));
  for (const spoke of spokes) spoke.token = firstToken(spoke.name);
  for (const object of hubObjects) hub.put(object);
  const pulling = spokes.slice(count - pull.spokes);
  for (const [at, spoke] of spokes.entries()) {
    const isDialled = !pulling.includes(spoke) || pull.isDialled;
    const manager = pulling.includes(spoke) ? ocmManager : "simulation";
    const ring = at < canaries ? "0" : "1";
    hub.put(credentialOf(spoke.name, firstToken(spoke.name)));
    hub.put(profileOf(spoke, { ring, manager, isDialled }));
  }
  for (const { name } of pulling) for (const object of managedClusterOf(name)) hub.put(object);
  return {
    hub,
    spokes,
    pulling,
    orphans: new Set(),
    [Symbol.dispose]: () => {
      for (const cluster of [hub, ...spokes]) cluster[Symbol.dispose]();
    },
  };
}

/** How long a pod takes to start: some wait for a node. */
function startMs(pods: Random): number {
  return pods.isHit(0.1) ? pods.between(20_000, 150_000) : pods.between(50, 20_000);
}

const namespaces = [fleetNamespace, credentialNamespace, "knfleet-system"];

const hubObjects: readonly Manifest[] = [
  ...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  definitionOf(operatorApiVersion, "KnativeServing", "knativeservings"),
  definitionOf(operatorApiVersion, "KnativeEventing", "knativeeventings"),
  definitionOf(fleetSetApiVersion, "KnativeServingSet", "knativeservingsets"),
  definitionOf(fleetSetApiVersion, "KnativeEventingSet", "knativeeventingsets"),
  definitionOf(clusterProfileApiVersion, "ClusterProfile", "clusterprofiles"),
  definitionOf(workApiVersion, "ManifestWork", "manifestworks"),
  definitionOf(managedClusterApiVersion, "ManagedCluster", "managedclusters", "Cluster"),
];

function definitionOf(
  apiVersion: string,
  kind: string,
  plural: string,
  scope = "Namespaced",
): Manifest {
  const [group = "", name] = apiVersion.split("/");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural },
      versions: [{ name, served: true, storage: true, subresources: { status: {} } }],
    },
  };
}

/** The key of the ClusterProfile of a spoke. */
export function profileKey(name: string): ObjectKey {
  const apiVersion = clusterProfileApiVersion;
  return { apiVersion, kind: "ClusterProfile", namespace: fleetNamespace, name };
}

/** Every token has this, so that one is seen where none may be. */
export const tokenMark = "token-of-";

function firstToken(spoke: string): string {
  return `${tokenMark}${spoke}`;
}

/** The Secret on the hub with the token for a spoke. */
export function credentialOf(name: string, token: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: credentialNamespace, name },
    data: { token: Buffer.from(token).toString("base64") },
  };
}

/** The ManagedCluster of a spoke, and the namespace of the works for it. */
function managedClusterOf(name: string): readonly Manifest[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name } },
    {
      apiVersion: managedClusterApiVersion,
      kind: "ManagedCluster",
      metadata: { name },
      spec: { hubAcceptsClient: true },
      status: { conditions: conditionsOf(availableCondition, "True") },
    },
  ];
}

function conditionsOf(type: string, status: string): readonly object[] {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return [{ type, status, reason: type, message: "", lastTransitionTime }];
}

/** The ClusterProfile of a spoke, with the way to it if there is one. */
function profileOf(
  { name, server }: SimulatedCluster,
  {
    ring,
    manager,
    isDialled,
  }: { readonly ring: string; readonly manager: string; readonly isDialled: boolean },
): Manifest {
  const labels = {
    "x-k8s.io/cluster-manager": manager,
    ring,
    ...(manager === ocmManager && { [managedClusterLabel]: name }),
  };
  const cluster = {
    server,
    extensions: [{ name: "client.authentication.k8s.io/exec", extension: { clusterName: name } }],
  };
  return {
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace: fleetNamespace, name, labels },
    spec: { displayName: name, clusterManager: { name: manager } },
    status: {
      conditions: conditionsOf("ControlPlaneHealthy", "True"),
      version: { kubernetes: "1.36.3" },
      ...(isDialled && { accessProviders: [{ name: "secretreader", cluster }] }),
    },
  };
}
