/** The conditions of a component. Spec: knative-operator.md 4.5. */
export const conditionTypes = [
  "DependenciesInstalled",
  "DeploymentsAvailable",
  "InstallSucceeded",
  "TargetClusterResolved",
  "VersionMigrationEligible",
] as const;

/**
 * Type and reason of the condition that a component has only during a conflict: another writer changes its objects repeatedly. `Ready`
 * does not depend on it.
 */
export const contestedCondition = "Contested";

/** Reason of the Event, and of the condition, of a set whose writes the hub does not take. */
export const writeRefused = "WriteRefused";

/** What a set writes for itself. Without its revision, or its own fields, its rollout cannot go on. */
export type OwnWrite = "set" | "status of the set" | "revision of the set" | "old revision";

/** The beginning of the message of `writeRefused`. */
export function notTakenSentence(what: OwnWrite): string {
  return `The hub does not take the ${what}`;
}

/** Reason of `DeploymentsAvailable=True` while a Deployment is scaled to zero by another writer. */
export const scaledToZero = "ScaledToZero";

/** Reason of `DeploymentsAvailable=False` while a rollout goes on within its deadline. */
export const rollingOut = "RollingOut";

/** What the message of `DeploymentsAvailable` says of a late workload: of a Deployment, and of any other kind, which has no deadline of its own. */
export const latenessWords = ["ProgressDeadlineExceeded", "no progress for 10 minutes"] as const;

/** Type of the condition that says whether the API server of a spoke protects the anchor. `Ready` does not depend on it. */
export const protectedCondition = "AnchorProtected";

/**
 * Types of the conditions that kstatus reads: failure, and work in progress. They exist only while they are True, and never both. `Ready` does not
 * depend on them.
 */
export const progressConditions = ["Reconciling", "Stalled"] as const;

/**
 * Reasons of `AnchorProtected`, each with the status it implies. No status is Unknown: Argo CD's built-in health of a component stays Progressing as long as any condition is Unknown.
 * A test holds docs/reasons.md to this list. Spec: anchor-guard.md 6, 8, 9.
 */
export const protectionReasons = {
  Enforced: "True",
  Probing: "False",
  NotEnforced: "False",
  BindingMissing: "False",
  SharedIdentity: "False",
  PolicyForbidden: "False",
  NotSupported: "False",
  TwinOwner: "False",
} as const;

export type ProtectionReason = keyof typeof protectionReasons;

/** A condition on which `Ready` depends. */
export type ConditionType = (typeof conditionTypes)[number];

/**
 * When the queue tries a failed component again: `change` after a watch event, and beside it in the slow sweep that begins with the poll interval; `backoff` after an exponential
 * delay.
 */
export type Retry = "change" | "backoff";

interface ReasonEntry {
  readonly condition: ConditionType;
  readonly retry: Retry;
  /** One sentence about what to do next. */
  readonly next: string;
}

/** All reasons of conditions and of processes. A test holds docs/reasons.md to this list. */
export const reasons = {
  ClusterProfileNotFound: {
    condition: "TargetClusterResolved",
    retry: "change",
    next: "Create the ClusterProfile, or delete the component and create it with the right spec.clusterProfileRef.",
  },
  ClusterProfileNotReady: {
    condition: "TargetClusterResolved",
    retry: "change",
    next: "Look at the condition ControlPlaneHealthy of the ClusterProfile; its cluster manager has to set it to True.",
  },
  ClusterProfileUnavailable: {
    condition: "TargetClusterResolved",
    retry: "backoff",
    next: "Check that the ClusterProfile CRD is installed on the hub and that the controller may list and watch it; where the message says that the hub does not answer, look at its API server.",
  },
  AccessProviderNotConfigured: {
    condition: "TargetClusterResolved",
    retry: "change",
    next: "Start the controller with --clusterprofile-provider-file.",
  },
  MulticlusterDisabled: {
    condition: "TargetClusterResolved",
    retry: "change",
    next: "Add a provider to the provider file whose name the ClusterProfile offers in status.accessProviders.",
  },
  AccessProviderFailed: {
    condition: "TargetClusterResolved",
    retry: "backoff",
    next: "Run the exec plugin by hand as the message says; check the provider entry, its extensions and the plugin's Secret.",
  },
  RemoteClientCreationFailed: {
    condition: "TargetClusterResolved",
    retry: "backoff",
    next: "Check the server address, CA and TLS name in the ClusterProfile, and that the hub can reach the spoke's API server.",
  },
  SpokeUnreachable: {
    condition: "TargetClusterResolved",
    retry: "backoff",
    next: "Bring the spoke's API server back, or the network to it; the component goes on by itself.",
  },
  RemoteClusterStale: {
    condition: "TargetClusterResolved",
    retry: "backoff",
    next: "Nothing: the connection was replaced during the work and the next attempt uses the new one.",
  },
  ClusterProviderClosed: {
    condition: "TargetClusterResolved",
    retry: "backoff",
    next: "Nothing: the controller was shutting down.",
  },
  ReferenceNotPermitted: {
    condition: "TargetClusterResolved",
    retry: "change",
    next: "Ask the operator of the hub for a grant, or for trust in the ClusterProfile: --reference-mode, --reference-grants and the flags --trusted-inventory-namespace, --trusted-cluster-manager and --pull-namespace of the controller.",
  },
  VersionNotEligible: {
    condition: "VersionMigrationEligible",
    retry: "change",
    next: "Set spec.version to a version at most one minor away from status.version.",
  },
  ReleaseNotFound: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Add the wanted release to the release directory, or set spec.version to a version that it holds, if there is one.",
  },
  ReleasePartNotFound: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Turn the named part off, choose one that the release directory has, or add the part to it: an ingress is chosen in spec.ingress (Istio where it is absent), an event source in spec.source, the security guard in spec.security.",
  },
  ReleasesUnavailable: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Name a folder that has release files with KNFLEET_RELEASE_DIR, or a copy of all of them with KNFLEET_RELEASE_MIRROR; `npm run releases -- --release-dir DIR` makes such a folder on a machine with a network.",
  },
  ManifestInvalid: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Correct the release file or the spec field that the message names.",
  },
  ManifestSourceNotAllowed: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Use a URL below a --manifest-source of the controller, or ask its operator to add the source.",
  },
  ManifestSourceUnavailable: {
    condition: "InstallSucceeded",
    retry: "backoff",
    next: "Check that the controller can reach the URL, and that it answers 200 without a redirect.",
  },
  KubernetesVersionTooOld: {
    condition: "InstallSucceeded",
    retry: "backoff",
    next: "Upgrade the cluster, or set spec.version to a Knative release made for it and KUBERNETES_MIN_VERSION to what that one needs.",
  },
  ApplyFailed: {
    condition: "InstallSucceeded",
    retry: "backoff",
    next: "Read the named objects' errors; a missing right is named with verb and resource.",
  },
  AnchorConflict: {
    condition: "InstallSucceeded",
    retry: "backoff",
    next: "Another hub or component owns the anchor ConfigMap on the spoke; remove that installation first.",
  },
  AnchorUnprotected: {
    condition: "InstallSucceeded",
    retry: "backoff",
    next: "Look at the condition AnchorProtected; --anchor-protection says what to do on clusters that cannot protect the anchor.",
  },
  DuplicateComponent: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Delete one of the two components of this kind that reference the same cluster.",
  },
  ClusterBusy: {
    condition: "InstallSucceeded",
    retry: "backoff",
    next: "Wait while what the message names is being deleted or lets go; where that lasts, look at the finalizer, webhook, controller or API server that it names.",
  },
  DeploymentsNotReady: {
    condition: "DeploymentsAvailable",
    retry: "change",
    next: "Look at the named Deployments on the spoke: kubectl knfleet deployments.",
  },
  ConfigInvalid: {
    condition: "InstallSucceeded",
    retry: "change",
    next: "Correct the flag or file that the message names and try again.",
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;

export type Reason = keyof typeof reasons;

/** Reasons with which a process ends. No condition has one. */
export const processReasons = [
  "ReleasesUnavailable",
  "ConfigInvalid",
] as const satisfies readonly Reason[];

export type ProcessReason = (typeof processReasons)[number];

/** True for a reason of the catalogue. */
export function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}

/** More specific causes of a reason; docs/reasons.md explains each. Spec: cluster-inventory.md 2.7. */
export const codes = [
  "ProviderFileUnreadable",
  "ProviderFileInvalid",
  "NoMatchingProvider",
  "ProviderInvalid",
  "ExtensionInvalid",
  "EndpointInvalid",
  "PluginNotFound",
  "PluginNotAllowed",
  "PluginFailed",
  "PluginTimeout",
  "PluginOutputInvalid",
  "PluginInputTooLarge",
  "CredentialRejected",
  "Forbidden",
  "AdmissionRefused",
  "WebhookSilent",
  "Unreachable",
  "NotKubernetes",
  "TLSUntrusted",
  "TooLarge",
  "NotManagedByOCM",
  "WorkForbidden",
  "WorkRightMissing",
  "WorkRefused",
] as const;

export type Code = (typeof codes)[number];
