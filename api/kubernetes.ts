/** A JSON value as an API server stores it. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [field: string]: Json | undefined };

/** A JSON object whose fields are not known. */
export type JsonObject = { readonly [field: string]: Json | undefined };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonObject;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** An object in a release file or in a request to an API server. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** An object from an API server, which has a name, a uid and a resourceVersion. */
export interface KubeObject extends Manifest {
  readonly metadata: ObjectMeta & {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Identity of an object within one cluster. `namespace` is absent for cluster-scoped objects. */
export interface ObjectKey {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Namespace and name, for example of a component or a ClusterProfile. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** `metav1.Condition`. Times are RFC 3339 in UTC with whole seconds. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
  readonly severity?: string;
}

/** Key of a manifest. A missing name becomes the empty string. */
export function keyOf(manifest: Manifest): ObjectKey {
  const { apiVersion, kind, metadata } = manifest;
  const name = metadata.name ?? "";
  return metadata.namespace === undefined
    ? { apiVersion, kind, name }
    : { apiVersion, kind, namespace: metadata.namespace, name };
}

/** API group of an apiVersion; the empty string for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** Whether another object controls an object: who made it changes that one. */
export function isControlled({ metadata: { ownerReferences = [] } }: KubeObject): boolean {
  return ownerReferences.some(({ controller }) => controller === true);
}

/** When an object was last written, RFC 3339: through the subresource, or without one when none is named. Undefined: not known. */
export function lastWriteAt(
  { metadata: { managedFields = [] } }: Pick<KubeObject, "metadata">,
  subresource?: "status",
): string | undefined {
  const writes = managedFields.filter((one) => one.subresource === subresource);
  return writes
    .flatMap(({ time }) => time ?? [])
    .toSorted()
    .at(-1);
}

/** True for a `batch` Job of any version. */
export function isJob({ apiVersion, kind }: Pick<ObjectKey, "apiVersion" | "kind">): boolean {
  return kind === "Job" && groupOf(apiVersion) === "batch";
}

/** The object without its managedFields, which are often the largest part. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** True for the value of a label or annotation by which a user keeps something as it is: any value but `false`, so that another spelling changes nothing. */
export function isMarked(value: string | undefined): boolean {
  return value !== undefined && value.toLowerCase() !== "false";
}

/** At most `most` names as text, and the number of further ones: `a, b and 3 more`. */
export function nameFirst(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Names an object in a message: `Kind namespace/name`, or `Kind name` without a namespace. */
export function describe(key: {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}): string {
  return key.namespace === undefined || key.namespace === ""
    ? `${key.kind} ${key.name}`
    : `${key.kind} ${key.namespace}/${key.name}`;
}
