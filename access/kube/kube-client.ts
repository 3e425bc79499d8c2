import type { KubeObject, Manifest, ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import type { ClusterKeep } from "./keep-budget.ts";

/** Names one object. `namespace` is required for namespaced resources and ignored for others. */
export interface ObjectRef {
  readonly resource: ResourceType;
  readonly namespace?: string;
  readonly name: string;
}

/** Names a collection. Without `namespace` it covers all namespaces, which only lists and watches may. */
export interface CollectionRef {
  readonly resource: ResourceType;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

interface ApplyOptions {
  readonly fieldManager: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  /** Asks for `PartialObjectMetadata` instead of the whole object. */
  readonly metadataOnly?: boolean;
  readonly subresource?: "status";
}

interface RemoveOptions {
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  /** Preconditions; a mismatch is an ApiError 409. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Result of a DELETE: the object did not exist, is gone now, or still exists while its finalizers or its grace period last. */
type Removal = "absent" | "gone" | KubeObject;

export interface KubeList {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
}

/** One event of a watch. A bookmark that ends the initial list of a WatchList has `initialEventsEnd`. */
export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | {
      readonly type: "BOOKMARK";
      readonly resourceVersion: string;
      readonly initialEventsEnd: boolean;
    };

export interface WatchOptions {
  readonly metadataOnly?: boolean;
  /** Continues after this version; absent: starts with a WatchList (`sendInitialEvents`). */
  readonly resourceVersion?: string;
  /** When the server has to end the watch; absent: the server decides. */
  readonly timeoutSeconds?: number;
}

/** The log lines to read. */
export interface LogRef {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Continues with new lines until the server or the signal ends it. */
  readonly follow: boolean;
  /** Only lines since this time (RFC 3339). */
  readonly sinceTime?: string;
  /** Only this many of the last lines; absent: all. */
  readonly tailLines?: number;
}

/** How a collection is listed. */
export interface ListOptions {
  readonly metadataOnly?: boolean;
  /** Called with the number of objects so far; its error ends the list. */
  readonly onCount?: (objects: number) => void;
  /** What stays of each object in memory, while the next page is read and in the answer. Absent: all of it. */
  readonly keep?: (object: KubeObject) => KubeObject;
}

/**
 * Requests to one cluster. Every call keeps to the limits and deadlines of the connection. Idempotent requests are repeated after connection
 * errors and after 429 and 503 with Retry-After. A 401 is answered once with a new credential.
 *
 * Throws
 * - `ApiError` when the API server answers with an error. Not found is a return value, not an error;
 * - `ConnectionError` when the server cannot be reached or trusted, or when something other than an API server answers;
 * - `FleetError` `AccessProviderFailed` when no credential can be obtained, and `RemoteClusterStale` when the connection was closed;
 * - `WriteRefusedError` for a write while this process may not write.
 */
export interface KubeClient {
  /** Base URL of the API server, without credentials; for messages. */
  readonly server: string;
  /** The object; undefined when it does not exist or the server does not serve its kind. */
  get(
    ref: ObjectRef,
    options: { readonly metadataOnly?: boolean },
    signal: AbortSignal,
  ): Promise<KubeObject | undefined>;
  /** Budget of what watches of this cluster keep; absent: no limit. */
  readonly keep?: ClusterKeep;
  /** Lists in pages of 500; `items: null` reads as empty. */
  list(ref: CollectionRef, options: ListOptions, signal: AbortSignal): Promise<KubeList>;
  /**
   * One watch request, with bookmarks. Yields events until the server ends the stream. Throws an ApiError with status 410 when the version is
   * too old, also when an ERROR event says so. Most callers want a reflector (reflector.ts) instead.
   */
  watch(ref: CollectionRef, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** POST; 409 AlreadyExists is an ApiError. The answer to a dry run has version 0. */
  create(
    ref: CollectionRef,
    object: Manifest,
    options: { readonly fieldManager?: string; readonly dryRun?: boolean },
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /** Server-side apply (PATCH `application/apply-patch+yaml`). Spec: engine-facts.md. */
  apply(
    ref: ObjectRef,
    object: Manifest,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /** PATCH with a JSON Patch (array) or a merge patch (object). */
  patch(
    ref: ObjectRef,
    patch: readonly object[] | Readonly<Record<string, unknown>>,
    options: {
      readonly fieldManager?: string;
      readonly dryRun?: boolean;
      readonly subresource?: "status";
      readonly metadataOnly?: boolean;
    },
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /** PUT of a whole object, with its resourceVersion for optimistic concurrency. */
  replace(
    ref: ObjectRef,
    object: Manifest,
    options: { readonly subresource?: "status" },
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /** DELETE of one object. */
  remove(ref: ObjectRef, options: RemoveOptions, signal: AbortSignal): Promise<Removal>;
  /** DELETE of a collection; throws a plain Error for an empty label selector. Returns the metadata of the deleted objects. */
  removeCollection(
    ref: CollectionRef & { readonly labelSelector: string },
    options: Pick<RemoveOptions, "propagationPolicy">,
    signal: AbortSignal,
  ): Promise<readonly KubeObject[]>;
  /** Any other request with a JSON answer, for example POST to `tokenrequest` or GET `/version`. `path` begins with `/`. */
  request(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body: unknown,
    signal: AbortSignal,
    options?: {
      /**
       * Sends the request once, over a new connection, so that a load balancer may choose another API server. Running requests with the same object share
       * the connection.
       */
      readonly ownConnection?: object;
      /** Value of the header `Accept`; default: `application/json`. The answer has to be JSON in any case. */
      readonly accept?: string;
    },
  ): Promise<unknown>;
  /** Lines of a container's log, each after its time (RFC 3339) and a space. Absent when this client has no logs. */
  logs?(ref: LogRef, signal: AbortSignal): AsyncIterable<string>;
}

/** Names an object of a kind. The key decides whether it is namespaced, and not the scope in `kind`, which may be a guess. */
export function objectRefOf(
  { namespace, name }: Pick<ObjectKey, "namespace" | "name">,
  kind: ResourceType,
): ObjectRef {
  const resource = { ...kind, namespaced: namespace !== undefined };
  return namespace === undefined ? { resource, name } : { resource, namespace, name };
}
