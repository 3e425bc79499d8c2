import type { KubeObject } from "../../../api/kubernetes.ts";

/** A PlacementDecision of Open Cluster Management in namespace fleet: a part of what a Placement has decided. */
export function ocmSlice(
  name: string,
  labels: Readonly<Record<string, string>>,
  decisions: readonly unknown[],
): KubeObject {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1beta1",
    kind: "PlacementDecision",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1", labels },
    status: { decisions },
  };
}
