import type { KubeObject } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import type { ChartedPods } from "./charted-pods.ts";
import type { Helm } from "./helm.ts";

const namespace = "knfleet-system";

interface Installed {
  readonly helm: Helm;
  readonly hub: Cluster;
  readonly pods: ChartedPods;
  /** Name and namespace of the release, as Helm wants to hear them. */
  readonly place: readonly string[];
}

/** `helm uninstall` with the pod of its hook played, and what that pod said. */
export async function uninstall(
  release: Installed,
): Promise<{ readonly code: number; readonly said: string }> {
  const { helm, hub, pods, place } = release;
  const ended = helm.run("uninstall", ...place, "--timeout", "4m");
  const labelSelector = "app.kubernetes.io/component=uninstall-check";
  const pod = await waitFor(
    "the pod of the hook",
    async () => {
      const all = await hub.admin.list({ apiVersion: "v1", kind: "Pod", namespace, labelSelector });
      return all.find((one) => valueAt(one, "status", "phase") === "Pending");
    },
    { timeoutMs: 90_000 },
  );
  const { code, stderr } = await pods.toItsEnd(pod);
  await endPod(hub, pod, code);
  return { code: (await ended).code, said: stderr };
}

async function endPod(hub: Cluster, { metadata }: KubeObject, code: number): Promise<void> {
  const key = { apiVersion: "v1", kind: "Pod", namespace, name: metadata.name };
  const status = { phase: code === 0 ? "Succeeded" : "Failed" };
  await hub.admin.patch(key, { status }, { subresource: "status" });
}

/** Whether Helm deleted the webhook's configuration before its Service: nothing was asked of it any more when its pods went. */
export async function isWebhookFirst({ auditLog }: Cluster, since: Date): Promise<boolean> {
  const requests = await auditLog.requests({ verb: "delete", since, userAgent: /helm/i });
  const resources = requests.map(({ resource }) => resource);
  const [configuration = -1, service = -1] = ["validatingwebhookconfigurations", "services"].map(
    (resource) => resources.indexOf(resource),
  );
  return configuration >= 0 && configuration < service;
}
