import type { TurnWaits } from "../../../access/deadline.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import type { ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import type { HubProviderFile } from "../hub/hub-provider-file.ts";

/** A way to one spoke for the time of one command. */
export interface SpokeAccess extends AsyncDisposable {
  readonly client: KubeClient;
  /** Name of the provider that the profile was matched with. */
  readonly provider: string;
  /** Something could not be read by it; one that is kept for later is given up then. */
  readonly giveUp?: () => void;
}

/** The ways to spokes, for programs that connect by themselves. */
export interface SpokeWays {
  /** The way to the cluster of a profile, whether or not it is healthy. Throws FleetError. */
  resolve(profile: ClusterProfile): ResolvedAccess;
  /** A fresh credential for that way. Throws FleetError `AccessProviderFailed`, or the reason of the signal. */
  credential(access: ResolvedAccess, signal: AbortSignal): Promise<Credential>;
}

/** How a command reaches the spokes. */
export interface SpokesAccess {
  /**
   * Connects to the cluster of a profile; throws FleetError. `waits` is told when the plugin waits for its place among others. Undefined when
   * there is no provider file.
   */
  readonly reach:
    | ((profile: ClusterProfile, signal: AbortSignal, waits?: TurnWaits) => Promise<SpokeAccess>)
    | undefined;
  /** Undefined when there is no provider file, and for a recorded fleet. */
  readonly ways?: SpokeWays;
  /** A file that was read from the hub, and what its readers see. */
  readonly fromHub?: Pick<HubProviderFile, "file" | "environment">;
  /** Why there is no provider file, where somebody looked for one. */
  readonly missing?: string;
}

/** How a command reaches the hub and, with a provider file, the spokes: the same credential path as the controller's. */
export interface ClusterAccess extends AsyncDisposable {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context in use, or of `-n`. */
  readonly namespace: string;
  /** Time for one request to the hub. */
  readonly hubTimeoutMs: number;
  /** The way to the spokes. Asks the hub for the provider file, once, when none was named; after an abort there is no way. */
  readonly spokes: () => Promise<SpokesAccess>;
}
