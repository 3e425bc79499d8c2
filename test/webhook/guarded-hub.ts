import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Manifest, ObjectKey } from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { AdminError } from "../fleet/admin-client.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { valueAt } from "../fleet/json-record.ts";
import { matchConditions } from "./match-conditions.ts";

const namespace = "knfleet-system";
const name = "knfleet-webhook";

/** The ValidatingWebhookConfiguration. */
export const configurationKey: ObjectKey = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name,
};

/** User as which the controller of the hub comes. */
export const controllerUser = "system:serviceaccount:knfleet-system:knfleet-controller";

/** Names of what `installWebhook` makes, and of what the webhook keeps. */
export const names = { namespace, name, secret: "knfleet-webhook-certificates" } as const;

const roleFile = join(import.meta.dirname, "..", "..", "docs", "webhook-role.yaml");

/**
 * Installs what surrounds a webhook on a hub: the documented rights, a Service, and a ValidatingWebhookConfiguration that guards anchors. Returns
 * the path of a kubeconfig with exactly those rights.
 */
export async function installWebhook(hub: Cluster): Promise<string> {
  await applyFile(hub, roleFile);
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: { ports: [{ port: 443, targetPort: 9443 }] },
  });
  await hub.admin.apply(configuration());
  const { token } = await hub.serviceAccountToken({ namespace, name });
  return hub.writeKubeconfig("webhook.kubeconfig", { identity: { token }, namespace });
}

function configuration(): Manifest {
  const operator = { apiGroups: ["operator.knative.dev"], apiVersions: ["v1beta1"] };
  const maps = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const label = "knfleet.dev/access-providers";
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      webhookOf("components", {
        rules: [
          {
            ...operator,
            operations: ["CREATE", "UPDATE"],
            resources: ["knativeservings", "knativeeventings"],
          },
        ],
        matchConditions,
      }),
      webhookOf("provider-file", {
        rules: [{ ...maps, operations: ["CREATE", "UPDATE", "DELETE"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        objectSelector: { matchExpressions: [{ key: label, operator: "Exists" }] },
      }),
      webhookOf("anchor", {
        rules: [{ ...maps, operations: ["CREATE", "UPDATE", "DELETE"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "guarded" } },
      }),
    ],
  };
}

function webhookOf(path: string, matching: object): object {
  return {
    name: `${path}.knfleet.dev`,
    clientConfig: { service: { namespace, name, path: `/validate/${path}` } },
    ...matching,
    failurePolicy: "Fail",
    sideEffects: "None",
    timeoutSeconds: 5,
    admissionReviewVersions: ["v1"],
  };
}

/**
 * Asks the API server to create somebody else's anchor, without storing it, and gives its answer: 403 when the webhook has refused it, 500 when the
 * webhook could not be called, 201 when nobody asked it.
 */
export async function askForAnchor(hub: Pick<Cluster, "admin">): Promise<number> {
  const kubeSystem = await hub.admin.get({
    apiVersion: "v1",
    kind: "Namespace",
    name: "kube-system",
  });
  const annotations = {
    [anchorAnnotations.protected]: "true",
    [anchorAnnotations.hubId]: kubeSystem?.metadata.uid ?? "",
  };
  const object = { metadata: { name: "somebody-else", annotations } };
  try {
    await hub.admin.request("POST", "/api/v1/namespaces/guarded/configmaps?dryRun=All", object);
    return 201;
  } catch (error) {
    if (error instanceof AdminError) return error.status;
    throw error;
  }
}

/** What `askForAnchor` was answered, again and again, until disposed. */
export interface AnchorLoad extends AsyncDisposable {
  readonly answers: readonly { readonly status: number; readonly at: number }[];
}

/** Lets each of some workers ask for anchors, one after the other. `at` is the time of the answer by `performance.now()`. */
export function keepAskingForAnchors(hub: Pick<Cluster, "admin">, workers: number): AnchorLoad {
  const answers: { readonly status: number; readonly at: number }[] = [];
  const over = new AbortController();
  const running = Array.from({ length: workers }, async () => {
    while (!over.signal.aborted) {
      const status = await askForAnchor(hub);
      answers.push({ status, at: performance.now() });
      await delay(60);
    }
  });
  return {
    answers,
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(running);
    },
  };
}

/** Writes a `caBundle`, in base64, into all webhooks of the configuration. */
export async function overwriteBundle(hub: Cluster, caBundle: string): Promise<void> {
  const found = await hub.admin.get(configurationKey);
  const webhooks: unknown = valueAt(found, "webhooks");
  if (!Array.isArray(webhooks)) throw new Error("The configuration has no webhooks");
  const changed = webhooks.map((webhook: object) => ({
    ...webhook,
    clientConfig: { ...Object(valueAt(webhook, "clientConfig")), caBundle },
  }));
  await hub.admin.patch(configurationKey, { webhooks: changed });
}

/** PEM texts in the webhook's `caBundle` on the hub; empty when there is none. */
export async function trustedOn(hub: Cluster): Promise<string> {
  const found = await hub.admin.get(configurationKey);
  const bundle = valueAt(found, "webhooks", "0", "clientConfig", "caBundle");
  return typeof bundle === "string" ? Buffer.from(bundle, "base64").toString() : "";
}
