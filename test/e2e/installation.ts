import { componentKinds, operatorApiVersion, type ComponentKind } from "../../api/component.ts";
import { objectId } from "../../api/keys.ts";
import {
  keyOf,
  type KubeObject,
  type Manifest,
  type NamespacedName,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import { componentUidLabel, guardAnnotations } from "../../installation/anchor.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { clusterObjects } from "../support/cluster-objects.ts";
import { isVolatile } from "../support/spoke-dump.ts";

/** What a test wants installed; name and namespace are the usual ones of the kind. */
export interface Wanted {
  readonly kind: ComponentKind;
  /** Absent: on the hub itself. */
  readonly on?: NamespacedName;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** The conditions of a component that is whole, ours or upstream's. Spec: knative-operator.md 4.5. */
export const conditionNames: readonly string[] = [
  "DependenciesInstalled",
  "DeploymentsAvailable",
  "InstallSucceeded",
  "Ready",
  "TargetClusterResolved",
  "VersionMigrationEligible",
];

const kourier = {
  ingress: { kourier: { enabled: true } },
  config: { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } },
};

/** The component that a user would write: version 1.23, Serving with Kourier. */
export function componentOf({ kind, on, spec }: Wanted): Manifest {
  const name = componentKinds[kind].label;
  return {
    apiVersion: operatorApiVersion,
    kind,
    metadata: { name, namespace: name },
    spec: {
      version: "1.23",
      ...(kind === "KnativeServing" ? kourier : {}),
      ...(on === undefined
        ? {}
        : { clusterProfileRef: { namespace: on.namespace, name: on.name } }),
      ...spec,
    },
  };
}

/** Creates the namespace and the component on the hub and returns the stored component. */
export async function create(hub: Cluster, wanted: Wanted): Promise<KubeObject> {
  const component = componentOf(wanted);
  const { namespace = "" } = component.metadata;
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  return hub.admin.create(component);
}

function nameOf(kind: ComponentKind): ObjectKey {
  const name = componentKinds[kind].label;
  return { apiVersion: operatorApiVersion, kind, namespace: name, name };
}

export function read(hub: Cluster, kind: ComponentKind): Promise<KubeObject | undefined> {
  return hub.admin.get(nameOf(kind));
}

/** Changes the spec of a component by a merge patch and returns what is stored then. */
export function change(
  hub: Cluster,
  kind: ComponentKind,
  spec: Readonly<Record<string, unknown>>,
): Promise<KubeObject> {
  return hub.admin.patch(nameOf(kind), { spec });
}

/** Waits until the controller has looked at the generation that is stored now. */
export async function observed(hub: Cluster, kind: ComponentKind): Promise<KubeObject> {
  return waitFor(`${kind} to be observed`, async () => {
    const component = await read(hub, kind);
    const generation = component?.metadata.generation;
    return valueAt(component, "status", "observedGeneration") === generation && component;
  });
}

/** Asks the hub to delete the component; its finalizer keeps it until the spoke is clean. */
export async function remove(hub: Cluster, kind: ComponentKind): Promise<void> {
  await hub.admin.remove(nameOf(kind));
}

export async function gone(hub: Cluster, kind: ComponentKind, timeoutMs = 120_000): Promise<void> {
  await waitFor(`${kind} to be gone`, async () => (await read(hub, kind)) === undefined, {
    timeoutMs,
  });
}

/** What a condition has to say; what is left out does not matter. */
export interface ConditionWanted {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: RegExp;
}

/** Waits until a condition says what is wanted, and returns the component. */
export async function condition(
  hub: Cluster,
  kind: ComponentKind,
  [type, wanted, timeoutMs = 120_000]: readonly [string, ConditionWanted, number?],
): Promise<KubeObject> {
  let last: KubeObject | undefined;
  const says = async (): Promise<KubeObject | false> => {
    last = await read(hub, kind);
    const found = conditionOf(last, type);
    if (last === undefined || found === undefined) return false;
    const same =
      (wanted.status === undefined || found.status === wanted.status) &&
      (wanted.reason === undefined || found.reason === wanted.reason) &&
      (wanted.message === undefined || wanted.message.test(String(found.message)));
    return same && last;
  };
  try {
    return await waitFor(`${kind} to say ${type} ${JSON.stringify(wanted)}`, says, { timeoutMs });
  } catch (error) {
    throw new Error(`Status was ${JSON.stringify(valueAt(last, "status"))}`, { cause: error });
  }
}

export function ready(hub: Cluster, kind: ComponentKind, timeoutMs = 120_000): Promise<KubeObject> {
  return condition(hub, kind, ["Ready", { status: "True" }, timeoutMs]);
}

/** Deletes a guarded object as somebody who knows what they do: with the confirmation that the guard asks for. */
export async function removeConfirmed({ admin }: Cluster, key: ObjectKey): Promise<void> {
  const uid = (await admin.get(key))?.metadata.uid ?? "";
  const annotations = { [guardAnnotations.confirmDeletion]: uid };
  await admin.patch(key, { metadata: { annotations } });
  await admin.remove(key);
}

/**
 * Everything on a cluster that carries the label of a component's installation, over all kinds that the server serves;
 * endpoints are left out, to which a Service hands its labels on and which go some time after it.
 */
export async function installed(cluster: Cluster, uid: string): Promise<readonly KubeObject[]> {
  const objects = await clusterObjects(cluster, `${componentUidLabel}=${uid}`);
  return objects.filter(({ kind }) => !kind.startsWith("Endpoint"));
}

/**
 * Names of all objects of a cluster, without those that controllers and kubelets write all the time: what has to be the same
 * before an installation and after its removal.
 */
export async function inventoryOf(cluster: Cluster): Promise<ReadonlySet<string>> {
  const objects = await clusterObjects(cluster);
  return new Set(
    objects.filter((object) => !isVolatile(object)).map((object) => objectId(keyOf(object))),
  );
}

/** What is on a cluster now and was not before, but for what a removal leaves behind on purpose. */
export async function leftovers(
  cluster: Cluster,
  before: ReadonlySet<string>,
): Promise<readonly string[]> {
  const stays = [
    /^apiextensions\.k8s\.io\|CustomResourceDefinition\|/,
    // What the servers themselves make: for each CRD, each namespace, and each of their own controllers.
    /^apiregistration\.k8s\.io\|APIService\|/,
    /^\|Namespace\|\|knative-(?:serving|eventing)$/,
    /^\|ConfigMap\|[^|]+\|kube-root-ca\.crt$/,
    /^\|ServiceAccount\|[^|]+\|default$/,
    /^\|ServiceAccount\|kube-system\|/,
  ];
  const now = await inventoryOf(cluster);
  return [...now].filter((id) => !before.has(id) && !stays.some((kept) => kept.test(id)));
}

/** A component may be ready a little sooner than a slow server serves the kinds that came with it. */
export async function kindServed(
  { admin }: Cluster,
  { apiVersion, kind }: Pick<ObjectKey, "apiVersion" | "kind">,
): Promise<void> {
  await waitFor(`${kind} to be served`, async () => {
    const resources = await admin.request("GET", `/apis/${apiVersion}`);
    return JSON.stringify(resources).includes(`"kind":"${kind}"`);
  });
}
