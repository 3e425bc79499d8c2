import type { KubeObject } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { listAt } from "./rendered.ts";

const key = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "clouded-knfleet-webhook",
};

/** The annotation by which AKS leaves a webhook configuration alone. */
export const enforcerOff = "admissions.enforcer/disabled";

/** What AKS writes as the namespaceSelector of every webhook. */
export const enforced = {
  matchExpressions: [{ key: "control-plane", operator: "NotIn", values: ["true"] }],
};

/** The webhooks of the release `clouded`. */
export async function webhooksOf({ admin }: Cluster): Promise<KubeObject> {
  const found = await admin.get(key);
  if (found === undefined) throw new Error("There is no webhook configuration");
  return found;
}

/** Writes one selector into every webhook, as the admissions enforcer of AKS does. */
export async function selectEverywhere(cluster: Cluster, namespaceSelector: object): Promise<void> {
  const found = await webhooksOf(cluster);
  const webhooks = listAt(found, "webhooks").map((one) => ({ ...Object(one), namespaceSelector }));
  const path = `/apis/${key.apiVersion}/validatingwebhookconfigurations/${key.name}?fieldManager=admissionsenforcer`;
  await cluster.admin.request("PUT", path, { ...found, webhooks });
}
