import type { KubeClient } from "../../access/kube-client.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";

/** A way to one spoke for the time of one command. */
export interface SpokeAccess extends AsyncDisposable {
  readonly client: KubeClient;
  /** Name of the provider that the profile was matched with. */
  readonly provider: string;
}

/** How a command reaches the hub and, with a provider file, the spokes: the same credential path as the controller's. */
export interface ClusterAccess extends AsyncDisposable {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context in use, or of `-n`. */
  readonly namespace: string;
  /** Time for one request to the hub. */
  readonly hubTimeoutMs: number;
  /** Connects to the cluster of a profile; throws FleetError. Undefined when no provider file was named. */
  readonly reach:
    | ((profile: ClusterProfile, signal: AbortSignal) => Promise<SpokeAccess>)
    | undefined;
}
