/** Likely causes of a reason or code, most likely first, each with a command that shows whether it is this one. */
type Causes = readonly (readonly [cause: string, command: string])[];

const profile = "kubectl get clusterprofile NAME -n NAMESPACE -o yaml";
const diagnose = "kubectl knfleet diagnose TYPE/NAME -n NAMESPACE";
const component = "kubectl get TYPE NAME -n NAMESPACE -o yaml";

export const causesOf: Readonly<Record<string, Causes>> = {
  ClusterProfileNotFound: [
    ["spec.clusterProfileRef has a wrong name or namespace", component],
    ["the cluster manager has not made the ClusterProfile yet", "kubectl get clusterprofiles -A"],
    [
      "the ClusterProfile was deleted while the component still names it",
      "kubectl get clusterprofiles -A",
    ],
  ],
  ClusterProfileNotReady: [
    ["the cluster manager reports ControlPlaneHealthy=False", profile],
    ["nothing writes the condition ControlPlaneHealthy at all", profile],
  ],
  ClusterProfileUnavailable: [
    [
      "the ClusterProfile CRD is not installed on the hub",
      "kubectl get crd clusterprofiles.multicluster.x-k8s.io",
    ],
    [
      "the controller may not read ClusterProfiles",
      "kubectl auth can-i list clusterprofiles.multicluster.x-k8s.io -A --as system:serviceaccount:NAMESPACE:knfleet-controller",
    ],
  ],
  MulticlusterDisabled: [
    ["status.accessProviders offers other provider names than the provider file has", profile],
    ["the ClusterProfile offers no access provider yet", profile],
  ],
  AccessProviderFailed: [
    ["the exec plugin failed or found no Secret", diagnose],
    ["the credential has run out", diagnose],
    ["the provider's entry or the profile's extension is wrong", profile],
  ],
  RemoteClientCreationFailed: [
    ["the address in the ClusterProfile is wrong or cannot be reached from the hub", diagnose],
    ["the CA in the ClusterProfile is not that of the cluster", diagnose],
  ],
  SpokeUnreachable: [
    ["the spoke's API server is down", diagnose],
    ["the network between hub and spoke is broken", diagnose],
  ],
  ReferenceNotPermitted: [
    [
      "the component is in another namespace than the ClusterProfile, and nobody granted that",
      component,
    ],
    ["the grant was taken away", "kubectl get configmaps -A -l knfleet.dev/reference-grants"],
    ["the ClusterProfile is not of a trusted cluster manager or namespace", profile],
  ],
  ApplyFailed: [
    ["the identity on the spoke lacks a right", diagnose],
    ["an admission webhook of the spoke refuses objects", component],
    ["another field manager owns a field", component],
  ],
  DeploymentsNotReady: [
    [
      "pods cannot be scheduled or their images cannot be pulled",
      "kubectl knfleet deployments TYPE/NAME -n NAMESPACE -o wide",
    ],
    ["the rollout has only just begun", "kubectl knfleet wait TYPE/NAME -n NAMESPACE --for=ready"],
  ],
  AnchorConflict: [
    ["the cluster has an installation of another hub", diagnose],
    ["the component was deleted with orphans and made again", diagnose],
  ],
  VersionNotEligible: [["spec.version skips a minor version", "kubectl knfleet version"]],
  CredentialRejected: [
    ["the token has run out or was revoked", diagnose],
    ["the Secret holds the token of another cluster", diagnose],
  ],
  Forbidden: [
    ["the ClusterRole on the spoke is older than the controller", diagnose],
    ["the ClusterRoleBinding names another ServiceAccount", diagnose],
  ],
  PluginNotFound: [["the plugin's image volume or path is not mounted", diagnose]],
  PluginTimeout: [["the plugin waits for a server that it cannot reach", diagnose]],
  TLSUntrusted: [
    ["the CA in the ClusterProfile is old", diagnose],
    ["a proxy answers in place of the cluster", diagnose],
  ],
  NoMatchingProvider: [["the names in provider file and ClusterProfile differ", profile]],
  EndpointInvalid: [
    ["allowedServers, allowedProxies or systemRoots of the provider is in the way", diagnose],
    ["the server is empty or no https URL, or its CA cannot be read", profile],
  ],
  InternalError: [["the exec plugin, the network or a right on the spoke", diagnose]],
};

/** What a reason means when the upstream Knative Operator wrote it, according to its code. */
interface UpstreamNote {
  /** Meaning in the upstream operator. */
  readonly means: string;
  /** Wrong conclusions that the word suggests. */
  readonly not: readonly string[];
  /** Versions of the operator whose code was read. */
  readonly since: string;
}

/** Step that ends a deletion which the upstream operator has blocked since its restart. Spec: cli.md D5. */
export const upstreamWayOut =
  "With the upstream operator: create another component for the same ClusterProfile, which makes it look at the cluster again";

const since = "code of 2026-08";

/**
 * Reasons with which upstream's code does not do what its documentation says, found in `pkg/reconciler/common/multicluster.go`. Spec: cli.md D1, D2, D4,
 * D5, D13.
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
    means:
      "The condition ControlPlaneHealthy of the ClusterProfile is not True, or it has neither that nor Joined.",
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
