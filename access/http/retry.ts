import { ConnectionError } from "../kube/api-error.ts";

/** Result of one try: an error of the connection, or the status of an answer. */
export type Attempt =
  | { readonly error: unknown }
  | { readonly status: number; readonly retryAfter: string | undefined };

export interface RetryFacts {
  /** Attempts made so far, at least 1. */
  readonly attempts: number;
  readonly elapsedMs: number;
  /** Whether sending the request twice has the effect of sending it once. */
  readonly idempotent: boolean;
}

// A call to a dead server must fail in about ten seconds; a busy server may ask for more time.
const brokenBudgetMs = 10_000;
const brokenAttempts = 4;
const busyBudgetMs = 60_000;
const busyAttempts = 10;

/**
 * How long to wait before the next try, in ms. Undefined when the request must not be repeated. A server that asks for more than the rest of a minute is
 * left to the caller, which can do other work meanwhile. `random` is in [0, 1).
 * Spec: engine-facts.md 7 and table C.
 */
export function retryDelayMs(
  attempt: Attempt,
  facts: RetryFacts,
  random: number,
): number | undefined {
  if ("error" in attempt) return afterError(attempt.error, facts, random);
  const { status, retryAfter } = attempt;
  // 429: the server did not process the request, so repeating is safe for every verb.
  const repeatable = status === 429 || (status === 503 && facts.idempotent);
  if (!repeatable || facts.attempts >= busyAttempts) return undefined;
  const waitMs = (retryAfterMs(retryAfter) ?? 1_000) * (1 + random / 2);
  return facts.elapsedMs + waitMs > busyBudgetMs ? undefined : waitMs;
}

/** `Retry-After` in ms; undefined when it is absent or a date. */
export function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : undefined;
}

function afterError(error: unknown, facts: RetryFacts, random: number): number | undefined {
  if (!(error instanceof ConnectionError)) return undefined;
  const neverSent = error.failure === "refused";
  const lost = error.failure === "reset" || error.failure === "timeout";
  if (!neverSent && !(lost && facts.idempotent)) return undefined;
  if (facts.attempts >= brokenAttempts) return undefined;
  const waitMs = 50 * 2 ** facts.attempts * (1 + random);
  return facts.elapsedMs + waitMs > brokenBudgetMs ? undefined : waitMs;
}
