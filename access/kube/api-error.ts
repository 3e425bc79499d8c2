/** One entry of `details.causes` of a Status. */
export interface StatusCause {
  readonly reason?: string;
  readonly field?: string;
  readonly message?: string;
}

export interface ApiErrorFacts {
  readonly status: number;
  /** `reason` of the Status body, for example `NotFound`; empty when the body was no Status. */
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
 * Whether a JSON Patch was refused because the object is not as it was when the patch was made: it is gone (404), has another version
 * (409), or lacks what the patch tests or removes. That is a 422 without causes; an object that would not be valid is one with causes.
 */
export function isOutdatedPatch(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { status, causes } = error;
  return status === 404 || status === 409 || (status === 422 && causes.length === 0);
}

/** Why a server could not be talked to. */
export type ConnectionFailure =
  | "refused"
  | "timeout"
  | "reset"
  | "dns"
  | "untrusted"
  | "closed"
  | "notAllowed"
  /** Something else answers in its place: 404 for what is always there (stand-in.ts), or a body that is not what was asked for. */
  | "standIn"
  /** It answers more than any API server; see answer-limits.ts. */
  | "tooLarge"
  | "other";

/** The API server could not be reached, stopped answering, or showed a certificate that is not trusted. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly failure: ConnectionFailure;

  constructor(
    failure: ConnectionFailure,
    message: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(message, options);
    this.failure = failure;
  }
}
