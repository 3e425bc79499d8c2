import { isRecord, recordAt } from "../../api/fields.ts";
import { asEscapes } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import {
  type AnswerHold,
  type AnswerKind,
  type ClusterAnswers,
  crowdedError,
} from "../answer-limits.ts";
import type { Requester } from "../http/request.ts";
import { writeTimeoutMs } from "../http/requester.ts";
import {
  bodyOf,
  listedObjects,
  namedObject,
  type ListPage,
  nextPage,
  type PageQuery,
  remainsOf,
  storedObject,
  unlessStandIn,
} from "./api-answer.ts";
import { ApiError, ConnectionError } from "./api-error.ts";
import type { CollectionRef, KubeClient, KubeList, ListOptions, ObjectRef } from "./kube-client.ts";
import { collectionPath, objectPath, type Query } from "./kube-path.ts";
import { logStream } from "./log-stream.ts";
import { watchStream } from "./watch-stream.ts";

const pageSize = 500;
// The page size is divided by this when a page exceeds the limits of an answer.
const pageSizeDivisor = 10;
// Both are far above the objects of one kind in a cluster. They stop a server whose list has no end from filling our memory. Security: T-54.
const maxPages = 2_000;
const maxListCharacters = 256 * 1024 * 1024;
const readTimeoutMs = 10_000;

const json = "application/json";
const metadataOf = (kind: string): string => `${json};as=${kind};g=meta.k8s.io;v=v1`;
const metadataObject = metadataOf("PartialObjectMetadata");
// A collection DELETE with the Accept of a single object answers 406 after it has deleted everything.
const metadataList = metadataOf("PartialObjectMetadataList");

/** Makes a KubeClient that sends through `requester`. `answers` is the memory budget of its lists; absent: no limit. */
export function createKubeClient(requester: Requester, answers?: ClusterAnswers): KubeClient {
  const call = callerOf(requester);
  return {
    server: requester.server,
    ...readsOf(requester, call, answers),
    ...writesOf(call),
    ...removalsOf(call),
    logs: (ref, signal) => logStream(requester, ref, signal),
    request: (method, path, body, signal, options = {}) => {
      const { ownConnection, accept = json } = options;
      const request = { method, path, body, verb: "other", accept } as const;
      return call(
        ownConnection === undefined ? request : { ...request, ownConnection, idempotent: false },
        signal,
      );
    },
  };
}

interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly verb: string;
  readonly accept: string;
  /** Absent for requests that concern no objects, such as `/version`. */
  readonly resource?: ResourceType;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Default: true for GET and DELETE. */
  readonly idempotent?: boolean;
  readonly ownConnection?: object;
  /** Default: `object`. */
  readonly answer?: AnswerKind;
  /** Called with the length of the answer before it is parsed. */
  readonly onLength?: (characters: number) => void;
}

/** JSON without the characters that YAML takes only as escapes, or as line breaks. */
function wireText(body: unknown): string {
  return asEscapes(JSON.stringify(body), /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g);
}

type Caller = (call: Call, signal: AbortSignal) => Promise<unknown>;

function callerOf(requester: Requester): Caller {
  return async (call, signal) => {
    const { method, path, verb, accept, body, contentType = json, ownConnection } = call;
    const { answer: kind } = call;
    const isRead = method === "GET";
    const answer = await requester.send(
      {
        method,
        path,
        verb,
        headers: { accept, ...(body === undefined ? {} : { "content-type": contentType }) },
        ...(body === undefined ? {} : { body: wireText(body) }),
        timeoutMs: isRead ? readTimeoutMs : writeTimeoutMs,
        idempotent: call.idempotent ?? (isRead || method === "DELETE"),
        ...(ownConnection === undefined ? {} : { ownConnection }),
        ...(kind === undefined ? {} : { answer: kind }),
      },
      signal,
    );
    call.onLength?.(answer.text.length);
    try {
      return bodyOf(answer, `${method} ${pathOf(path)}`);
    } catch (error) {
      throw unlessStandIn(error, { server: requester.server, resource: call.resource });
    }
  };
}

function readsOf(
  requester: Requester,
  call: Caller,
  answers: ClusterAnswers | undefined,
): Pick<KubeClient, "get" | "list" | "watch"> {
  const { server } = requester;
  return {
    get: async (ref, { metadataOnly }, signal) => {
      const accept = metadataOnly === true ? metadataObject : json;
      const path = objectPath(ref, undefined, {});
      const { resource } = ref;
      const request = { method: "GET", path, verb: "get", accept, resource } as const;
      const body = await unlessNotFound(call(request, signal));
      return body === undefined ? undefined : namedObject(body, ref);
    },
    list: (ref, options, signal) => listAll(call, { ref, server, answers, ...options }, signal),
    watch: (ref, options, signal) => watchStream(requester, { ref, ...options }, signal),
  };
}

interface WholeList extends ListOptions {
  readonly ref: CollectionRef;
  readonly server: string;
  readonly answers: ClusterAnswers | undefined;
}

async function listAll(
  call: Caller,
  { ref, metadataOnly, onCount, keep, server, answers }: WholeList,
  signal: AbortSignal,
): Promise<KubeList> {
  const accept = metadataOnly === true ? metadataList : json;
  const endless = new ConnectionError("tooLarge", `The list of ${ref.resource.plural} has no end`);
  let room = maxListCharacters;
  let error: Error = endless;
  const openHold = (): AnswerHold | undefined =>
    answers?.open(() => {
      room = 0;
      error = crowdedError(server);
    });
  let hold = openHold();
  using _held = { [Symbol.dispose]: () => hold?.[Symbol.dispose]() };
  const onLength = (characters: number): void => {
    room -= characters;
    hold?.add(characters);
    if (room <= 0) throw error;
  };
  const read = async (query: PageQuery): Promise<ListPage> => {
    const path = collectionPath(ref, { ...query });
    const { resource } = ref;
    const what = { verb: "list", accept, resource, answer: "list", onLength } as const;
    const request = { method: "GET", path, ...what } as const;
    return listedObjects(await call(request, signal), resource);
  };
  const items: KubeObject[] = [];
  let next: string | undefined;
  let limit = pageSize;
  const shrinkPages = (reason: unknown): undefined => {
    const isTooLarge = reason instanceof ConnectionError && reason.failure === "tooLarge";
    limit = Math.floor(limit / pageSizeDivisor);
    if (!isTooLarge || limit === 0 || room <= 0) throw reason;
  };
  for (let pages = 0; pages < maxPages; pages += 1) {
    const answer = await nextPage(read, { limit, continue: next }).catch(shrinkPages);
    if (answer === undefined) continue;
    const { page: list, isAnew } = answer;
    if (isAnew) items.length = 0;
    for (const item of list.items) items.push(keep === undefined ? item : keep(item));
    if (keep !== undefined) {
      // The page itself goes.
      hold?.[Symbol.dispose]();
      hold = openHold();
    }
    onCount?.(items.length);
    if (list.next === undefined) return { items, resourceVersion: list.resourceVersion };
    // The token of the page that was just read: the list would repeat forever.
    if (list.next === next) throw endless;
    next = list.next;
  }
  throw endless;
}

function writesOf(call: Caller): Pick<KubeClient, "create" | "apply" | "patch" | "replace"> {
  const write = async (request: Call, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject> =>
    namedObject(await call({ ...request, resource: ref.resource }, signal), ref);
  return {
    create: async (ref, body, { fieldManager, dryRun }, signal) => {
      const { resource } = ref;
      const query = { fieldManager, dryRun: dryRun === true ? "All" : undefined };
      const path = collectionPath(ref, query);
      const request = { method: "POST", path, verb: "create", accept: json, body } as const;
      const answer = await call({ ...request, resource }, signal);
      return storedObject(dryRun === true ? withVersion(answer) : answer, resource);
    },
    apply: (ref, body, options, signal) => {
      const { fieldManager, force, dryRun, metadataOnly, subresource } = options;
      const query: Query = { fieldManager, force, dryRun: dryRun === true ? "All" : undefined };
      const path = objectPath(ref, subresource, query);
      const accept = metadataOnly === true ? metadataObject : json;
      // The body is JSON, which is YAML as `wireText` writes it.
      const contentType = "application/apply-patch+yaml";
      const request = { method: "PATCH", path, verb: "apply", accept, body, contentType } as const;
      return write({ ...request, idempotent: true }, ref, signal);
    },
    patch: (ref, body, { fieldManager, dryRun, subresource, metadataOnly }, signal) => {
      const query: Query = { fieldManager, dryRun: dryRun === true ? "All" : undefined };
      const path = objectPath(ref, subresource, query);
      const accept = metadataOnly === true ? metadataObject : json;
      const operations = Array.isArray(body);
      const contentType = `application/${operations ? "json-patch" : "merge-patch"}+json`;
      const request = { method: "PATCH", path, verb: "patch", accept, body, contentType } as const;
      return write({ ...request, idempotent: !operations }, ref, signal);
    },
    replace: (ref, body, { subresource }, signal) => {
      const path = objectPath(ref, subresource, {});
      return write({ method: "PUT", path, verb: "update", accept: json, body }, ref, signal);
    },
  };
}

/** The answer to a dry run. The object was not stored, and has no version. */
function withVersion(answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  return { ...answer, metadata: { resourceVersion: "0", ...recordAt(answer, "metadata") } };
}

function removalsOf(call: Caller): Pick<KubeClient, "remove" | "removeCollection"> {
  return {
    remove: async (ref, { propagationPolicy, uid, resourceVersion }, signal) => {
      const preconditions =
        uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
      const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy, preconditions };
      const path = objectPath(ref, undefined, {});
      const { resource } = ref;
      const request = { method: "DELETE", path, verb: "delete", accept: json, resource } as const;
      const answer = await call({ ...request, body }, signal).catch(absentIfNotFound);
      return answer === absent ? absent : (remainsOf(answer, resource) ?? "gone");
    },
    removeCollection: async (ref, { propagationPolicy }, signal) => {
      if (ref.labelSelector.trim() === "") {
        throw new Error(
          `Refusing to delete all ${ref.resource.plural}: the label selector is empty`,
        );
      }
      const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy };
      const path = collectionPath(ref, {});
      const { resource } = ref;
      const verb = "deletecollection";
      const what = { accept: metadataList, resource, answer: "list" } as const;
      const request = { method: "DELETE", path, verb, ...what } as const;
      const deleted = await unlessNotFound(call({ ...request, body }, signal));
      // Aggregated API servers may answer with a Status instead of the deleted objects.
      const hasNoItems =
        deleted === undefined || (isRecord(deleted) && deleted["kind"] === "Status");
      return hasNoItems ? [] : listedObjects(deleted, resource).items;
    },
  };
}

const absent = "absent";

function absentIfNotFound(error: unknown): typeof absent {
  if (error instanceof ApiError && error.status === 404) return absent;
  throw error;
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
