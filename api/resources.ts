import { isRecord } from "./fields.ts";
import { groupOf, type Manifest } from "./kubernetes.ts";

/** Where objects of one kind live in the API: enough to build every path without discovery. */
export interface ResourceType {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

// Kinds by API group, separated by spaces.
const namespacedKinds: Readonly<Record<string, string>> = {
  "": "ConfigMap Secret Service ServiceAccount Endpoints Event Pod PersistentVolumeClaim",
  apps: "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision",
  batch: "Job CronJob",
  autoscaling: "HorizontalPodAutoscaler",
  policy: "PodDisruptionBudget",
  "rbac.authorization.k8s.io": "Role RoleBinding",
  "networking.k8s.io": "NetworkPolicy Ingress",
  "coordination.k8s.io": "Lease",
  "networking.istio.io": "Gateway",
  "multicluster.x-k8s.io": "ClusterProfile PlacementDecision",
  "cluster.open-cluster-management.io": "PlacementDecision",
  "knfleet.dev": "KnativeServingSet KnativeEventingSet",
  "operator.knative.dev": "KnativeServing KnativeEventing",
};

// The same for cluster-scoped kinds, also those that a manifest of a user may bring without their definition.
const clusterKinds: Readonly<Record<string, string>> = {
  "": "Namespace Node PersistentVolume",
  "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
  "apiextensions.k8s.io": "CustomResourceDefinition",
  "admissionregistration.k8s.io":
    "MutatingWebhookConfiguration ValidatingWebhookConfiguration MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
  "networking.k8s.io": "IngressClass",
  "scheduling.k8s.io": "PriorityClass",
  "storage.k8s.io": "StorageClass CSIDriver CSINode VolumeAttachment",
  "apiregistration.k8s.io": "APIService",
  "cert-manager.io": "ClusterIssuer",
  "gateway.networking.k8s.io": "GatewayClass",
  "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
  "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
  "node.k8s.io": "RuntimeClass",
  policy: "PodSecurityPolicy",
  "resource.k8s.io": "DeviceClass",
  "authentication.istio.io": "MeshPolicy",
  "kyverno.io": "ClusterPolicy",
  "trust.cert-manager.io": "Bundle",
};

/** Whether a kind of the table is namespaced, by group and kind. */
const known: ReadonlyMap<string, boolean> = new Map([
  ...idsOf(namespacedKinds).map((id) => [id, true] as const),
  ...idsOf(clusterKinds).map((id) => [id, false] as const),
]);

function idsOf(table: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(table).flatMap(([group, kinds]) =>
    kinds.split(" ").map((kind) => `${group}/${kind}`),
  );
}

// All kinds of the table in these groups and versions: every cluster that Knative runs on has served them for years.
const oldGroups: readonly string[] = [
  "v1",
  "apps/v1",
  "batch/v1",
  "rbac.authorization.k8s.io/v1",
  "apiextensions.k8s.io/v1",
];
// Other kinds of this group are younger.
const oldAdmissionKinds: readonly string[] = [
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

/** Whether every API server serves a kind. */
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
  const namespaced = known.get(`${groupOf(apiVersion)}/${kind}`);
  return namespaced === undefined
    ? undefined
    : { apiVersion, kind, plural: pluralOf(kind), namespaced };
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
    const defined = custom.get(`${groupOf(apiVersion)}/${kind}`) ?? {
      plural: pluralOf(kind),
      namespaced: true,
    };
    return tableResource(apiVersion, kind) ?? { apiVersion, kind, ...defined };
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

type Names = Pick<ResourceType, "plural" | "namespaced">;

/** Names of the kinds that CustomResourceDefinitions of a set define, by group and kind. */
function definedKinds(manifests: readonly Manifest[]): ReadonlyMap<string, Names> {
  return new Map(
    manifests.flatMap((manifest): readonly (readonly [string, Names])[] => {
      const { kind: own, spec } = manifest;
      if (own !== "CustomResourceDefinition" || !isRecord(spec) || !isRecord(spec["names"]))
        return [];
      const { group, scope } = spec;
      const { kind, plural } = spec["names"];
      if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string") {
        return [];
      }
      return [[`${group}/${kind}`, { plural, namespaced: scope !== "Cluster" }]];
    }),
  );
}

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower === "endpoints") return lower;
  if (/(?:s|x|z|ch|sh)$/.test(lower)) return `${lower}es`;
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`;
  return `${lower}s`;
}
