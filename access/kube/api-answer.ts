import { areRecords, isRecord } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { isServedEverywhere, type ResourceType } from "../../api/resources.ts";
import type { TransportAnswer } from "../http/request.ts";
import { retryAfterMs } from "../http/retry.ts";
import { isJson, parseJson } from "../json.ts";
import { ApiError, foreignAnswerError, standInError, type StatusCause } from "./api-error.ts";
import type { ObjectRef } from "./kube-client.ts";

/**
 * The parsed JSON body of a successful answer. Throws the ApiError of an error answer, and ConnectionError `standIn` for a body that is not JSON.
 * `request` is `VERB path`, for messages.
 */
export function bodyOf(answer: TransportAnswer, request: string): unknown {
  if (answer.status < 200 || answer.status >= 300) throw apiErrorOf(answer, request);
  if (answer.text === "") return undefined;
  const body = isJson(answer.contentType) ? parsed(answer.text) : undefined;
  if (body === undefined) throw foreignAnswerError(`${request} with something that is not JSON`);
  return body;
}

/** The ApiError of an error answer. Its body is parsed only when the content type is JSON. */
export function apiErrorOf(answer: TransportAnswer, request: string): ApiError {
  const body = isJson(answer.contentType) ? parsed(answer.text) : undefined;
  const facts = emptyError(answer, request);
  if (isRecord(body) && body["kind"] === "Status") return statusError(body, facts);
  const message = foreignText(answer.text);
  return new ApiError({
    ...facts,
    message: message === "" ? `The server answered ${answer.status}` : message,
  });
}

/** The ApiError of a Status object, for example of the one in an ERROR event of a watch. */
export function statusError(
  status: Readonly<Record<string, unknown>>,
  facts: ReturnType<typeof emptyError>,
): ApiError {
  const details = isRecord(status["details"]) ? status["details"] : {};
  const seconds = details["retryAfterSeconds"];
  return new ApiError({
    ...facts,
    status: typeof status["code"] === "number" ? status["code"] : facts.status,
    reason: foreignText(stringOf(status["reason"]), 256),
    message: foreignText(stringOf(status["message"])) || `The server answered ${facts.status}`,
    causes: Array.isArray(details["causes"]) ? details["causes"].filter(isRecord).map(causeOf) : [],
    retryAfterMs: facts.retryAfterMs ?? (typeof seconds === "number" ? seconds * 1_000 : undefined),
    isStatus: true,
  });
}

/** The facts of an error answer that need no body. */
export function emptyError(
  answer: Pick<TransportAnswer, "status" | "retryAfter">,
  request: string,
): {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs: number | undefined;
  readonly isStatus: boolean;
  readonly request: string;
} {
  return {
    status: answer.status,
    reason: "",
    causes: [],
    retryAfterMs: retryAfterMs(answer.retryAfter),
    isStatus: false,
    request,
  };
}

/** True for a value with the fields that every stored object has, with metadata of the right form, and with no name longer than Kubernetes allows. */
export function isKubeObject(value: unknown): value is KubeObject {
  if (!isRecord(value)) return false;
  const { apiVersion, kind, metadata } = value;
  return (
    typeof apiVersion === "string" &&
    typeof kind === "string" &&
    isRecord(metadata) &&
    isNameOf(metadata["name"], longest.name) &&
    isNameOf(metadata["uid"], longest.id) &&
    isNameOf(metadata["resourceVersion"], longest.id) &&
    (metadata["namespace"] === undefined || isNameOf(metadata["namespace"], longest.label)) &&
    isWellFormed(metadata)
  );
}

/** The most characters that Kubernetes allows. A longer name is a lie that takes memory. */
const longest = {
  /** 253 for most kinds. Roles and their bindings have no limit but the length of a path. */
  name: 1_024,
  /** Of a uid, and of a version. */
  id: 253,
  /** A namespace, and the value of a label. */
  label: 63,
  /** The key of a label: a prefix, a slash and a name. */
  key: 317,
} as const;

function isNameOf(value: unknown, most: number): boolean {
  return typeof value === "string" && value.length <= most;
}

/** A version of a collection; empty when it is none. */
export function versionText(value: unknown): string {
  return typeof value === "string" && value.length <= longest.id ? value : "";
}

function areLabels(labels: unknown): boolean {
  if (!isRecord(labels)) return false;
  for (const key in labels) {
    const value = labels[key];
    if (key.length > longest.key) return false;
    if (typeof value === "string" && value.length > longest.label) return false;
  }
  return true;
}

function areShort(texts: unknown): boolean {
  return Array.isArray(texts) && texts.every((text) => isNameOf(text, longest.key));
}

/** Whether the parts of metadata that are there have the right form. Called for every object of every list, so it makes nothing. */
function isWellFormed(metadata: Readonly<Record<string, unknown>>): boolean {
  const { labels, annotations, ownerReferences, managedFields, finalizers } = metadata;
  return (
    (labels === undefined || areLabels(labels)) &&
    (annotations === undefined || isRecord(annotations)) &&
    (ownerReferences === undefined || areRecords(ownerReferences)) &&
    (managedFields === undefined || areRecords(managedFields)) &&
    (finalizers === undefined || areShort(finalizers))
  );
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The parser's error is dropped, because it quotes the text, which may hold a secret.
    return undefined;
  }
}

function causeOf(cause: Readonly<Record<string, unknown>>): StatusCause {
  return {
    reason: foreignText(stringOf(cause["reason"])),
    field: foreignText(stringOf(cause["field"])),
    message: foreignText(stringOf(cause["message"])),
  };
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** One page of a list. */
export interface ListPage {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Token of the next page. */
  readonly next: string | undefined;
}

/**
 * The object in an answer, with the apiVersion and kind of its resource: items of lists lack them, and metadata-only answers have
 * those of `PartialObjectMetadata`. Throws ConnectionError `standIn` when the body is not an object.
 */
export function storedObject(body: unknown, resource: ResourceType): KubeObject {
  const { apiVersion, kind } = resource;
  const object: unknown = isRecord(body) ? { ...body, apiVersion, kind } : body;
  if (!isKubeObject(object)) throw foreignAnswerError(`no ${kind}`);
  return object;
}

/** The same, for an answer about one object. Throws ConnectionError `standIn` also when the answer is about another one. */
export function namedObject(body: unknown, { resource, name, namespace }: ObjectRef): KubeObject {
  const object = storedObject(body, resource);
  const { metadata } = object;
  const isThere = !resource.namespaced || (metadata.namespace ?? namespace) === namespace;
  if (metadata.name !== name || !isThere) {
    throw foreignAnswerError(`another ${resource.kind} than was asked for`);
  }
  return object;
}

/**
 * The object in the answer to a DELETE when it still exists, because of a finalizer or a grace period. Undefined when it is gone, since
 * servers also answer with the last state of an object that is gone.
 */
export function remainsOf(body: unknown, resource: ResourceType): KubeObject | undefined {
  const { apiVersion, kind } = resource;
  const object: unknown = isRecord(body) ? { ...body, apiVersion, kind } : body;
  if (!isKubeObject(object)) return undefined;
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata;
  const isHeld = finalizers.length > 0 || deletionGracePeriodSeconds > 0;
  return deletionTimestamp !== undefined && isHeld ? object : undefined;
}

/**
 * The page in the answer to a LIST or a collection DELETE. Empty metadata lists have `items: null`. Throws ConnectionError `standIn`
 * when the body is not a list.
 */
export function listedObjects(body: unknown, resource: ResourceType): ListPage {
  const items = isRecord(body) && Object.hasOwn(body, "items") ? (body["items"] ?? []) : undefined;
  if (!isRecord(body) || !Array.isArray(items)) {
    throw foreignAnswerError(`no list of ${resource.plural}`);
  }
  const metadata = isRecord(body["metadata"]) ? body["metadata"] : {};
  const { resourceVersion, continue: next } = metadata;
  return {
    items: items.map((item: unknown) => storedObject(item, resource)),
    resourceVersion: versionText(resourceVersion),
    next: typeof next === "string" && next !== "" ? next : undefined,
  };
}

/** The request that failed. */
interface FailedRequest {
  readonly server: string;
  readonly resource: ResourceType | undefined;
}

/**
 * Turns a 400 or 404 that an API server cannot have sent into ConnectionError `standIn`; returns every other error as it is. An API server answers 404
 * without a Status only for a kind that it does not serve. For a kind that every API server has, a load balancer or a proxy answered. A 400 of an API
 * server is always a Status; cluster-proxy answers 400 when its own tunnel cannot be opened.
 */
export function unlessStandIn(error: unknown, { server, resource }: FailedRequest): unknown {
  if (!(error instanceof ApiError) || error.isStatus) return error;
  if (error.status === 400) return standInError(error, server);
  if (error.status !== 404) return error;
  if (resource === undefined || !isServedEverywhere(resource)) return error;
  return standInError(error, server);
}

/** The query of one page of a list. */
export interface PageQuery {
  readonly limit: number | undefined;
  readonly continue: string | undefined;
}

/**
 * Reads the next page of a list, or the first one. When the token has expired (410, after a compaction), reads the whole list in one
 * answer, because further pages could expire too. `isAnew` then tells the caller to drop the earlier pages. Throws what `read` throws.
 */
export async function nextPage<Page>(
  read: (query: PageQuery) => Promise<Page>,
  { limit, continue: token }: PageQuery,
): Promise<{ readonly page: Page; readonly isAnew: boolean }> {
  try {
    return { page: await read({ limit, continue: token }), isAnew: false };
  } catch (error) {
    const isTooOld = token !== undefined && error instanceof ApiError && error.status === 410;
    if (!isTooOld) throw error;
    return { page: await read({ limit: undefined, continue: undefined }), isAnew: true };
  }
}
