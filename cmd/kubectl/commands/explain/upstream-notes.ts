/** What a reason means when the upstream Knative Operator wrote it, as its code does it. */
export interface UpstreamNote {
  /** What it says there. */
  readonly means: string;
  /** What one would think, and what is wrong. */
  readonly not: readonly string[];
  /** Versions of the operator whose code was read. */
  readonly since: string;
}

/** What lets a deletion go on that the upstream operator holds since it was restarted. Spec: cli.md D5. */
export const upstreamWayOut =
  "With the upstream operator: create another component for the same ClusterProfile, which makes it look at the cluster again";

const since = "code of 2026-08";

/**
 * Where upstream's code does something else than its documentation says, from reading `pkg/reconciler/common/multicluster.go`. Spec: cli.md D1, D2,
 * D4, D5, D13.
 */
export const upstreamNotes: Readonly<Record<string, UpstreamNote>> = {
  MulticlusterDisabled: {
    means: "The operator was started without --clusterprofile-provider-file.",
    not: ["It does not mean that no provider matches the ClusterProfile, as upstream's page says."],
    since,
  },
  AccessProviderNotConfigured: {
    means: "Nothing: the operator's code has the reason and never writes it.",
    not: ["A missing provider file shows as MulticlusterDisabled."],
    since,
  },
  AccessProviderFailed: {
    means: "No provider of the file matches the ClusterProfile, or its entry cannot be used.",
    not: [
      "It does not mean that the exec plugin failed: the operator does not run the plugin while it resolves the cluster. That shows as TargetClusterResolved=True with a Warning event InternalError.",
    ],
    since,
  },
  InternalError: {
    means:
      "A step after the resolution failed, often the first request to the spoke: plugin, network, credential or a right. No condition says so.",
    not: [
      "The conditions of the component may be old: a component that was Ready stays Ready when this step fails.",
    ],
    since,
  },
  ClusterProfileNotReady: {
    means: "The condition ControlPlaneHealthy of the ClusterProfile is missing or not True.",
    not: ["It does not mean that the cluster was asked: a missing condition counts, too."],
    since,
  },
  ClusterProfileUnavailable: {
    means:
      "No connection is cached for the ClusterProfile. In a component that is being deleted: the operator was restarted, and nothing has resolved that profile since.",
    not: [
      "It does not mean that the ClusterProfile is gone. Another component of the same profile, even a new one, lets the deletion go on.",
    ],
    since,
  },
  RemoteClusterStale: {
    means: "The cached connection was thrown away; the next attempt makes a new one.",
    not: [
      "A changed ClusterProfile does not lead to it: the operator keeps the old connection until it is restarted or all components of the profile are gone.",
    ],
    since,
  },
};
