import { isRecord } from "./fields.ts";
import { groupOf, type Manifest } from "./kubernetes.ts";

/** Where objects of one kind live in the API: enough to build every path without discovery. */
export interface ResourceType {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

type Row = readonly [group: string, kind: string, plural: string, scope: "Cluster" | "Namespaced"];

const rows: readonly Row[] = [
  ["", "Namespace", "namespaces", "Cluster"],
  ["", "ConfigMap", "configmaps", "Namespaced"],
  ["", "Secret", "secrets", "Namespaced"],
  ["", "Service", "services", "Namespaced"],
  ["", "ServiceAccount", "serviceaccounts", "Namespaced"],
  ["", "Endpoints", "endpoints", "Namespaced"],
  ["", "Event", "events", "Namespaced"],
  ["", "Pod", "pods", "Namespaced"],
  ["", "Node", "nodes", "Cluster"],
  ["", "PersistentVolumeClaim", "persistentvolumeclaims", "Namespaced"],
  ["apps", "Deployment", "deployments", "Namespaced"],
  ["apps", "StatefulSet", "statefulsets", "Namespaced"],
  ["apps", "DaemonSet", "daemonsets", "Namespaced"],
  ["apps", "ReplicaSet", "replicasets", "Namespaced"],
  ["batch", "Job", "jobs", "Namespaced"],
  ["batch", "CronJob", "cronjobs", "Namespaced"],
  ["autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "Namespaced"],
  ["policy", "PodDisruptionBudget", "poddisruptionbudgets", "Namespaced"],
  ["rbac.authorization.k8s.io", "Role", "roles", "Namespaced"],
  ["rbac.authorization.k8s.io", "RoleBinding", "rolebindings", "Namespaced"],
  ["rbac.authorization.k8s.io", "ClusterRole", "clusterroles", "Cluster"],
  ["rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", "Cluster"],
  ["apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", "Cluster"],
  [
    "admissionregistration.k8s.io",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    "Cluster",
  ],
  [
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "Cluster",
  ],
  ["networking.k8s.io", "NetworkPolicy", "networkpolicies", "Namespaced"],
  ["networking.k8s.io", "Ingress", "ingresses", "Namespaced"],
  ["networking.k8s.io", "IngressClass", "ingressclasses", "Cluster"],
  ["scheduling.k8s.io", "PriorityClass", "priorityclasses", "Cluster"],
  ["storage.k8s.io", "StorageClass", "storageclasses", "Cluster"],
  ["apiregistration.k8s.io", "APIService", "apiservices", "Cluster"],
  ["coordination.k8s.io", "Lease", "leases", "Namespaced"],
  ["cert-manager.io", "ClusterIssuer", "clusterissuers", "Cluster"],
  ["gateway.networking.k8s.io", "GatewayClass", "gatewayclasses", "Cluster"],
  // Cluster-scoped kinds that a user's manifest may bring without their definition.
  ["", "PersistentVolume", "persistentvolumes", "Cluster"],
  [
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    "Cluster",
  ],
  [
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    "Cluster",
  ],
  [
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    "Cluster",
  ],
  [
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    "Cluster",
  ],
  ["certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", "Cluster"],
  ["certificates.k8s.io", "ClusterTrustBundle", "clustertrustbundles", "Cluster"],
  ["flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas", "Cluster"],
  [
    "flowcontrol.apiserver.k8s.io",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    "Cluster",
  ],
  ["node.k8s.io", "RuntimeClass", "runtimeclasses", "Cluster"],
  ["policy", "PodSecurityPolicy", "podsecuritypolicies", "Cluster"],
  ["resource.k8s.io", "DeviceClass", "deviceclasses", "Cluster"],
  ["storage.k8s.io", "CSIDriver", "csidrivers", "Cluster"],
  ["storage.k8s.io", "CSINode", "csinodes", "Cluster"],
  ["storage.k8s.io", "VolumeAttachment", "volumeattachments", "Cluster"],
  ["authentication.istio.io", "MeshPolicy", "meshpolicies", "Cluster"],
  ["kyverno.io", "ClusterPolicy", "clusterpolicies", "Cluster"],
  ["trust.cert-manager.io", "Bundle", "bundles", "Cluster"],
  ["networking.istio.io", "Gateway", "gateways", "Namespaced"],
  ["multicluster.x-k8s.io", "ClusterProfile", "clusterprofiles", "Namespaced"],
  ["operator.knative.dev", "KnativeServing", "knativeservings", "Namespaced"],
  ["operator.knative.dev", "KnativeEventing", "knativeeventings", "Namespaced"],
];

const known: ReadonlyMap<string, Row> = new Map(rows.map((row) => [`${row[0]}/${row[1]}`, row]));

// Of these groups every kind that is in the table, in this version: all clusters that Knative runs on have had them for years.
const oldGroups: readonly string[] = [
  "v1",
  "apps/v1",
  "batch/v1",
  "rbac.authorization.k8s.io/v1",
  "apiextensions.k8s.io/v1",
];
// Of this one not all are so old.
const oldAdmissionKinds: readonly string[] = [
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

/** Whether there is no API server that does not serve a kind. */
export function isServedEverywhere({
  apiVersion,
  kind,
}: Pick<ResourceType, "apiVersion" | "kind">): boolean {
  if (tableResource(apiVersion, kind) === undefined) return false;
  if (oldGroups.includes(apiVersion)) return true;
  return apiVersion === "admissionregistration.k8s.io/v1" && oldAdmissionKinds.includes(kind);
}

/** Resource of a kind that knfleet itself uses; throws a plain Error for a kind that the table lacks. */
export function knownResource(apiVersion: string, kind: string): ResourceType {
  const resource = tableResource(apiVersion, kind);
  if (resource === undefined) throw new Error(`No resource is known for ${apiVersion} ${kind}`);
  return resource;
}

/** Resource of a kind that the table has, else undefined. */
export function tableResource(apiVersion: string, kind: string): ResourceType | undefined {
  const row = known.get(`${groupOf(apiVersion)}/${kind}`);
  if (row === undefined) return undefined;
  return { apiVersion, kind, plural: row[2], namespaced: row[3] === "Namespaced" };
}

/**
 * Finds the resource of any object of a set of manifests: built-in kinds from the table, custom kinds from the
 * CustomResourceDefinitions in the set. A kind that neither knows is taken as namespaced with a regular English plural,
 * which is how generators of CRDs name them.
 */
export function resourceFinder(
  manifests: readonly Manifest[],
): (object: Pick<Manifest, "apiVersion" | "kind">) => ResourceType {
  const custom = definedKinds(manifests);
  return ({ apiVersion, kind }) => {
    const id = `${groupOf(apiVersion)}/${kind}`;
    const row = known.get(id);
    if (row !== undefined) return knownResource(apiVersion, kind);
    const { plural, namespaced } = custom.get(id) ?? { plural: pluralOf(kind), namespaced: true };
    return { apiVersion, kind, plural, namespaced };
  };
}

/** Tells of kinds whether `resourceFinder` only guesses where they are, because neither the table nor the set of manifests knows them. */
export function guessFinder(
  manifests: readonly Manifest[],
): (object: Pick<Manifest, "apiVersion" | "kind">) => boolean {
  const custom = definedKinds(manifests);
  return ({ apiVersion, kind }) => {
    const id = `${groupOf(apiVersion)}/${kind}`;
    return !known.has(id) && !custom.has(id);
  };
}

function definedKinds(
  manifests: readonly Manifest[],
): ReadonlyMap<string, Pick<ResourceType, "plural" | "namespaced">> {
  const custom = new Map<string, Pick<ResourceType, "plural" | "namespaced">>();
  for (const manifest of manifests) {
    const names = namesOfDefinition(manifest);
    if (names !== undefined) custom.set(`${names.group}/${names.kind}`, names);
  }
  return custom;
}

function namesOfDefinition(
  manifest: Manifest,
): { group: string; kind: string; plural: string; namespaced: boolean } | undefined {
  if (manifest.kind !== "CustomResourceDefinition") return undefined;
  const spec = manifest["spec"];
  if (!isRecord(spec) || !isRecord(spec["names"])) return undefined;
  const { group, scope } = spec;
  const { kind, plural } = spec["names"];
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string") {
    return undefined;
  }
  return { group, kind, plural, namespaced: scope !== "Cluster" };
}

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/(?:s|x|z|ch|sh)$/.test(lower)) return `${lower}es`;
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`;
  return `${lower}s`;
}
