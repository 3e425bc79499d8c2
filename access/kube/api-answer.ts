import { isRecord } from "../../api/fields.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { foreignText } from "../foreign-text.ts";
import { foreignAnswerError } from "../http/connection-failure.ts";
import { retryAfterMs } from "../http/retry.ts";
import type { TransportAnswer } from "../http/transport.ts";
import { isJson, parseJson } from "../json.ts";
import { ApiError, type StatusCause } from "./api-error.ts";

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
