import { findWebhook } from "../../access/kube/find-webhook.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Trouble } from "./change-set.ts";
import { unlessRefused } from "./refusals.ts";

const naming = /\bwebhook ([\w.-]+)(?= denies it$| does not answer$|$)/;

/** Tells of which configuration the webhooks are that messages name. Asks the cluster once for each, as long as the webhook goes on to be named. */
export class WebhookNames {
  readonly #configurations = new Map<string, string>();

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
    for (const webhook of named) {
      if (this.#configurations.has(webhook)) continue;
      const ask = () => findWebhook(webhook, client, signal);
      const found = await unlessRefused(ask, undefined);
      if (found !== undefined) this.#configurations.set(webhook, describe(found));
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
