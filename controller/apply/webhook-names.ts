import { findWebhook } from "../../access/kube/find-webhook.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Trouble } from "./change-set.ts";

const naming = /\bwebhook ([\w.-]+)(?= denies it$| does not answer$|$)/;

/** Of so many webhooks the configuration is told: a cluster that lies may name any number. */
const mostNames = 4;
const longestName = 300;

/** Tells of which configuration the webhooks are that messages name. Asks the cluster once for each, as long as the webhook goes on to be named. */
export class WebhookNames {
  /** By name of the webhook; undefined: the cluster does not tell it. */
  readonly #configurations = new Map<string, string | undefined>();

  /** The troubles, each with the configuration of the webhook in its message. Where the cluster does not tell it, the messages stay as they are. */
  async complete(
    troubles: readonly Trouble[],
    client: Pick<KubeClient, "list">,
    signal: AbortSignal,
  ): Promise<readonly Trouble[]> {
    const named = new Set(troubles.flatMap(({ message }) => naming.exec(message)?.[1] ?? []));
    for (const known of this.#configurations.keys()) {
      if (!named.has(known)) this.#configurations.delete(known);
    }
    for (const webhook of [...named].slice(0, mostNames)) {
      if (this.#configurations.has(webhook)) continue;
      // What was applied is told also when this cannot be found out.
      const found = await findWebhook(webhook, client, signal).catch(() => undefined);
      signal.throwIfAborted();
      const text = found === undefined ? undefined : foreignText(describe(found), longestName);
      this.#configurations.set(webhook, text);
    }
    return troubles.map((trouble) => ({ ...trouble, message: this.#complete(trouble.message) }));
  }

  #complete(message: string): string {
    return message.replace(naming, (words, webhook: string) => {
      const configuration = this.#configurations.get(webhook);
      return configuration === undefined ? words : `${words} of ${configuration}`;
    });
  }
}
