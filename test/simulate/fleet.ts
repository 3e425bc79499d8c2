import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../api/component.ts";
import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { Manifest, ObjectKey } from "../../api/kubernetes.ts";
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
  /** Uids of components that a restored cluster knows or has objects of, and nobody has any more: what is left of them is for people. */
  readonly orphans: Set<string>;
}

export interface FleetOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly spokes: number;
  /** So many of them are in the first stage of sets at the beginning. */
  readonly canaries: number;
}

/** A hub that serves our kinds, and spokes that are published on it. */
export function simulatedFleet({
  time,
  random,
  spokes: count,
  canaries,
}: FleetOptions): SimulatedFleet {
  const clock = time.clock(random.fork());
  const pods = random.fork();
  const clusterOf = (name: string): SimulatedCluster =>
    new SimulatedCluster(name, { clock, random, availableAfterMs: () => startMs(pods) });
  const hub = clusterOf("hub");
  const spokes = Array.from({ length: count }, (_, index) => clusterOf(`spoke-${index + 1}`));
  for (const spoke of spokes) spoke.token = firstToken(spoke.name);
  for (const object of hubObjects) hub.put(object);
  for (const [at, spoke] of spokes.entries()) {
    for (const object of publicationOf(spoke, at < canaries ? "0" : "1")) hub.put(object);
  }
  return {
    hub,
    spokes,
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
];

function definitionOf(apiVersion: string, kind: string, plural: string): Manifest {
  const [group = "", name] = apiVersion.split("/");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
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

/** How a spoke gets on the hub: its credential, and its ClusterProfile with the way to it. */
function publicationOf({ name, server }: SimulatedCluster, ring: string): readonly Manifest[] {
  const manager = "simulation";
  const cluster = {
    server,
    extensions: [{ name: "client.authentication.k8s.io/exec", extension: { clusterName: name } }],
  };
  return [
    credentialOf(name, firstToken(name)),
    {
      apiVersion: clusterProfileApiVersion,
      kind: "ClusterProfile",
      metadata: {
        namespace: fleetNamespace,
        name,
        labels: { "x-k8s.io/cluster-manager": manager, ring },
      },
      spec: { displayName: name, clusterManager: { name: manager } },
      status: {
        conditions: [
          {
            type: "ControlPlaneHealthy",
            status: "True",
            reason: "Healthy",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
        version: { kubernetes: "1.36.3" },
        accessProviders: [{ name: "secretreader", cluster }],
      },
    },
  ];
}
