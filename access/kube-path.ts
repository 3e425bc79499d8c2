import { groupOf } from "../api/kubernetes.ts";
import type { ResourceType } from "../api/resources.ts";
import type { CollectionRef, ObjectRef } from "./kube-client.ts";

/** Query parameters; an undefined value is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Path of one object below the server's prefix. Throws a plain Error when a namespaced object has no namespace. */
export function objectPath(ref: ObjectRef, subresource: string | undefined, query: Query): string {
  const { resource, namespace = "", name } = ref;
  if (name === "") throw new Error(`A ${resource.kind} needs a name`);
  if (resource.namespaced && namespace === "") {
    throw new Error(`${resource.kind} ${name} needs a namespace`);
  }
  const path = `${resourcePath(resource, namespace)}/${encodeURIComponent(name)}`;
  return withQuery(subresource === undefined ? path : `${path}/${subresource}`, query);
}

/** Path of a collection, of all namespaces when a namespaced one names none. */
export function collectionPath(ref: CollectionRef, query: Query): string {
  const { labelSelector, fieldSelector } = ref;
  return withQuery(resourcePath(ref.resource, ref.namespace ?? ""), {
    labelSelector,
    fieldSelector,
    ...query,
  });
}

function resourcePath(resource: ResourceType, namespace: string): string {
  const { apiVersion, plural, namespaced } = resource;
  const root = groupOf(apiVersion) === "" ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
  return namespaced && namespace !== ""
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    : `${root}/${plural}`;
}

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}
