import type { Component } from "./component.ts";
import { setLabels } from "./fleet-set.ts";
import {
  describe,
  groupOf,
  type KubeObject,
  type NamespacedName,
  type ObjectKey,
} from "./kubernetes.ts";

// An id is a text for maps, sets and queues. A key, such as ObjectKey, has the parts of that text.

/** Id of an object within one cluster. Equal for all API versions of a group. */
export function objectId(key: ObjectKey): string {
  return [groupOf(key.apiVersion), key.kind, key.namespace ?? "", key.name].join("|");
}

/** Id of a kind. Equal for all API versions of a group. */
export function kindId({ apiVersion, kind }: Pick<ObjectKey, "apiVersion" | "kind">): string {
  return objectId({ apiVersion, kind, name: "" });
}

/** Id of a kind in one API version: `apiVersion kind`. */
export function versionedKindId({
  apiVersion,
  kind,
}: Pick<ObjectKey, "apiVersion" | "kind">): string {
  return `${apiVersion} ${kind}`;
}

/** Id of an object among those of its kind, for example of a ClusterProfile: `namespace/name`, or `name` without a namespace. */
export function nameId({
  namespace = "",
  name,
}: Partial<NamespacedName> & { readonly name: string }): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** Namespace and name of an id of `nameId` that has both. */
export function namespacedName(id: string): NamespacedName {
  const [namespace = "", name = ""] = id.split("/");
  return { namespace, name };
}

/** Id of a component, also in the queue and the log: `KnativeServing namespace/name`. */
export function componentId({ kind, metadata }: Component): string {
  return describe({ kind, namespace: metadata.namespace, name: metadata.name });
}

/** Id of the cluster that a component is for: that of its ClusterProfile, or empty for the hub. Also the queue's lane. */
export function targetId({ spec }: Component): string {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? "" : nameId(ref);
}

/** Id of a set, also in the queue and the log: `KnativeServingSet namespace/name`. */
export function setId({ kind, metadata }: Pick<KubeObject, "kind" | "metadata">): string {
  const { namespace = "", name } = metadata;
  return describe({ kind, namespace, name });
}

/** Id of the set that wrote an object, from the object's labels. Undefined without them. */
export function ownerSetId({ metadata }: KubeObject): string | undefined {
  const kind = metadata.labels?.[setLabels.kind];
  const name = metadata.labels?.[setLabels.set];
  if (kind === undefined || name === undefined) return undefined;
  const { namespace = "" } = metadata;
  return describe({ kind, namespace, name });
}
