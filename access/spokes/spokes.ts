import type { ClusterProfileRef } from "../../api/component.ts";
import type { FleetError } from "../../api/errors.ts";
import type { KubeClient } from "../kube/kube-client.ts";

/** A working way to one spoke. */
export interface SpokeConnection {
  readonly client: KubeClient;
  readonly profile: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Name of the provider that the profile was matched with. */
  readonly provider: string;
  /** Changes exactly when endpoint or credential settings change. Spec: cluster-inventory.md 6.4. */
  readonly fingerprint: string;
  /** Aborted when this connection must not be used any more: replaced, profile gone, shutting down. */
  readonly signal: AbortSignal;
}

/** What is known of one spoke right now. */
export type SpokeState =
  | { readonly kind: "connecting" }
  | { readonly kind: "connected"; readonly connection: SpokeConnection }
  /** Reached before, silent now; the connection is kept and tried again with back-off. */
  | { readonly kind: "lost"; readonly connection: SpokeConnection; readonly error: FleetError }
  | { readonly kind: "failed"; readonly error: FleetError };

/**
 * Connections to spokes, one a ClusterProfile, shared by all components. One owner connects, checks health and
 * disconnects; callers only ask, never wait for a spoke that is known to be down, and are told of every change.
 */
export interface Spokes extends AsyncDisposable {
  /**
   * The connection to the cluster that a ClusterProfile describes. Waits for a first attempt (bounded), throws
   * `FleetError` with a reason of `TargetClusterResolved` when there is none; at once when the last attempt failed and the next is not due. While the first attempt waits for its turn
   * in this process that is `RemoteClusterStale`, which says nothing of the spoke.
   */
  acquire(ref: ClusterProfileRef, signal: AbortSignal): Promise<SpokeConnection>;
  /** Calls back after every change of a spoke's state or of its ClusterProfile, also when the provider file changed. */
  onChange(listener: (ref: ClusterProfileRef) => void): Disposable;
  state(ref: ClusterProfileRef): SpokeState | undefined;
  /** Nobody uses the connection any more: it is closed after a minute, unless somebody asks for it before. */
  release(ref: ClusterProfileRef): void;
}
