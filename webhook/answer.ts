import type { Ruling, Violation } from "./reviews/review.ts";

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

/** The worst first: what could not be decided, what is not permitted, what is in the way, what is wrong. */
const severities = [500, 403, 409, 422] as const;

const maxLines = 50;
const maxLineLength = 1_024;
// The API server cuts all warnings of a request at 4,096 characters, and advises at most 256 for one.
const maxWarnings = 15;
const maxWarningLength = 256;

/** A ruling as the answer to the request of that uid: every problem on a line of its own, the field first. */
export function answerOf(uid: string, { violations, warnings }: Ruling): ReviewAnswer {
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

/** Values in a message are the user's own: no control character may forge a line or move a terminal's cursor. */
function lineOf(text: string, limit: number): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
  return clean.length <= limit ? clean : `${clean.slice(0, limit - 1)}…`;
}
