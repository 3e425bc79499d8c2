import { isServerFailure } from "../../access/kube/api-error.ts";
import { findWebhooks } from "../../access/kube/find-webhook.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Trouble } from "./change-set.ts";

const naming = /\bwebhook ([\w.-]+)(?= denies it$| does not answer$|$)/;

/** The configurations of at most so many webhooks are looked up: a hostile cluster may name any number. */
const mostNames = 4;
const longestName = 300;

/** Finds the configurations of the webhooks that messages name. Asks the cluster once for new webhooks, for as long as messages name them. */
export class WebhookNames {
  /** By name of the webhook. Undefined: the cluster has no such configuration, or may not be asked. */
  readonly #configurations = new Map<string, string | undefined>();

  /** The troubles, each with the configuration of the webhook in its message. Messages stay as they are when the cluster does not show the configuration. */
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
      // The results are reported also when this search fails.
      const found = await findWebhooks(wanted, client, signal).catch((error: unknown) => {
        if (!isServerFailure(error)) throw error;
      });
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
