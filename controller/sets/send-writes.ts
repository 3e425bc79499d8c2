import { WriteRefusedError } from "../../access/http/write-permit.ts";
import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import { codeOfRefusal, isBadPatch, isTooLarge } from "../../access/kube/obstacle.ts";
import { foreignText, redactSecrets } from "../../api/foreign-text.ts";
import { uncountedQuotaIn } from "../../api/refusal-texts.ts";
import type { Obstacle } from "../../sets/facts.ts";

/** The object on the hub is not the one that the decision was about. */
export class ChangedMeanwhileError extends Error {
  override readonly name = "ChangedMeanwhileError";
}

/** The writes that the hub refused, by cluster. */
export interface NotTaken {
  /** It refuses these for good, until something changes. */
  readonly refused: Map<string, Obstacle>;
  /** These may succeed later, and why they did not. */
  readonly failed: Map<string, string>;
  /** Errors after which the decision has to be made again. */
  readonly errors: unknown[];
}

/** One write for a cluster. */
export interface Sending {
  readonly cluster: string;
  /** Whether the hub may refuse it for good. */
  readonly isRefusable: boolean;
  readonly send: () => Promise<void>;
}

/** Sends writes, `atOnce` at a time. A failed write does not delay the others. Throws only when this process may not write any more. */
export async function sendAll(
  sendings: readonly Sending[],
  { atOnce, notTaken }: { readonly atOnce: number; readonly notTaken: NotTaken },
  signal: AbortSignal,
): Promise<void> {
  const queue = sendings.values();
  const worker = async (): Promise<void> => {
    for (const sending of queue) {
      signal.throwIfAborted();
      try {
        // oxlint-disable-next-line no-await-in-loop -- a worker does one after the other
        await sending.send();
      } catch (error) {
        if (signal.aborted || error instanceof WriteRefusedError) throw error;
        note(sending, error, notTaken);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, sendings.length) }, worker));
}

/** Whether the decision has to be made again from the present objects of the hub. */
export function isWriteConflict(error: unknown): boolean {
  if (error instanceof ChangedMeanwhileError) return true;
  return (
    error instanceof ApiError && error.status === 409 && codeOfRefusal(error) !== "AdmissionRefused"
  );
}

function note(
  { cluster, isRefusable }: Sending,
  error: unknown,
  { refused, failed, errors }: NotTaken,
): void {
  const refusal = isRefusable ? lastingRefusal(error) : undefined;
  if (refusal !== undefined) {
    refused.set(cluster, refusal);
    return;
  }
  if (!isRefusable && error instanceof ApiError && error.status === 404) {
    errors.push(new ChangedMeanwhileError("The component is gone", { cause: error }));
    return;
  }
  errors.push(error);
  const isAnswer = error instanceof ApiError || error instanceof ConnectionError;
  if (isAnswer && !isWriteConflict(error)) {
    failed.set(cluster, redactSecrets(foreignText(error.message)));
  }
}

/** Whether the hub looked at a write and does not take it: a webhook, a policy, a quota or a missing right is in the way. False where the next try may be taken. */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return isFinal(error) || codeOfRefusal(error) === "WebhookSilent";
}

/** A webhook or policy chooses its status. */
function isFinal(error: ApiError): boolean {
  const { status, message } = error;
  const isDenied = codeOfRefusal(error) === "AdmissionRefused";
  const isFaulty = isBadPatch(message) || isTooLarge(message);
  // A new quota refuses until it is counted, for seconds.
  const isForNow = status === 403 && uncountedQuotaIn(message) !== undefined;
  return ([400, 403, 413, 422].includes(status) && !isForNow) || isFaulty || isDenied;
}

/** Why the hub refused a component for good; undefined for an error after which the same request may succeed. Spec: sets.md 6, 8. */
function lastingRefusal(error: unknown): Obstacle | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { status, causes, message } = error;
  const isConflict = causes.some(({ reason }) => reason === "FieldManagerConflict");
  if (status === 409 && isConflict) return { reason: "Diverged", message };
  return isFinal(error) ? { reason: "Refused", message } : undefined;
}
