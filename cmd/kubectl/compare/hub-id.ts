import { knownResource } from "../../../api/resources.ts";
import { ifDenied } from "../if-denied.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";

/** Uid of the hub's `kube-system`, which tells this hub from others; undefined when it may not be read. */
export async function hubIdOf(
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutMs)]);
  const found = await hub.get(ref, { metadataOnly: true }, deadline).catch(ifDenied);
  return found?.metadata.uid;
}
