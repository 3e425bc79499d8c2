import { JsonShape } from "../access/json.ts";
import type { Log } from "../access/log.ts";
import { abortable } from "../access/time/deadline.ts";
import { jsonOf } from "../api/fields.ts";
import { foreignText } from "../api/foreign-text.ts";
import type { Metrics, ReviewResult } from "./metrics.ts";
import {
  type AdmissionRequest,
  admissionRequestOf,
  type Ruling,
  type Violation,
} from "./reviews/review.ts";

/** Decides about one request before its signal is aborted. The reason of the abort is a TimeoutError. `early` aborts before, and ends what only advises. */
export type Review = (
  request: AdmissionRequest,
  signal: AbortSignal,
  early?: AbortSignal,
) => Promise<Ruling>;

/** The reply to the API server: a decided review, or why the body was no review. */
export type Reply =
  | { readonly result: ReviewResult; readonly review: ReviewAnswer }
  | { readonly result: "unanswered"; readonly status: 400 | 413; readonly text: string };

export interface ReplyDeps {
  /** Path of the rules; a label of metrics and log lines. */
  readonly path: string;
  readonly review: Review;
  /** Ends what only advises; absent: the signal of the reply. */
  readonly early?: AbortSignal;
  readonly metrics: Pick<Metrics, "refused">;
  readonly log: Log;
}

// Security: T-62, F9.
const shapeLimits = { depth: 64 + 16, values: 80_000 } as const;
const tooMuch = {
  depth: `nested deeper than ${shapeLimits.depth} levels`,
  values: `more than ${shapeLimits.values} values`,
} as const;

/** Replies to the body of a request. Never rejects: a request that cannot be decided is denied with code 500. Security: T-03, T-71. */
export async function replyTo(
  body: Uint8Array,
  deps: ReplyDeps,
  signal: AbortSignal,
): Promise<Reply> {
  const excess = new JsonShape(shapeLimits).take(body);
  if (excess !== undefined) {
    return { result: "unanswered", status: 413, text: tooMuch[excess] };
  }
  const request = requestOf(body);
  if (typeof request === "string") return { result: "unanswered", status: 400, text: request };
  const ruling = await rulingOn(request, deps, signal);
  logRefusal(request, ruling, deps);
  return { result: resultOf(ruling), review: answerOf(request.uid, ruling) };
}

async function rulingOn(
  request: AdmissionRequest,
  { review, log, path, early }: ReplyDeps,
  signal: AbortSignal,
): Promise<Ruling> {
  try {
    return await abortable(review(request, signal, early), signal);
  } catch (error) {
    log.error({ err: error, uid: request.uid, webhook: path }, "A review could not be decided");
    return undecidedRuling(signal.aborted);
  }
}

function resultOf({ violations }: Ruling): ReviewResult {
  if (violations.length === 0) return "allowed";
  return violations.some(({ code }) => code === 500) ? "error" : "denied";
}

function requestOf(body: Uint8Array): AdmissionRequest | string {
  const review = jsonOf(Buffer.from(body).toString("utf8"));
  return review === undefined ? "not JSON" : admissionRequestOf(review);
}

function undecidedRuling(isLate: boolean): Ruling {
  const message = isLate
    ? "the rules were not evaluated in time; try again, and look at the log of knfleet-webhook"
    : "the rules could not be evaluated; look at the log of knfleet-webhook";
  return { violations: [{ rule: "internal", path: "knfleet", message, code: 500 }], warnings: [] };
}

/** Logs one line for each refusal: the user, the object's name and the rules; never the object. */
function logRefusal(
  request: AdmissionRequest,
  { violations }: Ruling,
  { path, metrics, log }: ReplyDeps,
): void {
  if (violations.length === 0) return;
  for (const { rule, code } of violations) metrics.refused(rule, code);
  const { uid, operation, kind, namespace, name, userInfo, dryRun } = request;
  log.info(
    {
      uid,
      webhook: path,
      operation,
      kind: kind.kind,
      namespace,
      name,
      user: userInfo.username,
      dryRun,
      rules: [...new Set(violations.map(({ rule }) => rule))],
      fields: violations.map((violation) => violation.path).slice(0, 20),
    },
    "Refused",
  );
}

/** The review that goes back to the API server. Type: `AdmissionReview` of `admission.k8s.io/v1`. */
export interface ReviewAnswer {
  readonly apiVersion: "admission.k8s.io/v1";
  readonly kind: "AdmissionReview";
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly status?: DenialStatus;
    readonly warnings?: readonly string[];
  };
}

interface DenialStatus {
  readonly code: Violation["code"];
  readonly reason: string;
  readonly message: string;
  readonly details: { readonly causes: readonly DenialCause[] };
}

interface DenialCause {
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

const reasonsByCode = {
  500: "InternalError",
  403: "Forbidden",
  409: "Conflict",
  422: "Invalid",
} as const satisfies Readonly<Record<Violation["code"], string>>;

/** The worst first: undecidedRuling, not permitted, in conflict, invalid. */
const severities = [500, 403, 409, 422] as const;

const maxLines = 50;
const maxLineLength = 1_024;
// The API server cuts all warnings of a request at 4,096 characters, and advises at most 256 for one.
const maxWarnings = 15;
const maxWarningLength = 256;

/** Makes the answer to the request of that uid: one line for each problem, the field first. */
function answerOf(uid: string, { violations, warnings }: Ruling): ReviewAnswer {
  const told = warnings.slice(0, maxWarnings).map((text) => lineOf(text, maxWarningLength));
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: violations.length === 0,
      ...(violations.length === 0 ? {} : { status: statusOf(violations) }),
      ...(told.length === 0 ? {} : { warnings: told }),
    },
  };
}

function statusOf(violations: readonly Violation[]): DenialStatus {
  const code = severities.find((one) => violations.some((found) => found.code === one)) ?? 422;
  const shown = violations.slice(0, maxLines);
  const more = violations.length - shown.length;
  const lines = shown.map(({ path, message }) =>
    lineOf(path === "" ? message : `${path}: ${message}`, maxLineLength),
  );
  return {
    code,
    reason: reasonsByCode[code],
    message: [...lines, ...(more === 0 ? [] : [`and ${more} more problems`])].join("\n"),
    details: {
      causes: shown.map((violation) => ({
        reason: violation.code === 422 ? "FieldValueInvalid" : reasonsByCode[violation.code],
        field: lineOf(violation.path, maxLineLength),
        message: lineOf(violation.message, maxLineLength),
      })),
    },
  };
}

/** Removes control characters, because messages hold values of the user that could forge a line or move a terminal's cursor. */
function lineOf(text: string, limit: number): string {
  const clean = foreignText(text, limit + 1);
  return clean.length <= limit ? clean : `${clean.slice(0, limit - 1)}…`;
}
