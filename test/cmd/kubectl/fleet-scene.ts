import { readFile, writeFile } from "node:fs/promises";

import { componentKinds, operatorApiVersion, type ComponentKind } from "../../../api/component.ts";
import { timestampOf } from "../../../api/conditions.ts";
import type { OwnerReference } from "../../../api/kubernetes.ts";
import { anchorLabels, anchorNameOf, managedByValue } from "../../../installation/anchor.ts";
import { spokeNamespaceAnnotation } from "../../../installation/installation-namespace.ts";
import type { Cluster, Fleet } from "../../fleet/fleet.ts";
import { conditionOf } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { kubectlWith, pathWithPlugin, patience } from "./plugin-folder.ts";
import type { Ran, RunOptions } from "./run-knfleet.ts";
import { runHere } from "./run-text.ts";

interface InstallationPlan {
  readonly kind: ComponentKind;
  readonly namespace: string;
  /** Name of the ClusterProfile in namespace `fleet`; absent: the hub itself. */
  readonly profile?: string;
  readonly ready?: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether a controller of ours says where it is installed: in the namespace of its own name. Default true. */
  readonly recorded?: boolean;
}

/** Writes a component on the hub as a controller would leave it: hand-written status, Ready=True unless said otherwise. */
export async function createComponent(hub: Cluster, plan: InstallationPlan): Promise<string> {
  const { kind, namespace, profile, ready = "True", reason } = plan;
  const { label } = componentKinds[kind];
  const named = { apiVersion: operatorApiVersion, kind, metadata: { namespace, name: label } };
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const { metadata } = await hub.admin.apply({
    ...named,
    metadata: {
      ...named.metadata,
      labels: plan.labels ?? {},
      ...(profile === undefined || plan.recorded === false
        ? {}
        : { annotations: { [spokeNamespaceAnnotation]: namespace } }),
      ...(plan.finalizers === undefined ? {} : { finalizers: plan.finalizers }),
    },
    spec: profile === undefined ? {} : { clusterProfileRef: { namespace: "fleet", name: profile } },
  });
  const condition = {
    type: "Ready",
    status: ready,
    lastTransitionTime: timestampOf(new Date()),
    ...(reason === undefined ? {} : { reason, message: `Because of ${reason}` }),
  };
  await hub.admin.apply(
    {
      ...named,
      status: {
        observedGeneration: metadata.generation,
        version: "1.23.0",
        conditions: [condition],
      },
    },
    { subresource: "status" },
  );
  return metadata.uid;
}

interface SpokePlan {
  readonly kind: ComponentKind;
  readonly namespace: string;
  /** Deployments that become available. */
  readonly healthy: readonly string[];
  /** Deployments of which no pod can be scheduled. */
  readonly broken?: readonly string[];
  /** Owner of the Deployments; absent: an anchor that is made. */
  readonly owner?: OwnerReference;
}

/** Writes what an installation leaves on its cluster, and waits until the healthy Deployments are available. */
export async function installByHand(cluster: Cluster, plan: SpokePlan): Promise<void> {
  const { kind, namespace, healthy, broken = [] } = plan;
  const { label } = componentKinds[kind];
  await cluster.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const owner = plan.owner ?? (await createAnchor(cluster, plan));
  for (const name of [...healthy, ...broken]) {
    const pod = { "knfleet.dev/test": name };
    await cluster.admin.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        namespace,
        name,
        labels: { "app.kubernetes.io/name": label },
        ownerReferences: [owner],
      },
      spec: {
        // What cannot start is late at once, and not in progress.
        ...(broken.includes(name) ? { progressDeadlineSeconds: 1 } : {}),
        selector: { matchLabels: pod },
        template: {
          metadata: { labels: pod },
          spec: {
            containers: [{ name: "main", image: `example.com/${name}:1.23.0` }],
            ...(broken.includes(name) ? { nodeSelector: { nowhere: "true" } } : {}),
          },
        },
      },
    });
  }
  for (const name of healthy) await waitUntilAvailable(cluster, { namespace, name });
  for (const name of broken) await waitUntilLate(cluster, { namespace, name });
}

async function createAnchor(
  { admin }: Cluster,
  { kind, namespace }: Pick<SpokePlan, "kind" | "namespace">,
): Promise<OwnerReference> {
  const { label } = componentKinds[kind];
  const name = anchorNameOf({ kind, name: label });
  const labels = {
    [anchorLabels.managedBy]: managedByValue,
    [anchorLabels.componentName]: label,
  };
  const anchor = { apiVersion: "v1", kind: "ConfigMap" };
  const { metadata } = await admin.apply({ ...anchor, metadata: { namespace, name, labels } });
  return { ...anchor, name, uid: metadata.uid };
}

async function waitUntilAvailable(
  cluster: Cluster,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace, name };
  await waitFor(`Deployment ${name} on ${cluster.name}`, async () => {
    return conditionOf(await cluster.admin.get(key), "Available")?.status === "True";
  });
}

async function waitUntilLate(
  cluster: Cluster,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace, name };
  await waitFor(`Deployment ${name} on ${cluster.name} to be late`, async () => {
    return conditionOf(await cluster.admin.get(key), "Progressing")?.status === "False";
  });
}

/** A token that no cluster knows; it must appear in no output. */
export const wrongToken = "not-a-token-of-any-cluster";

/** How the command line is run against a fleet. */
export interface FleetScene {
  /** Kubeconfig of the hub; its context's namespace is `team-a`. */
  readonly kubeconfig: string;
  readonly providerFile: string;
  /** The same without a kubeconfig for the plugins, which then have to find the hub by themselves. */
  readonly bareProviderFile: string;
  /** Runs `kubectl knfleet ARGS` inside this process; with `during` as a person types it: the real kubectl finds the plugin. Nothing but `env` says where the fleet is. */
  knfleet(args: readonly string[], options?: RunOptions): Promise<Ran>;
}

/**
 * A fleet in five states: Serving in `team-a` healthy on spoke-1; Eventing in `team-a`, whose hub object says Ready, with
 * one of three Deployments down on spoke-2; Serving in `team-b` on a spoke whose address answers nobody; Eventing in
 * `team-b` on the hub itself and healthy; Serving in `team-c` on a spoke that refuses the credential.
 */
export async function setScene(fleet: Fleet): Promise<FleetScene> {
  const { hub } = fleet;
  const [first, second] = [fleet.spoke("spoke-1"), fleet.spoke("spoke-2")];
  await fleet.addProfile(first, { plugin: "secretreader" });
  await fleet.addProfile(second, { plugin: "kubeconfig-secretreader" });
  // Port 9 (discard) of the loopback address: nobody listens.
  await fleet.addProfile(second, {
    plugin: "secretreader",
    name: "spoke-gone",
    via: "https://127.0.0.1:9",
  });
  const denied = await fleet.addProfile(first, { plugin: "secretreader", name: "spoke-denied" });
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { ...denied.secret } };
  await hub.admin.apply({ ...secret, stringData: { token: wrongToken } });
  const labels = { env: "prod" };
  const serving = { kind: "KnativeServing", namespace: "team-a" } as const;
  const eventing = { kind: "KnativeEventing", namespace: "team-a" } as const;
  const local = { kind: "KnativeEventing", namespace: "team-b" } as const;
  await createComponent(hub, { ...serving, profile: "spoke-1", labels });
  await createComponent(hub, { ...eventing, profile: "spoke-2" });
  await createComponent(hub, {
    kind: "KnativeServing",
    namespace: "team-b",
    profile: "spoke-gone",
  });
  await createComponent(hub, { ...serving, namespace: "team-c", profile: "spoke-denied" });
  const uid = await createComponent(hub, local);
  const { label: name } = componentKinds[local.kind];
  const owner = { apiVersion: operatorApiVersion, kind: local.kind, name, uid };
  await installByHand(first, { ...serving, healthy: ["activator", "controller"] });
  await installByHand(second, {
    ...eventing,
    healthy: ["eventing-controller", "eventing-webhook"],
    broken: ["imc-dispatcher"],
  });
  await installByHand(hub, { ...local, healthy: ["eventing-controller"], owner });
  const providerFile = await fleet.providerFile();
  const path = await pathWithPlugin(fleet.folder);
  const kubectl = await kubectlWith(path);
  return {
    kubeconfig: await hub.writeKubeconfig("person.kubeconfig", {
      identity: hub.adminIdentity,
      namespace: "team-a",
    }),
    providerFile,
    bareProviderFile: await withoutEnvironment(providerFile),
    knfleet: (args, options = {}) =>
      options.during === undefined
        ? runHere(args, { PATH: path, ...patience, ...options.env })
        : kubectl(["knfleet", ...args], options),
  };
}

async function withoutEnvironment(providerFile: string): Promise<string> {
  const bare = JSON.stringify(JSON.parse(await readFile(providerFile, "utf8")), (key, value) =>
    key === "env" ? [] : value,
  );
  const path = `${providerFile.replace(/\.json$/, "")}-bare.json`;
  await writeFile(path, bare);
  return path;
}
