import { isRecord } from "./fields.ts";
import { groupOf, type Manifest } from "./kubernetes.ts";

/** The facts for the API paths of a kind without discovery. */
export interface ResourceType {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

// Namespaced kinds by API group, separated by spaces.
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
  "cluster.open-cluster-management.io": "PlacementDecision ManagedClusterSetBinding",
  "work.open-cluster-management.io": "ManifestWork",
  "cluster.x-k8s.io": "Cluster",
  "knfleet.dev": "KnativeServingSet KnativeEventingSet",
  "operator.knative.dev": "KnativeServing KnativeEventing",
};

// Cluster-scoped kinds by API group. Includes kinds that a user's manifests may use without their CRD.
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
  "cluster.open-cluster-management.io": "ManagedCluster ManagedClusterSet",
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

/** By `group/kind` of both tables: whether the kind is namespaced. */
const scopes: ReadonlyMap<string, boolean> = new Map([
  ...idsOf(namespacedKinds).map((id) => [id, true] as const),
  ...idsOf(clusterKinds).map((id) => [id, false] as const),
]);

function idsOf(table: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(table).flatMap(([group, kinds]) =>
    kinds.split(" ").map((kind) => `${group}/${kind}`),
  );
}

// Every cluster on which Knative runs serves all kinds of the tables in these groups and versions.
const oldGroups: readonly string[] = [
  "v1",
  "apps/v1",
  "batch/v1",
  "rbac.authorization.k8s.io/v1",
  "apiextensions.k8s.io/v1",
];
// The kinds of admissionregistration.k8s.io/v1 that every cluster serves; the others are newer.
const oldAdmissionKinds: readonly string[] = [
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

/** True for a kind that every API server serves. */
export function isServedEverywhere({
  apiVersion,
  kind,
}: Pick<ResourceType, "apiVersion" | "kind">): boolean {
  if (tableResource(apiVersion, kind) === undefined) return false;
  if (oldGroups.includes(apiVersion)) return true;
  return apiVersion === "admissionregistration.k8s.io/v1" && oldAdmissionKinds.includes(kind);
}

/** The resource of a kind that knfleet itself uses. Throws a plain Error for a kind that is not in the tables. */
export function knownResource(apiVersion: string, kind: string): ResourceType {
  const resource = tableResource(apiVersion, kind);
  if (resource === undefined) throw new Error(`No resource is known for ${apiVersion} ${kind}`);
  return resource;
}

/** The resource of a kind in the tables; undefined for other kinds. */
export function tableResource(apiVersion: string, kind: string): ResourceType | undefined {
  const namespaced = scopes.get(`${groupOf(apiVersion)}/${kind}`);
  return namespaced === undefined
    ? undefined
    : { apiVersion, kind, plural: pluralOf(kind), namespaced };
}

/**
 * Finds the resource of any object in `manifests`: of a built-in kind in the tables, of a custom kind in the CustomResourceDefinitions
 * among the manifests. For a kind that neither has, guesses that it is namespaced and has a regular English plural, as generated CRDs do.
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

/** Finds the kinds for which `resourceFinder` guesses, because neither the tables nor the manifests define them. */
export function guessFinder(
  manifests: readonly Manifest[],
): (object: Pick<Manifest, "apiVersion" | "kind">) => boolean {
  const custom = definedKinds(manifests);
  return ({ apiVersion, kind }) => {
    const id = `${groupOf(apiVersion)}/${kind}`;
    return !scopes.has(id) && !custom.has(id);
  };
}

type Names = Pick<ResourceType, "plural" | "namespaced">;

/** Plural and scope of the kinds that CustomResourceDefinitions among the manifests define, by `group/kind`. */
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
