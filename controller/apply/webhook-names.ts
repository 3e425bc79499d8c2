import { findWebhooks } from "../../access/kube/find-webhook.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Trouble } from "./change-set.ts";

const naming = /\bwebhook ([\w.-]+)(?= denies it$| does not answer$|$)/;

/** Of so many webhooks the configuration is told: a cluster that lies may name any number. */
const mostNames = 4;
const longestName = 300;

/** Tells of which configuration the webhooks are that messages name. Asks the cluster once for those that are new, as long as they go on to be named. */
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
    const wanted = [...named].slice(0, mostNames).filter((one) => !this.#configurations.has(one));
    if (wanted.length > 0) {
      // What was applied is told also when this cannot be found out.
      const found = await findWebhooks(wanted, client, signal).catch(() => undefined);
      signal.throwIfAborted();
      for (const webhook of wanted) {
        const one = found?.get(webhook);
        const text = one === undefined ? undefined : foreignText(describe(one), longestName);
        this.#configurations.set(webhook, text);
      }
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
