import type { StatusCause } from "../../access/kube/api-error.ts";
import { groupOf, type ObjectKey } from "../../api/kubernetes.ts";

const refusal =
  /immutable|cannot change roleRef|may not change once set|updates to statefulset spec/i;

/** Whether a server refused to change what cannot be changed in place, as opposed to a value that is wrong. */
export function isImmutable({ kind }: ObjectKey, causes: readonly StatusCause[]): boolean {
  return causes.some(
    ({ field, message = "" }) =>
      refusal.test(message) ||
      // Its message begins with the whole template and may be cut before it says so.
      (kind === "Job" && field === "spec.template"),
  );
}

/**
 * Kinds of which an object may be deleted to be made anew when the server refuses to change it. All of such an object is in its manifest
 * or made again by the cluster, and nothing that runs stops: a Job is to run again for its new content anyway, a binding is
 * back at once. Not among them: Deployments, StatefulSets and DaemonSets (their pods would stop), Services (their addresses are others'),
 * ConfigMaps and Secrets (they may hold what others put there), and what takes other objects along: CustomResourceDefinitions,
 * Namespaces, PersistentVolumeClaims, custom resources.
 */
const replaceableKinds = new Set([
  "batch/Job",
  "rbac.authorization.k8s.io/ClusterRoleBinding",
  "rbac.authorization.k8s.io/RoleBinding",
]);

/** Whether an object of ours may be deleted and made again because of this refusal. */
export function isReplaceable(key: ObjectKey, causes: readonly StatusCause[]): boolean {
  return isImmutable(key, causes) && replaceableKinds.has(`${groupOf(key.apiVersion)}/${key.kind}`);
}
