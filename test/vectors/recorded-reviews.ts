import { readFileSync } from "node:fs";
import { join } from "node:path";

import { type AdmissionRequest, admissionRequestOf } from "../../webhook/reviews/review.ts";

/** A request that a real API server sent to a webhook. Format: recorded/README.md. */
export interface RecordedReview {
  readonly name: string;
  /** What the guard of anchors has to decide; `-` for a kind that it does not look at. */
  readonly guard: "allow" | "deny" | "-";
  readonly review: unknown;
}

/** All of them. */
export function recordedReviews(): readonly RecordedReview[] {
  const file = join(import.meta.dirname, "recorded/admission.jsonl");
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line): RecordedReview => JSON.parse(line));
}

/** The request of one of them. */
export function recordedRequest(name: string): AdmissionRequest {
  const recorded = recordedReviews().find((one) => one.name === name);
  if (recorded === undefined) throw new Error(`No review ${name} was recorded`);
  return requestIn(recorded.review);
}

/** The request in a review that is one. */
export function requestIn(body: unknown): AdmissionRequest {
  const request = admissionRequestOf(body);
  if (typeof request === "string") throw new Error(request);
  return request;
}
