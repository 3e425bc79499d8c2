import { reasons } from "../../api/reasons.ts";
import { askedWaitMs } from "../reconcile/failure.ts";
import { isComplete, type Outcome } from "../reconcile/outcome.ts";
import type { Next } from "./queue.ts";

// Nothing on the cluster tells that what a removal waits for is over: nobody watches it any more.
const removalPaceMs = 10_000;

/** When to come back after an outcome; `pollMs` is the pace at which what is not ready is looked at again. */
export function nextOf(outcome: Outcome, pollMs: number): Next {
  if (outcome.kind === "applied") return afterApplied(outcome, pollMs);
  // Work that did not come to an end is begun again.
  if (outcome.kind !== "failed") return { kind: "backoff" };
  const { error, isRemoval = false } = outcome;
  if (reasons[error.reason].retry !== "backoff") return { kind: "after", ms: pollMs };
  const waits = isRemoval && error.reason === "ClusterBusy";
  const leastMs = askedWaitMs(error);
  return {
    kind: "backoff",
    ...(waits ? { mostMs: Math.min(removalPaceMs, pollMs) } : {}),
    ...(leastMs > 0 ? { leastMs } : {}),
  };
}

function afterApplied(outcome: Extract<Outcome, { kind: "applied" }>, pollMs: number): Next {
  const { changes, unsureMs = 0, hasUnsureJobs = false } = outcome;
  if (changes.failed.length > 0) return { kind: "backoff" };
  const waitsMs = [
    ...(changes.conflicts ?? []).map(({ dueMs }) => dueMs),
    ...(unsureMs > 0 ? [unsureMs] : []),
    ...(isComplete(outcome) && !hasUnsureJobs ? [] : [pollMs]),
  ];
  if (waitsMs.length === 0) return { kind: "done" };
  const { parked, lingering = [] } = changes;
  const leastMs = Math.max(0, ...[...parked, ...lingering].map(({ askedMs = 0 }) => askedMs));
  const ms = Math.min(...waitsMs);
  return leastMs === 0 ? { kind: "after", ms } : { kind: "after", ms, leastMs };
}
