import { groupOf } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
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
  const path = `${resourcePath(resource, namespace)}/${segmentOf(name)}`;
  return withQuery(subresource === undefined ? path : `${path}/${subresource}`, query);
}

/** Path of a collection; of all namespaces when `ref` has no namespace. */
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
    ? `${root}/namespaces/${segmentOf(namespace)}/${plural}`
    : `${root}/${plural}`;
}

/** A name as a segment of a path. Colons, which names of roles have, stay as they are: some proxies decode a path twice and refuse `%3A`. */
function segmentOf(name: string): string {
  return encodeURIComponent(name).replaceAll("%3A", ":");
}

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}
