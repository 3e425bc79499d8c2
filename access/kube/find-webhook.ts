import { byText, listAt, recordAt, textAt } from "../../api/fields.ts";
import { describe, type KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { KubeClient } from "./kube-client.ts";

/** Where a webhook of a cluster is configured. */
export interface ConfiguredWebhook {
  readonly kind: "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration";
  /** Name of the configuration. */
  readonly name: string;
  /** The Service that answers for it; undefined for a server elsewhere. */
  readonly service: { readonly namespace: string; readonly name: string } | undefined;
}

const kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const;

/** The configurations of webhooks that messages of the API server name, by name of the webhook: two requests for all. Of several the first by name; none for a webhook that is not there. */
export async function findWebhooks(
  webhooks: readonly string[],
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ConfiguredWebhook>> {
  const configurations = await Promise.all(
    kinds.map(async (kind) => {
      const resource = knownResource("admissionregistration.k8s.io/v1", kind);
      const { items } = await client.list({ resource }, {}, signal);
      return items.map((item) => ({ kind, name: item.metadata.name, item }));
    }),
  );
  const inOrder = configurations.flat().toSorted(byText(describe));
  return new Map(
    webhooks.flatMap((webhook) => {
      const [found] = inOrder.flatMap(({ kind, name, item }) => {
        const entry = entryOf(item, webhook);
        return entry === undefined ? [] : [{ kind, name, service: serviceOf(entry) }];
      });
      return found === undefined ? [] : [[webhook, found] as const];
    }),
  );
}

function entryOf(configuration: KubeObject, webhook: string): unknown {
  return listAt(recordAt(configuration), "webhooks").find(
    (entry) => textAt(recordAt(entry), "name") === webhook,
  );
}

function serviceOf(entry: unknown): ConfiguredWebhook["service"] {
  const service = recordAt(entry, "clientConfig", "service");
  const [namespace, name] = [textAt(service, "namespace"), textAt(service, "name")];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}
