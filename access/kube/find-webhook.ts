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

/** The configuration of a webhook that a message of the API server names: two requests. Of several the first by name; undefined when there is none. */
export async function findWebhook(
  webhook: string,
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<ConfiguredWebhook | undefined> {
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const resource = knownResource("admissionregistration.k8s.io/v1", kind);
      const { items } = await client.list({ resource }, {}, signal);
      return items.flatMap((item) => {
        const entry = entryOf(item, webhook);
        return entry === undefined
          ? []
          : [{ kind, name: item.metadata.name, service: serviceOf(entry) }];
      });
    }),
  );
  return found.flat().toSorted(byText(describe))[0];
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
