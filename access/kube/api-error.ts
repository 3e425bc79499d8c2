import { FleetError } from "../../api/errors.ts";
import { forbiddenPlace } from "../../api/sentences.ts";

/** One entry of `details.causes` of a Status. */
export interface StatusCause {
  readonly reason?: string;
  readonly field?: string;
  readonly message?: string;
}

export interface ApiErrorFacts {
  readonly status: number;
  /** `reason` of the Status body, for example `NotFound`; empty when the body is not a Status. */
  readonly reason: string;
  /** Message of the server, cut to 1,024 characters and free of control characters; foreign text. */
  readonly message: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs?: number;
  /** False for `text/plain` answers, such as the 404 of a kind that is not served yet. */
  readonly isStatus: boolean;
  /** `VERB path`, without query values. */
  readonly request: string;
}

/** An API server answered with something other than success. */
export class ApiError extends Error implements ApiErrorFacts {
  override readonly name = "ApiError";
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs: number | undefined;
  readonly isStatus: boolean;
  readonly request: string;

  constructor(facts: ApiErrorFacts) {
    super(facts.message);
    this.status = facts.status;
    this.reason = facts.reason;
    this.causes = facts.causes;
    this.retryAfterMs = facts.retryAfterMs;
    this.isStatus = facts.isStatus;
    this.request = facts.request;
  }
}

/**
 * True when a JSON Patch failed because the object has changed since: it is gone (404), has another version (409), or a `test` or
 * `remove` operation failed (422 without causes). A 422 with causes means that the result would be invalid.
 */
export function isOutdatedPatch(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { status, causes } = error;
  return status === 404 || status === 409 || (status === 422 && causes.length === 0);
}

/** Why a request got no usable answer. */
export type ConnectionFailure =
  | "refused"
  | "timeout"
  | "reset"
  | "dns"
  | "untrusted"
  | "closed"
  | "notAllowed"
  /** Something other than an API server answers: with 404 for what every API server has, or with an unexpected body. */
  | "standIn"
  /** The answer exceeds the limits of answer-limits.ts. */
  | "tooLarge"
  | "other";

/** The API server could not be reached, stopped answering, or showed a certificate that is not trusted. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly failure: ConnectionFailure;
  /** What may be told of `failure`; see `concealed`. */
  readonly told: ConnectionFailure;

  constructor(
    failure: ConnectionFailure,
    message: string,
    { told = failure, ...options }: ConnectionErrorOptions = {},
  ) {
    super(message, options);
    this.failure = failure;
    this.told = told;
  }
}

interface ConnectionErrorOptions {
  readonly cause?: unknown;
  readonly told?: ConnectionFailure;
}

// They say nothing of what listens where.
const harmless: ReadonlySet<ConnectionFailure> = new Set(["notAllowed", "tooLarge", "closed"]);

/**
 * The same failure without a word about what is behind the address: whether nothing listens there, something else, or a server that is not trusted. For addresses that a tenant chooses, who
 * could find out the open ports of the hub's network. The cause, for the log, is the error with all its words.
 */
export function concealed(error: ConnectionError, server: string): ConnectionError {
  if (harmless.has(error.failure)) return error;
  return new ConnectionError(error.failure, `${server} ${concealedSentence}`, {
    cause: error,
    told: "other",
  });
}

/** What is said of every such server. */
export const concealedSentence =
  "does not answer as an API server that is trusted; the log of the controller says why";

/** An error of a server, of the way to it, or of what a user wrote. */
export type ServerFailure = ApiError | ConnectionError | FleetError;

/** Whether an error is a failure of a server or of the way to it, and not a bug of this program. */
export function isServerFailure(error: unknown): error is ServerFailure {
  return (
    error instanceof ApiError || error instanceof ConnectionError || error instanceof FleetError
  );
}

const failures: Readonly<Record<string, ConnectionFailure>> = {
  ECONNREFUSED: "refused",
  // The route may vanish during a request. Without a connection it is "refused"; see failureOf.
  EHOSTUNREACH: "reset",
  ENETUNREACH: "reset",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  ECONNRESET: "reset",
  EPIPE: "reset",
  UND_ERR_SOCKET: "reset",
  // HTTP/2 GOAWAY, a stream that ended early, an idle session that was closed under a new request.
  UND_ERR_INFO: "reset",
  ERR_HTTP2_STREAM_ERROR: "reset",
  ERR_HTTP2_SESSION_ERROR: "reset",
  UND_ERR_CLOSED: "closed",
  UND_ERR_DESTROYED: "closed",
};

const elsewhere = "something else answers in its place";

const sentences: Readonly<Record<ConnectionFailure, string>> = {
  refused: "refused the connection",
  timeout: "did not answer in time",
  reset: "broke the connection",
  dns: "has a host name that does not resolve",
  untrusted: "shows a certificate that is not trusted",
  notAllowed: forbiddenPlace.of(),
  tooLarge: "sends more than may be read",
  closed: "cannot be used: the connection was closed",
  standIn: `answered as no API server does: ${elsewhere}`,
  other: "cannot be reached",
};

// Node's names for OpenSSL's verification errors begin like this.
const untrustedCode =
  /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_MISMATCH|ERR_TLS_CERT_|PATH_LENGTH_|INVALID_PURPOSE|CRL_)/;

/** Turns a transport error into a ConnectionError, whose message names the server and whose `cause` is the original. */
export function connectionErrorOf(error: unknown, server: string): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const code = codeOf(error);
  const failure = failureOf(code, error);
  const suffix = code === "" ? "" : ` (${code})`;
  return new ConnectionError(failure, `${server} ${sentences[failure]}${suffix}`, { cause: error });
}

/** The error for an answer that no API server can have sent. */
export function standInError(cause: ApiError, server: string): ConnectionError {
  const message = `${server} answered ${cause.status} as no API server does: ${elsewhere}`;
  return new ConnectionError("standIn", message, { cause });
}

/** The error for an answer that no API server gives. `what` describes the answer, for example `no list of pods`. */
export function foreignAnswerError(what: string): ConnectionError {
  return new ConnectionError("standIn", `The server answered ${what}: ${elsewhere}`);
}

function failureOf(code: string, error: unknown): ConnectionFailure {
  const isUnroutable = code === "EHOSTUNREACH" || code === "ENETUNREACH";
  // Without a connection nothing was sent, so even a create may be repeated.
  if (isUnroutable && detailOf(error, "syscall") === "connect") return "refused";
  return failures[code] ?? (untrustedCode.test(code) ? "untrusted" : "other");
}

/** `code` of an error, of its cause, or of the first error of an AggregateError; the empty string when there is none. */
export function codeOf(error: unknown): string {
  return detailOf(error, "code");
}

function detailOf(error: unknown, field: "code" | "syscall"): string {
  if (!(error instanceof Error)) return "";
  const value: unknown = Reflect.get(error, field);
  if (typeof value === "string") return value;
  if (field === "code" && error.name === "TimeoutError") return "ETIMEDOUT";
  if (error instanceof AggregateError && error.errors.length > 0) {
    return detailOf(error.errors[0], field);
  }
  return detailOf(error.cause, field);
}

/**
 * The answer to an optional request; undefined when the server forbids it (403) or does not know it (404), because the main work may still be allowed.
 * Rejects with every other error, since a busy or failing server may answer the next time.
 */
export async function unlessDenied<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && [403, 404].includes(error.status)) return undefined;
    throw error;
  }
}

/** The answer about a kind that a server need not serve; undefined where it does not (404). Rejects with every other error, also for a right that is missing. */
export async function ifServed<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
