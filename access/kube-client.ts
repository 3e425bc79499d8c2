// oxlint-disable max-params -- the methods of the contract take options and, last, the signal
import type { KubeObject, Manifest } from "../api/kubernetes.ts";
import type { ResourceType } from "../api/resources.ts";
import { bodyOf } from "./api-answer.ts";
import { ApiError } from "./api-error.ts";
import { listedObjects, storedObject } from "./kube-answer.ts";
import { collectionPath, objectPath, type Query } from "./kube-path.ts";
import type { Requester } from "./requester.ts";
import { watchStream } from "./watch-stream.ts";

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

export interface ApplyOptions {
  readonly fieldManager: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  /** Ask for `PartialObjectMetadata` back instead of the whole object. */
  readonly metadataOnly?: boolean;
  readonly subresource?: "status";
}

export interface RemoveOptions {
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  /** Preconditions; a mismatch is an ApiError 409. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

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
}

/**
 * Requests to one cluster. Every call takes part in the client's limits, deadlines and retries of idempotent requests
 * (connection errors, 429 and 503 with Retry-After), sends the current credential and refreshes it once on 401.
 *
 * Throws `ApiError` for an answer that is not a success, `ConnectionError` when the server cannot be reached or
 * trusted, `FleetError` (`AccessProviderFailed`, `RemoteClusterStale`) when no credential can be had or the connection
 * was closed. Not found is a value.
 */
export interface KubeClient {
  /** Base URL of the API server, without credentials; for messages. */
  readonly server: string;
  /** The object, or undefined when it does not exist (404 with a Status body or a plain-text one alike). */
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
  /** DELETE of one object; false when it did not exist. */
  remove(ref: ObjectRef, options: RemoveOptions, signal: AbortSignal): Promise<boolean>;
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
  ): Promise<unknown>;
}

const pageSize = 500;
const maxPages = 2_000;
const readTimeoutMs = 10_000;
// A server under load may keep a write in its queue for 15 s and more.
const writeTimeoutMs = 30_000;

const json = "application/json";
const metadataOf = (kind: string): string => `${json};as=${kind};g=meta.k8s.io;v=v1`;
const metadataObject = metadataOf("PartialObjectMetadata");
// A collection DELETE with the Accept of a single object answers 406 after it has deleted everything.
const metadataList = metadataOf("PartialObjectMetadataList");

/** A KubeClient that sends its requests through a requester. Opens no connection before the first request. */
export function createKubeClient(requester: Requester): KubeClient {
  const call = callerOf(requester);
  return {
    server: requester.server,
    ...readsOf(requester, call),
    ...writesOf(call),
    ...removalsOf(call),
    request: (method, path, body, signal) =>
      call({ method, path, body, verb: "other", accept: json }, signal),
  };
}

interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly verb: string;
  readonly accept: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Absent: GET and DELETE are, the others are not. */
  readonly idempotent?: boolean;
}

type Caller = (call: Call, signal: AbortSignal) => Promise<unknown>;

function callerOf(requester: Requester): Caller {
  return async (call, signal) => {
    const { method, path, verb, accept, body, contentType = json } = call;
    const reads = method === "GET" || method === "DELETE";
    const answer = await requester.send(
      {
        method,
        path,
        verb,
        headers: { accept, ...(body === undefined ? {} : { "content-type": contentType }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeoutMs: reads ? readTimeoutMs : writeTimeoutMs,
        idempotent: call.idempotent ?? reads,
      },
      signal,
    );
    return bodyOf(answer, `${method} ${pathOf(path)}`);
  };
}

function readsOf(requester: Requester, call: Caller): Pick<KubeClient, "get" | "list" | "watch"> {
  return {
    get: async (ref, { metadataOnly }, signal) => {
      const accept = metadataOnly === true ? metadataObject : json;
      const path = objectPath(ref, undefined, {});
      const body = await unlessNotFound(call({ method: "GET", path, verb: "get", accept }, signal));
      return body === undefined ? undefined : storedObject(body, ref.resource);
    },
    list: (ref, options, signal) => listAll(call, { ref, ...options }, signal),
    watch: (ref, options, signal) => watchStream(requester, { ref, ...options }, signal),
  };
}

async function listAll(
  call: Caller,
  { ref, metadataOnly }: { readonly ref: CollectionRef; readonly metadataOnly?: boolean },
  signal: AbortSignal,
): Promise<KubeList> {
  const accept = metadataOnly === true ? metadataList : json;
  const items: KubeObject[] = [];
  let next: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const path = collectionPath(ref, { limit: pageSize, continue: next });
    const body = await call({ method: "GET", path, verb: "list", accept }, signal);
    const list = listedObjects(body, ref.resource);
    items.push(...list.items);
    next = list.next;
    if (next === undefined) return { items, resourceVersion: list.resourceVersion };
  }
  throw new Error(`The list of ${ref.resource.plural} has no end`);
}

function writesOf(call: Caller): Pick<KubeClient, "create" | "apply" | "patch" | "replace"> {
  const write = async (
    request: Call,
    resource: ResourceType,
    signal: AbortSignal,
  ): Promise<KubeObject> => storedObject(await call(request, signal), resource);
  return {
    create: (ref, body, { fieldManager }, signal) => {
      const path = collectionPath(ref, { fieldManager });
      return write(
        { method: "POST", path, verb: "create", accept: json, body },
        ref.resource,
        signal,
      );
    },
    apply: (ref, body, options, signal) => {
      const { fieldManager, force, dryRun, metadataOnly, subresource } = options;
      const query: Query = { fieldManager, force, dryRun: dryRun === true ? "All" : undefined };
      const path = objectPath(ref, subresource, query);
      const accept = metadataOnly === true ? metadataObject : json;
      // JSON is YAML. Idempotent by nature.
      const contentType = "application/apply-patch+yaml";
      const request = { method: "PATCH", path, verb: "apply", accept, body, contentType } as const;
      return write({ ...request, idempotent: true }, ref.resource, signal);
    },
    patch: (ref, body, { fieldManager, subresource, metadataOnly }, signal) => {
      const path = objectPath(ref, subresource, { fieldManager });
      const accept = metadataOnly === true ? metadataObject : json;
      const operations = Array.isArray(body);
      const contentType = `application/${operations ? "json-patch" : "merge-patch"}+json`;
      const request = { method: "PATCH", path, verb: "patch", accept, body, contentType } as const;
      return write({ ...request, idempotent: !operations }, ref.resource, signal);
    },
    replace: (ref, body, { subresource }, signal) => {
      const path = objectPath(ref, subresource, {});
      return write(
        { method: "PUT", path, verb: "update", accept: json, body },
        ref.resource,
        signal,
      );
    },
  };
}

function removalsOf(call: Caller): Pick<KubeClient, "remove" | "removeCollection"> {
  return {
    remove: async (ref, { propagationPolicy, uid, resourceVersion }, signal) => {
      const preconditions =
        uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
      const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy, preconditions };
      const path = objectPath(ref, undefined, {});
      const request = { method: "DELETE", path, verb: "delete", accept: json, body } as const;
      return (await unlessNotFound(call(request, signal))) !== undefined;
    },
    removeCollection: async (ref, { propagationPolicy }, signal) => {
      if (ref.labelSelector.trim() === "") {
        throw new Error(
          `Refusing to delete all ${ref.resource.plural}: the label selector is empty`,
        );
      }
      const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy };
      const path = collectionPath(ref, {});
      const verb = "deletecollection";
      const deleted = await unlessNotFound(
        call({ method: "DELETE", path, verb, accept: metadataList, body }, signal),
      );
      return deleted === undefined ? [] : listedObjects(deleted, ref.resource).items;
    },
  };
}

async function unlessNotFound(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

function pathOf(path: string): string {
  return path.split("?", 1)[0] ?? path;
}
