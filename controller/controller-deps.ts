import type { KubeClient } from "../access/kube/kube-client.ts";
import type { References } from "../access/providers/references.ts";
import type { Spokes } from "../access/spokes/spokes.ts";
import type { Clock } from "../access/time/clock.ts";
import type { ManifestSource } from "../access/urls/manifest-source.ts";
import type { Part } from "../api/shards.ts";
import type { SpokeNamespaceMode } from "../installation/installation-namespace.ts";
import type { Releases } from "../render/release/releases.ts";
import type { AnchorProtection } from "./guard/protection.ts";
import type { ListenAddress } from "./health.ts";
import type { LeaderOptions, Leadership } from "./leader/leader.ts";
import type { Log } from "./log.ts";
import type { MetricSources } from "./metrics/metrics.ts";
import type { PullSettings } from "./pull/pull-deps.ts";
import type { ReconcileDeps } from "./reconcile/reconcile-deps.ts";
import type { ServedPartsOptions } from "./served-parts.ts";

export interface ControllerSettings {
  /** Milliseconds between two attempts for a component that is not ready. */
  readonly pollMs: number;
  /** Milliseconds between two audits, which send all objects again; 0: no audits. */
  readonly auditMs: number;
  /** Number of attempts at the same time. */
  readonly concurrency: number;
  /** How the anchors on spokes are protected. */
  readonly anchorProtection: AnchorProtection;
  /** CRDs of spokes are protected, too, where policies protect anchors. */
  readonly anchorProtectionCrds: boolean;
  readonly spokeNamespace: SpokeNamespaceMode;
  /** Roll KnativeServingSets and KnativeEventingSets out. */
  readonly sets: boolean;
  /** Sets of a namespace that are rolled out. */
  readonly maxSetsPerNamespace: number;
  /** Absent: nothing can be pulled. */
  readonly pull?: PullSettings;
  /** Number of shards. All replicas must have the same one. */
  readonly shards: number;
  /** Undefined: health and metrics are not served. */
  readonly healthAddress: ListenAddress | undefined;
}

export interface ControllerDeps {
  readonly hub: Pick<KubeClient, "get" | "list" | "watch">;
  /** A client of the hub that may write while this process holds a part. The signal ends its writes. */
  readonly hubFor: (part: Part, signal: AbortSignal) => KubeClient;
  readonly leaseNamespace: string;
  /** Another connection to the hub, for components whose target is the hub. */
  readonly hubAsTarget: KubeClient;
  readonly spokes: Spokes;
  /** Connections over which the checks of rollouts reach clusters of all shards. Absent: there is one shard, and `spokes` serves. */
  readonly checkSpokes?: ServedPartsOptions["checkSpokes"];
  /** Absent: every component may use every ClusterProfile. */
  readonly references?: References;
  readonly releases: Releases;
  readonly rendering: ReconcileDeps["rendering"];
  /** The source of the manifest texts for `rendering`. */
  readonly manifests: Pick<ManifestSource, "onChange">;
  readonly checkSource: ServedPartsOptions["checkSource"];
  /** Resolves when this process is the leader, or has joined the replicas that share the fleet. */
  readonly lead: (
    circumstances: Pick<LeaderOptions, "onTrouble" | "mayHaveLeader">,
    signal: AbortSignal,
  ) => Promise<Leadership>;
  /** Absent: no ClusterProfiles are written. */
  readonly discovery?: ServedPartsOptions["discovery"];
  readonly requests: MetricSources["requests"];
  /** Absent: the path to the spokes is not measured. */
  readonly path?: MetricSources["path"];
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}
