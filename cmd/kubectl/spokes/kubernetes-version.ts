import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { stringAt } from "../selection/fields.ts";

/** `gitVersion` of the hub or of a cluster; undefined when the answer has none. Throws what KubeClient throws. */
export async function readKubernetesVersion(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await client.request("GET", "/version", undefined, signal);
  return stringAt(answer, "gitVersion") ?? undefined;
}
