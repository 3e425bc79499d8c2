import { ApiError, isServerFailure, type ServerFailure } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { Reply, Verification } from "../../sets/check-answer.ts";
import type { Check } from "../../sets/verify.ts";
import { askPrometheus } from "./prometheus.ts";
import { readUserWorkloads } from "./read-workloads.ts";
import { workloadsAnswer } from "./workloads-answer.ts";

const longestMessage = 300;

/** Asks a cluster one check of a verification. What cannot be asked is `unasked`, never good. Rejects with the reason of the signal, and with a bug of this program. */
export async function ask(
  { ask: question }: Check,
  { since }: Pick<Verification, "since">,
  clientOf: () => Promise<Pick<KubeClient, "list" | "request">>,
  signal: AbortSignal,
): Promise<Reply> {
  try {
    const client = await clientOf();
    if ("prometheus" in question) return await askPrometheus(question, client, signal);
    const { workloads, unread } = await readUserWorkloads(client, signal);
    const [first] = unread;
    if (first !== undefined) return { kind: "unasked", message: first };
    return workloadsAnswer(workloads, question, since);
  } catch (error) {
    signal.throwIfAborted();
    if (!isServerFailure(error)) throw error;
    return { kind: "unasked", message: reasonOf(error) };
  }
}

/** Why a cluster could not be asked, without what a server wrote. */
function reasonOf(error: ServerFailure): string {
  if (error instanceof ApiError) return `the API server answered ${error.status} ${error.reason}`;
  return foreignText(error.message, longestMessage);
}
