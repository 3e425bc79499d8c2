import type { KubeObject, Manifest, ObjectKey } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";

/** Where one object is. `namespace` is required for namespaced resources and ignored for others. */
export interface ObjectRef {
  readonly resource: ResourceType;
  readonly namespace?: string;
  readonly name: string;
}

/** Where a collection is. Without `namespace` all namespaces are meant (lists and watches only). */
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
  /** Ask for `PartialObjectMetadata` back instead of the whole object. */
  readonly metadataOnly?: boolean;
  readonly subresource?: "status";
}

interface RemoveOptions {
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  /** Preconditions; a mismatch is an ApiError 409. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** What a DELETE found and left: no such object, nothing of it any more, or the object while its deletion goes on. */
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
  /** Continue after this version; absent: start with a WatchList (`sendInitialEvents`). */
  readonly resourceVersion?: string;
  /** When the server is to end the watch; absent: as the server likes. */
  readonly timeoutSeconds?: number;
}

/** Which lines of which container. */
export interface LogRef {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Go on with what is written from now on. */
  readonly follow: boolean;
  /** RFC 3339; lines since then. */
  readonly sinceTime?: string;
  /** The last so many; absent: all. */
  readonly tailLines?: number;
}

/**
 * Requests to one cluster. Every call takes part in the client's limits, deadlines and retries of idempotent requests
 * (connection errors, 429 and 503 with Retry-After), sends the current credential and refreshes it once on 401.
 *
 * Throws `ApiError` for an answer that is not a success, `ConnectionError` when the server cannot be reached or trusted, or
 * something else answers in its place (stand-in.ts, kube-answer.ts), `FleetError` (`AccessProviderFailed`, `RemoteClusterStale`) when no
 * credential can be had or the connection was closed, `WriteRefusedError` when the request would change something and this
 * process may not. Not found is a value.
 */
export interface KubeClient {
  /** Base URL of the API server, without credentials; for messages. */
  readonly server: string;
  /** The object, or undefined when it does not exist, or its kind is not served. */
  get(
    ref: ObjectRef,
    options: { readonly metadataOnly?: boolean },
    signal: AbortSignal,
  ): Promise<KubeObject | undefined>;
  /** Lists in pages of 500; `items: null` reads as empty. */
  list(
    ref: CollectionRef,
    options: { readonly metadataOnly?: boolean },
    signal: AbortSignal,
  ): Promise<KubeList>;
  /**
   * One watch request: yields events until the server ends the stream (normal end) or throws. 410, also as an ERROR event, is an
   * ApiError with status 410. Bookmarks are always asked for. A reflector (reflector.ts) is what most callers want.
   */
  watch(ref: CollectionRef, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** POST; 409 AlreadyExists is an ApiError. */
  create(
    ref: CollectionRef,
    object: Manifest,
    options: { readonly fieldManager?: string },
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
  /** DELETE of a collection; refuses an empty label selector (plain Error). Returns the deleted objects' metadata. */
  removeCollection(
    ref: CollectionRef & { readonly labelSelector: string },
    options: Pick<RemoveOptions, "propagationPolicy">,
    signal: AbortSignal,
  ): Promise<readonly KubeObject[]>;
  /** Any other request that answers JSON, for example POST to `tokenrequest` or GET `/version`. `path` begins with `/`. */
  request(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body: unknown,
    signal: AbortSignal,
    options?: {
      /**
       * Over a new connection, so that a load balancer in front of several API servers may choose anew; and only once. Those that are under way with the same
       * object share it.
       */
      readonly ownConnection?: object;
      /** What the answer may be; default: `application/json`. The answer has to be JSON all the same. */
      readonly accept?: string;
    },
  ): Promise<unknown>;
  /** Lines of a container's log, each with its time (RFC 3339) and a space in front; absent: there are none. */
  logs?(ref: LogRef, signal: AbortSignal): AsyncIterable<string>;
}

/** An object of a kind: with a namespace if its key has one and without if not, whatever scope the kind is thought to have. */
export function objectRefOf(
  { namespace, name }: Pick<ObjectKey, "namespace" | "name">,
  kind: ResourceType,
): ObjectRef {
  const resource = { ...kind, namespaced: namespace !== undefined };
  return namespace === undefined ? { resource, name } : { resource, namespace, name };
}
