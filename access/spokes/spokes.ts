import type { ClusterProfileRef } from "../../api/component.ts";
import type { FleetError } from "../../api/errors.ts";
import type { KubeClient } from "../kube/kube-client.ts";

/** A working connection to one spoke. */
export interface SpokeConnection {
  readonly client: KubeClient;
  readonly profile: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Name of the provider that the profile was matched with. */
  readonly provider: string;
  /** Changes exactly when endpoint or credential settings change. Spec: cluster-inventory.md 6.4. */
  readonly fingerprint: string;
  /** Aborted when this connection ends: it was replaced, its profile is gone, or the program stops. */
  readonly signal: AbortSignal;
}

/** A spoke, and what it is wanted for. */
export interface WantedSpoke extends ClusterProfileRef {
  /** To remove what is there. */
  readonly isRemoval?: boolean;
}

/** The state of the connection to one spoke. */
export type SpokeState =
  | { readonly kind: "connecting" }
  | { readonly kind: "connected"; readonly connection: SpokeConnection }
  /** Reached before, but silent now. The connection is kept and checked with back-off. */
  | { readonly kind: "lost"; readonly connection: SpokeConnection; readonly error: FleetError }
  | { readonly kind: "failed"; readonly error: FleetError };

/**
 * Connections to spokes, one a ClusterProfile, shared by all components. One owner connects, checks and disconnects. Callers never wait for a spoke that is
 * known to be down, and are called back after each change.
 */
export interface Spokes extends AsyncDisposable {
  /**
   * Returns the connection to the cluster of a ClusterProfile. One that is being deleted is not ready, except for a removal. Waits for a first attempt, up to a limit. Throws `FleetError` with a reason of
   * `TargetClusterResolved` without a connection, at once when the last attempt failed. Throws `RemoteClusterStale` while the first attempt waits for its
   * turn in this process, which is no failure of the spoke.
   */
  acquire(ref: WantedSpoke, signal: AbortSignal): Promise<SpokeConnection>;
  /** Calls back after each change of a spoke's state or ClusterProfile, also when the provider file changed. */
  onChange(listener: (ref: ClusterProfileRef) => void): Disposable;
  state(ref: ClusterProfileRef): SpokeState | undefined;
  /** Closes an unused connection after a minute, unless `acquire` is called before. */
  release(ref: ClusterProfileRef): void;
  /** Closes the connections to clusters that another process serves from now on, by `namespace/name` of the ClusterProfile. Resolves when they are closed. */
  disconnect(isLeft: (spoke: string) => boolean): Promise<void>;
}
