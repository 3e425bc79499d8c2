import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import type { ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import type { TurnWaits } from "../../../access/time/deadline.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import type { HubProviderFile } from "../hub/hub-provider-file.ts";
import type { MalformedObjects } from "../hub/malformed-objects.ts";

/** A connection to one spoke for the time of one command. */
export interface SpokeAccess extends AsyncDisposable {
  readonly client: KubeClient;
  /** Name of the provider that the profile was matched with. */
  readonly provider: string;
  /** Has to be called when a read over it failed. A connection that is kept for later reads is then closed. */
  readonly giveUp?: () => void;
}

/** Access and credentials of spokes, for commands that do not connect themselves. */
export interface SpokeWays {
  /** Resolves how to reach the cluster of a profile, also when the profile is not healthy. Throws FleetError. */
  resolve(profile: ClusterProfile): ResolvedAccess;
  /** Obtains a fresh credential. Throws FleetError `AccessProviderFailed`, or the reason of the signal. */
  credential(access: ResolvedAccess, signal: AbortSignal): Promise<Credential>;
}

/** How a command reaches the spokes. */
export interface SpokesAccess {
  /**
   * Connects to the cluster of a profile. Throws FleetError. `waits` counts the time in which the plugin waits for its place. Undefined without a provider
   * file.
   */
  readonly reach:
    | ((profile: ClusterProfile, signal: AbortSignal, waits?: TurnWaits) => Promise<SpokeAccess>)
    | undefined;
  /** Absent without a provider file, and for a recorded fleet. */
  readonly ways?: SpokeWays;
  /** The provider file that was read from the hub, with the environment of its readers. */
  readonly fromHub?: Pick<HubProviderFile, "file" | "environment">;
  /** Why the hub has no provider file, if the command asked the hub. */
  readonly missing?: string;
}

/** How a command reaches the hub and, with a provider file, the spokes: by the same credential path as the controller. */
export interface ClusterAccess extends AsyncDisposable {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context in use, or of `-n`. */
  readonly namespace: string;
  /** The time of a recorded fleet. Absent: that of the clock. */
  readonly recordedAt?: Date;
  /** Time for one request to the hub. */
  readonly hubTimeoutMs: number;
  /** Takes what is listed and has not the form of its kind. Absent: a list with such an object throws. */
  readonly malformed?: MalformedObjects;
  /** How to reach the spokes. Asks the hub once for the provider file when the command line names none. After an abort no spoke can be reached. */
  readonly spokes: () => Promise<SpokesAccess>;
}
