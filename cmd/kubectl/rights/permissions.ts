import { byText } from "../../../api/fields.ts";
import { groupOf, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import { resourceFinder } from "../../../api/resources.ts";
import { builtInReleaseKinds } from "../../../installation/kinds.ts";

/** What the controller may do to kinds of one API group on a spoke. */
export interface SpokeRight {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Verbs to watch a kind. */
const readVerbs: readonly string[] = ["get", "list", "watch"];

/** Verbs to install, watch, repair and remove objects of a kind. Objects are applied (`patch`), never replaced (`update`). */
const allVerbs: readonly string[] = [...readVerbs, "create", "patch", "delete", "deletecollection"];

/** Rights that every installation needs. docs/spoke-role.yaml has them, as a test checks, and those for optional kinds. */
export const spokeRights: readonly SpokeRight[] = [
  { group: "", resources: ["namespaces"], verbs: [...readVerbs, "create", "patch"] },
  {
    group: "apiextensions.k8s.io",
    resources: ["customresourcedefinitions"],
    verbs: [...readVerbs, "create", "patch"],
  },
  {
    group: "",
    resources: ["configmaps", "secrets", "serviceaccounts", "services"],
    verbs: allVerbs,
  },
  { group: "apps", resources: ["deployments", "statefulsets"], verbs: allVerbs },
  { group: "batch", resources: ["jobs"], verbs: allVerbs },
  { group: "autoscaling", resources: ["horizontalpodautoscalers"], verbs: allVerbs },
  { group: "policy", resources: ["poddisruptionbudgets"], verbs: allVerbs },
  {
    group: "admissionregistration.k8s.io",
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: allVerbs,
  },
  {
    group: "rbac.authorization.k8s.io",
    resources: ["clusterroles", "roles", "clusterrolebindings", "rolebindings"],
    verbs: allVerbs,
  },
  {
    group: "rbac.authorization.k8s.io",
    resources: ["clusterroles", "roles"],
    verbs: ["bind", "escalate"],
  },
];

/**
 * Why a right is needed. `install`: to install, watch, repair and remove. `guard`: to protect the anchor. `explain`: to find out why something does not
 * start, and for this program.
 */
type Purpose = "install" | "guard" | "explain";

/** The verbs that one kind of object needs, cluster-wide. */
export interface Permission {
  readonly group: string;
  /** Plural, with the subresource: `pods/log`. */
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly purpose: Purpose;
}

/** Permissions that the controller needs on every spoke. */
const ofTheEngine: readonly Permission[] = [
  ...ofRights(spokeRights, "install"),
  // A removal looks for every kind that a release can have.
  ...builtInReleaseKinds.map(({ apiVersion, plural }) => fullOn(groupOf(apiVersion), plural)),
  // The anchor is an owner that blocks deletion, for which some API servers demand this right.
  { group: "", resource: "configmaps/finalizers", verbs: ["update"], purpose: "install" },
  ...ofRights(
    [
      {
        group: "admissionregistration.k8s.io",
        resources: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
        verbs: [...readVerbs, "create", "update", "patch", "delete"],
      },
      // Every authenticated user has this right and the two below, unless system:basic-user was unbound.
      {
        group: "authentication.k8s.io",
        resources: ["selfsubjectreviews"],
        verbs: ["create"],
      },
    ],
    "guard",
  ),
  ...ofRights(
    [
      { group: "", resources: ["pods", "events"], verbs: readVerbs },
      { group: "", resources: ["pods/log"], verbs: ["get"] },
      { group: "apps", resources: ["replicasets"], verbs: readVerbs },
      {
        group: "authorization.k8s.io",
        resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        verbs: ["create"],
      },
    ],
    "explain",
  ),
];

/** Permissions to install these objects and to delete others, with those for every spoke; one entry a resource, by group and name. */
export function permissionsFor({ manifests, deletions }: Wanted): readonly Permission[] {
  const resourceOf = resourceFinder(manifests);
  const installed = manifests
    .filter(({ kind }) => kind !== "Namespace" && kind !== "CustomResourceDefinition")
    .map((manifest) => fullOn(groupOf(manifest.apiVersion), resourceOf(manifest).plural));
  const deleted = deletions.map((key): Permission => ({
    group: groupOf(key.apiVersion),
    resource: resourceOf(key).plural,
    verbs: [...readVerbs, "delete"],
    purpose: "install",
  }));
  return united([...ofTheEngine, ...installed, ...deleted]);
}

/** What a component installs, and what its patches delete. */
interface Wanted {
  readonly manifests: readonly Manifest[];
  readonly deletions: readonly Pick<ObjectKey, "apiVersion" | "kind">[];
}

/** The objects of several components together. */
export function allWanted(needs: readonly Wanted[]): Wanted {
  return {
    manifests: needs.flatMap(({ manifests }) => manifests),
    deletions: needs.flatMap(({ deletions }) => deletions),
  };
}

/** One entry a resource, with the verbs of all its entries. */
function united(permissions: readonly Permission[]): readonly Permission[] {
  const groups = Map.groupBy(permissions, idOf);
  return [...groups.values()]
    .flatMap((same) => {
      const [first] = same;
      if (first === undefined) return [];
      const verbs = new Set(same.flatMap((one) => one.verbs));
      return [{ ...first, verbs: inOrder([...verbs]) }];
    })
    .toSorted(byText(idOf));
}

/** `deployments.apps`, as kubectl names resources. */
export function resourceName({ group, resource }: Pick<Permission, "group" | "resource">): string {
  if (group === "") return resource;
  const [plural = "", subresource] = resource.split("/");
  return subresource === undefined ? `${plural}.${group}` : `${plural}.${group}/${subresource}`;
}

const verbOrder = [
  ...readVerbs,
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "bind",
  "escalate",
];

/** Verbs in the usual order of reading. */
export function inOrder(verbs: readonly string[]): readonly string[] {
  return verbs.toSorted((a, b) => verbOrder.indexOf(a) - verbOrder.indexOf(b));
}

function idOf({ group, resource }: Permission): string {
  return `${group}/${resource}`;
}

function fullOn(group: string, resource: string): Permission {
  return { group, resource, verbs: allVerbs, purpose: "install" };
}

function ofRights(rights: readonly SpokeRight[], purpose: Purpose): readonly Permission[] {
  return rights.flatMap(({ group, resources, verbs }) =>
    resources.map((resource) => ({ group, resource, verbs, purpose })),
  );
}
