import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { anchorAnnotations, componentUidLabel } from "../../installation/anchor.ts";
import { outlives } from "../../installation/desired.ts";
import { decodeInventory } from "../../installation/inventory.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";
import { clusterObjects } from "./cluster-objects.ts";

/** Objects of a cluster by identity, without all that differs between two equal installations. */
export type SpokeDump = Readonly<Record<string, unknown>>;

/** Kinds that controllers, kubelets and the API server write for themselves. */
const volatileKinds = new Set([
  "APIService",
  "ControllerRevision",
  "Event",
  "FlowSchema",
  "IPAddress",
  "Lease",
  "Node",
  "Pod",
  "PodMetrics",
  "PriorityLevelConfiguration",
  "ReplicaSet",
  "ServiceCIDR",
]);

/** Whether an object is of the kinds that change all the time by themselves, Endpoints and EndpointSlices among them. */
export function isVolatile({ kind }: Pick<KubeObject, "kind">): boolean {
  return volatileKinds.has(kind) || kind.startsWith("Endpoint");
}

/**
 * One installation on its cluster: what carries the label of the component with this uid, its anchor, and the CRDs and namespaces that the
 * inventory of the anchor names. Empty when nothing is left of it.
 */
export async function dumpOfComponent(cluster: Cluster, uid: string): Promise<SpokeDump> {
  return dumpOfInstallation(await clusterObjects(cluster), uid);
}

/** The same from all objects of the cluster. */
export function dumpOfInstallation(objects: readonly KubeObject[], uid: string): SpokeDump {
  const roots = objects.filter(
    ({ kind, metadata }) =>
      kind === "ConfigMap" && metadata.annotations?.[anchorAnnotations.componentUid] === uid,
  );
  const named = new Set(
    roots
      .flatMap((root) => decodeInventory(inventoryTextOf(root))?.entries ?? [])
      .filter(outlives)
      .map(objectId),
  );
  const isPart = (object: KubeObject): boolean =>
    object.metadata.labels?.[componentUidLabel] === uid ||
    roots.includes(object) ||
    named.has(objectId(keyOf(object)));
  return dumped(objects.filter((object) => isPart(object) && !isVolatile(object)));
}

/** Everything on a cluster that is not volatile and not of Kubernetes' own namespaces: shows what an installation forgot, too. */
export async function dumpOfCluster(cluster: Cluster): Promise<SpokeDump> {
  const objects = await clusterObjects(cluster);
  return dumped(
    objects.filter(
      (object) =>
        !isVolatile(object) &&
        !(object.metadata.namespace ?? "").startsWith("kube-") &&
        object.metadata.name !== "kube-root-ca.crt",
    ),
  );
}

/** One line for each object or field in which two dumps differ; none when they are equal. */
export function differencesOf(one: SpokeDump, other: SpokeDump): readonly string[] {
  return differences(one, other, "");
}

function dumped(objects: readonly KubeObject[]): SpokeDump {
  const scaled = new Set(objects.flatMap(scaledBy));
  // Replicas of what has an autoscaler are the autoscaler's, which remembers.
  const settled = objects.map((object) =>
    scaled.has(objectId(keyOf(object))) ? withoutReplicas(object) : object,
  );
  return Object.fromEntries(
    settled
      .map((object) => [objectId(keyOf(object)), normalised(object)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function scaledBy(object: KubeObject): readonly string[] {
  if (object.kind !== "HorizontalPodAutoscaler") return [];
  const target = (field: string): string =>
    String(valueAt(object, "spec", "scaleTargetRef", field));
  const { namespace = "" } = object.metadata;
  const [apiVersion, kind, name] = [target("apiVersion"), target("kind"), target("name")];
  return [objectId({ apiVersion, kind, namespace, name })];
}

function withoutReplicas(object: KubeObject): KubeObject {
  const spec = object["spec"];
  return isRecord(spec) ? { ...object, spec: without(spec, ["replicas"]) } : object;
}

function normalised(object: KubeObject): unknown {
  const { metadata: _, ...content } = without({ ...object }, ["status"]);
  const { namespace, name, labels, annotations, ownerReferences, finalizers } = object.metadata;
  const { deletionTimestamp } = object.metadata;
  return withoutUids({
    ...contentOf(object, content),
    metadata: {
      namespace,
      name,
      labels,
      annotations: without(annotations ?? {}, ["deployment.kubernetes.io/revision"]),
      ownerReferences,
      finalizers,
      isBeingDeleted: deletionTimestamp !== undefined,
    },
  });
}

function contentOf(object: KubeObject, content: Readonly<Record<string, unknown>>): object {
  const { kind } = object;
  // Filled by the cluster, from whatever other roles there are.
  if (Object.hasOwn(content, "aggregationRule")) return without(content, ["rules"]);
  if (kind === "Service") return { ...content, spec: serviceSpec(content["spec"]) };
  const inventory = inventoryTextOf(object);
  if (kind !== "ConfigMap" || inventory === "") return content;
  // Fingerprints depend on the order of managers; hashes say what was sent.
  const { version, complete, entries = [] } = decodeInventory(inventory) ?? {};
  const hashes = Object.fromEntries(entries.map((entry) => [objectId(entry), entry.hash]));
  return { ...content, data: { version, complete, hashes } };
}

function serviceSpec(spec: unknown): unknown {
  if (!isRecord(spec)) return spec;
  const { clusterIP, ports } = spec;
  const assigned = clusterIP === "None" ? [] : ["clusterIP", "clusterIPs"];
  const rest = without(spec, [...assigned, "healthCheckNodePort"]);
  const portsLeft: unknown = Array.isArray(ports)
    ? ports.map((port: unknown) => (isRecord(port) ? without(port, ["nodePort"]) : port))
    : ports;
  return { ...rest, ports: portsLeft };
}

function inventoryTextOf(object: KubeObject): string {
  const text = valueAt(object, "data", "inventory");
  return typeof text === "string" ? text : "";
}

const uidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function withoutUids(value: unknown): unknown {
  if (typeof value === "string") return uidPattern.test(value) ? "(uid)" : value;
  if (Array.isArray(value)) return value.map(withoutUids);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [field, withoutUids(inner)]),
  );
}

function without(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function differences(one: unknown, other: unknown, path: string): readonly string[] {
  if (isRecord(one) && isRecord(other) && Array.isArray(one) === Array.isArray(other)) {
    const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
    return [...fields].flatMap((field) =>
      differences(one[field], other[field], path === "" ? field : `${path} › ${field}`),
    );
  }
  return one === other ? [] : [`${path}: ${shown(one)} ≠ ${shown(other)}`];
}

function shown(value: unknown): string {
  const text = value === undefined ? "(absent)" : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
