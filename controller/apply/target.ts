import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { ClusterProfileRef } from "../../api/component.ts";

/** The cluster that a component is installed on. */
export interface Target {
  readonly client: KubeClient;
  /** Absent: the hub itself. */
  readonly profile?: ClusterProfileRef;
  /** Where the component is installed; see installation-namespace.ts. */
  readonly namespace: string;
  /** Field manager of this hub: `knfleet` and a short hub id, at most 128 characters. */
  readonly fieldManager: string;
  /** UID of the hub's kube-system namespace. */
  readonly hubId: string;
}
