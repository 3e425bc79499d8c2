import { isRecord } from "../../api/fields.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { valueAt } from "../fleet/json-record.ts";
import { type ObjectStore, type StoredObject } from "./object-store.ts";

// What every API server serves, as far as anybody asks a virtual spoke for it.
const builtIn: Readonly<Record<string, string>> = {
  v1: "ConfigMap Secret Service ServiceAccount Endpoints Event Pod PersistentVolumeClaim Namespace Node",
  "apps/v1": "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision",
  "batch/v1": "Job CronJob",
  "autoscaling/v2": "HorizontalPodAutoscaler",
  "policy/v1": "PodDisruptionBudget",
  "rbac.authorization.k8s.io/v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
  "networking.k8s.io/v1": "NetworkPolicy Ingress IngressClass",
  "coordination.k8s.io/v1": "Lease",
  "apiextensions.k8s.io/v1": "CustomResourceDefinition",
  "admissionregistration.k8s.io/v1":
    "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
  "apiregistration.k8s.io/v1": "APIService",
  "scheduling.k8s.io/v1": "PriorityClass",
};

const builtInKinds: readonly ResourceType[] = Object.entries(builtIn).flatMap(
  ([apiVersion, kinds]) => kinds.split(" ").map((kind) => knownResource(apiVersion, kind)),
);

/** Whether a kind is there without a definition. */
export function isBuiltIn(kind: Pick<ResourceType, "apiVersion" | "plural">): boolean {
  return builtInKinds.some(
    ({ apiVersion, plural }) => apiVersion === kind.apiVersion && plural === kind.plural,
  );
}

const definitionKind = "apiextensions.k8s.io/CustomResourceDefinition";
const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** All kinds that a virtual spoke serves: the built-in ones, and those of its CustomResourceDefinitions. */
function servedKinds(store: ObjectStore): readonly ResourceType[] {
  return [...builtInKinds, ...[...store.all(definitionKind)].flatMap(definedKinds)];
}

/** The kind of a path; undefined when it is not served. */
export function servedKind(
  store: ObjectStore,
  { apiVersion, plural }: Pick<ResourceType, "apiVersion" | "plural">,
): ResourceType | undefined {
  const isIt = (kind: ResourceType): boolean =>
    kind.apiVersion === apiVersion && kind.plural === plural;
  return builtInKinds.find(isIt) ?? servedKinds(store).find(isIt);
}

/** The answer to a discovery request; undefined for another path, or for a group that is not served. */
export function discoveryOf(store: ObjectStore, path: string): object | undefined {
  const kinds = servedKinds(store);
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"] };
  if (path === "/apis") {
    const groups = groupsOf(kinds);
    return { kind: "APIGroupList", apiVersion: "v1", groups };
  }
  const [, root, ...rest] = path.split("/");
  const name = rest.join("/");
  if (root === "apis" && rest.length === 1) {
    return groupsOf(kinds).find((group) => group.name === name);
  }
  const served = kinds.filter(({ apiVersion }) => apiVersion === name);
  if (!(root === "api" || root === "apis") || served.length === 0) return undefined;
  const resources = served.map(({ plural, kind, namespaced }) => {
    return { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs };
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: name, resources };
}

function groupsOf(kinds: readonly ResourceType[]): readonly { readonly name: string }[] {
  const versions = [...new Set(kinds.map(({ apiVersion }) => apiVersion))].filter((version) =>
    version.includes("/"),
  );
  const groups = Map.groupBy(versions, (version) => version.split("/", 1)[0] ?? "");
  return [...groups].map(([name, all]) => {
    const served = all.map((groupVersion) => ({
      groupVersion,
      version: groupVersion.split("/")[1],
    }));
    return {
      kind: "APIGroup",
      apiVersion: "v1",
      name,
      versions: served,
      preferredVersion: served[0],
    };
  });
}

/** The kinds of a CustomResourceDefinition, one for each version that it serves. */
function definedKinds(definition: StoredObject): readonly ResourceType[] {
  const text = (...path: readonly string[]): string => String(valueAt(definition, "spec", ...path));
  const versions = valueAt(definition, "spec", "versions");
  return (Array.isArray(versions) ? versions : [])
    .filter(isRecord)
    .filter(({ served }) => served === true)
    .map(({ name }) => ({
      apiVersion: `${text("group")}/${String(name)}`,
      kind: text("names", "kind"),
      plural: text("names", "plural"),
      namespaced: text("scope") !== "Cluster",
    }));
}
