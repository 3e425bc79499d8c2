import type { ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import type { ObjectRef } from "./kube-client.ts";

/** An object of a kind: with a namespace if its key has one and without if not, whatever scope the kind is thought to have. */
export function objectRefOf(
  { namespace, name }: Pick<ObjectKey, "namespace" | "name">,
  kind: ResourceType,
): ObjectRef {
  const resource = { ...kind, namespaced: namespace !== undefined };
  return namespace === undefined ? { resource, name } : { resource, namespace, name };
}
