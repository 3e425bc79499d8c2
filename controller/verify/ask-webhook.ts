import { recordAt, textAt } from "../../api/fields.ts";
import type { CheckSpec } from "../../api/fleet-set.ts";
import { foreignText, redactSecrets } from "../../api/foreign-text.ts";
import { namespacedName } from "../../api/keys.ts";
import type { CheckSubject, Reply } from "../../sets/check-answer.ts";
import { askUrl, type UrlAsker } from "./ask-url.ts";
import { Unasked } from "./unasked.ts";

const longestMessage = 200;

/**
 * Tells a server of the author's which cluster got which revision, and returns what it decides: `allowed: true` is good, `allowed: false` is bad. An answer without either means that it
 * does not know yet. Rejects as `askUrl` does.
 */
export async function askWebhook(
  webhook: NonNullable<CheckSpec["webhook"]>,
  { set, revision, stage, cluster, since }: CheckSubject,
  asker: UrlAsker,
  signal: AbortSignal,
): Promise<Reply> {
  const updatedAt = new Date(since).toISOString();
  const body = { set, revision, stage, cluster: namespacedName(cluster), updatedAt };
  const answer = recordAt(await askUrl(webhook, { body }, set.namespace, asker, signal));
  const message = redactSecrets(foreignText(textAt(answer, "message") ?? "", longestMessage));
  const allowed = answer["allowed"];
  if (allowed === true) return { kind: "good", message: "" };
  if (allowed === false) return { kind: "bad", message: message || "the server does not allow it" };
  throw new Unasked(message || "the server has not decided yet");
}
