import type { ShapeExcess, ShapeLimits } from "./json-shape.ts";
import { ConnectionError } from "./kube/api-error.ts";

/** How much one answer may be. */
export interface AnswerLimits extends ShapeLimits {
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;

/**
 * What a server may answer, by kind. All of it is far above what API servers say: an object has 3 MiB at most, and the largest definitions of
 * Knative have some 20,000 values at a depth of 40. Security: T-50, F9.
 */
export const answerLimits = {
  /** Version and health. */
  status: { bytes: 64 * 1024, depth: 16, values: 1_000 },
  error: { bytes: mebibyte, depth: 32, values: 20_000 },
  /** Also an event of a watch, and documents such as what a server serves. */
  object: { bytes: 8 * mebibyte, depth: 200, values: 200_000 },
  /** One page. */
  list: { bytes: 16 * mebibyte, depth: 200, values: 500_000 },
} as const satisfies Readonly<Record<string, AnswerLimits>>;

export type AnswerKind = keyof typeof answerLimits;

/** The error for an answer above a limit. `answered` is who answered what, for example `https://spoke answered GET /version`. */
export function excessError(
  answered: string,
  excess: ShapeExcess | "bytes",
  limits: AnswerLimits,
): ConnectionError {
  if (excess === "depth") {
    const message = `${answered} with JSON of more than ${limits.depth} levels: something else answers in its place`;
    return new ConnectionError("standIn", message);
  }
  const most = excess === "values" ? `${limits.values} values` : sizeText(limits.bytes);
  return new ConnectionError("tooLarge", `${answered} with more than ${most}`);
}

/** The error for an answer that is given up because of all that is being read. */
export function crowdedError(server: string): ConnectionError {
  const message = `${server} answers more than may be read at the same time`;
  return new ConnectionError("tooLarge", message);
}

function sizeText(bytes: number): string {
  return bytes < mebibyte ? `${bytes / 1024} KiB` : `${bytes / mebibyte} MiB`;
}
