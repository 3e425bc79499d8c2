import { isRecord } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { isServedEverywhere, type ResourceType } from "../../api/resources.ts";
import type { TransportAnswer } from "../http/request.ts";
import { retryAfterMs } from "../http/retry.ts";
import { isJson, parseJson } from "../json.ts";
import { ApiError, foreignAnswerError, standInError, type StatusCause } from "./api-error.ts";

/** The JSON body of a success, parsed; ApiError for an error, ConnectionError `standIn` for a body that is not JSON. `request` is `VERB path` for messages. */
export function bodyOf(answer: TransportAnswer, request: string): unknown {
  if (answer.status < 200 || answer.status >= 300) throw apiErrorOf(answer, request);
  if (answer.text === "") return undefined;
  const body = isJson(answer.contentType) ? parsed(answer.text) : undefined;
  if (body === undefined) throw foreignAnswerError(`${request} with something that is not JSON`);
  return body;
}

/** The error that an answer is. A body is looked into only when its content type says JSON. */
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

/** The error that a Status object is, for example in an ERROR event of a watch. */
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

/** Facts of an answer without looking into its body. */
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

/** True for a value that has what every stored object has. */
export function isKubeObject(value: unknown): value is KubeObject {
  if (!isRecord(value)) return false;
  const { apiVersion, kind, metadata } = value;
  return (
    typeof apiVersion === "string" &&
    typeof kind === "string" &&
    isRecord(metadata) &&
    typeof metadata["name"] === "string" &&
    typeof metadata["uid"] === "string" &&
    typeof metadata["resourceVersion"] === "string"
  );
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The parser's message quotes the text, which may hold a secret: it is not kept.
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
 * An object out of an answer. Items of lists have no apiVersion and kind, metadata-only answers those of the envelope;
 * both get those of the resource. Throws ConnectionError `standIn` for something that is not an object.
 */
export function storedObject(body: unknown, resource: ResourceType): KubeObject {
  const { apiVersion, kind } = resource;
  const object: unknown = isRecord(body) ? { ...body, apiVersion, kind } : body;
  if (!isKubeObject(object)) throw foreignAnswerError(`no ${kind}`);
  return object;
}

/**
 * The object that the answer to a DELETE shows when something still holds it: a finalizer, or the time that it is given to end. Servers also
 * answer with objects of which nothing is left.
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
 * A page out of the answer to a LIST or a collection DELETE; `items: null` is what an empty metadata list says. Throws ConnectionError `standIn`
 * for something that is not a list.
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
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    next: typeof next === "string" && next !== "" ? next : undefined,
  };
}

/** Who was asked, and for what. */
interface Asked {
  readonly server: string;
  readonly resource: ResourceType | undefined;
}

/**
 * The error of an answer, or ConnectionError where it says nothing of any object: 404 without a Status is what an API server answers for a kind that it does
 * not serve. For a kind that all of them serve it comes from something else, such as a load balancer without a way to the server.
 */
export function unlessStandIn(error: unknown, { server, resource }: Asked): unknown {
  if (!(error instanceof ApiError) || error.status !== 404 || error.isStatus) return error;
  if (resource === undefined || !isServedEverywhere(resource)) return error;
  return standInError(error, server);
}

/** What says which part of a list is wanted. */
export interface PageQuery {
  readonly limit: number | undefined;
  readonly continue: string | undefined;
}

/**
 * Reads the next page of a list, or the first one. When its token has expired (410, after a compaction) it reads the whole list in one
 * answer, since further pages could expire again, and `isAnew` says that the earlier pages do not count. Throws what `read` throws.
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
