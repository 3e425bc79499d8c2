import type {
  Code,
  ProtectionReason,
  Reason,
  rollingOut,
  scaledToZero,
} from "../../../../api/reasons.ts";

/** When each reason is written; docs/reasons.md is held to it by a test. */
export const reasonMeanings: Readonly<Record<Reason, string>> = {
  ClusterProfileNotFound: "The ClusterProfile that the component names does not exist on the hub.",
  ClusterProfileNotReady:
    "It exists, but its condition `ControlPlaneHealthy` is not True, or it has neither that nor `Joined`. Nothing is uninstalled.",
  ClusterProfileUnavailable:
    "ClusterProfiles cannot be read on the hub or, with shards, the claim of the cluster cannot be written there for now.",
  AccessProviderNotConfigured: "The controller has no provider file.",
  MulticlusterDisabled: "The provider file declares no provider that the ClusterProfile offers.",
  AccessProviderFailed:
    "The provider entry or the profile's data for it is wrong, or the exec plugin failed, took too long or printed rubbish, or the spoke does not accept the credential. Of a component that pulls: the hub or the work agent refuses its works, or its cluster is none of Open Cluster Management.",
  RemoteClientCreationFailed:
    "The address or certificate of the spoke is wrong, or its API server cannot be reached or trusted, and was not before at this address.",
  SpokeUnreachable:
    "The cluster was reached before and is silent now; of a component that pulls, Open Cluster Management calls it unavailable. `TargetClusterResolved`, `DeploymentsAvailable` and `Ready` are Unknown; nothing is uninstalled.",
  RemoteClusterStale: "The connection was replaced during the work.",
  ClusterProviderClosed: "The controller is shutting down.",
  ReferenceNotPermitted:
    "The component may not use the ClusterProfile: it is in another namespace and there is no grant, or it is of nobody whom the hub trusts. The cluster is left alone, with everything that is installed there.",
  VersionNotEligible:
    "`spec.version` is more than one minor version away from what is installed. In the condition: reason `Error`.",
  ReleaseNotFound:
    "The release directory does not hold that version; the message says which ones it has. In the condition: reason `Error`.",
  ReleasePartNotFound:
    "The release directory has the version, but not the ingress, event source or security guard that the spec names, or Istio where `spec.ingress` is absent. The message says what it has in their place.",
  ReleasesUnavailable:
    "The release files are not on this machine and cannot be downloaded, or copied from a mirror. No condition has this reason: a command ends with it, and so does a controller or webhook that starts without its image.",
  ManifestInvalid:
    "A release file, or a field of the spec, cannot be used. In the condition: reason `Error`. Of `spec.patches` the message names the patch, counted from 0, and its target: it `did not match any generated resource`, `must not change apiVersion, kind, metadata.name, or metadata.namespace`, `is not supported`, or names what `belongs to knfleet and cannot be patched`.",
  ManifestSourceNotAllowed:
    "A URL of `spec.manifests` or `spec.additionalManifests` is not below a `--manifest-source` of the controller. Nothing was fetched.",
  ManifestSourceUnavailable:
    "A manifest could not be fetched: no connection, an answer other than 200, a redirect, or more than 20 s or 8 MiB.",
  KubernetesVersionTooOld:
    "The cluster is older than `KUBERNETES_MIN_VERSION` of the controller, v1.34.0 by default. Nothing was changed on it.",
  ApplyFailed: "The cluster refused objects. In the condition: reason `Error`.",
  AnchorConflict:
    "The installation on the cluster, or an object that a new one would write, belongs to another hub or to another component. Nothing is touched.",
  AnchorUnprotected: "Nothing would protect the anchor of a new installation, so it is not made.",
  DuplicateComponent:
    "An older component of the same kind is for the same cluster, perhaps through another ClusterProfile. The younger one touches nothing there, also when it is deleted.",
  ClusterBusy:
    "The namespace or objects on the cluster are still being deleted; or its API server has no time or fails for now (429, 500, 502 to 504), which the condition tells as Unknown with `Installing` or `Finalizing`.",
  DeploymentsNotReady:
    "Deployments are not available yet, or not any more, or still have pods from before a change. In the condition: reason `NotReady`.",
  ConfigInvalid:
    "A flag or file of the controller itself cannot be used: it ends with code 1 and this message on standard error.",
};

/** When the condition AnchorProtected has each reason, and what to do; docs/reasons.md is held to it by a test. */
export const protectionMeanings: Readonly<
  Record<ProtectionReason, readonly [when: string, next: string]>
> = {
  Enforced: ["The policies are there and were seen to refuse, by every API server.", "Nothing."],
  Probing: [
    "The policies were just written, or were changed by somebody and put right; they have not been seen to refuse yet. The installation does not wait for that.",
    "Wait a few seconds.",
  ],
  NotEnforced: [
    "They are there, but the API server did not refuse a probe for 30 s, and the installation goes on without their protection; or they could not be written, and a new anchor is not made. It is tried again all the time.",
    "Look whether the admission plug-in ValidatingAdmissionPolicy is on, and at the controller's log.",
  ],
  BindingMissing: [
    "Somebody deleted the policy or its binding. It was put back within seconds and is being proven.",
    "Find out who it was, in the audit log of the spoke.",
  ],
  SharedIdentity: [
    "The policies refuse, but the controller's user there is in `system:masters` or is a person's: the guard lets everybody pass who has it.",
    "Give the controller a ServiceAccount or certificate of its own on the spoke.",
  ],
  PolicyForbidden: [
    "The controller may not install policies there. With `Auto` a second owner is used instead.",
    "Give it the rights of [spoke-role.yaml](spoke-role.yaml). It is tried again after 10 minutes, or with a new connection.",
  ],
  NotSupported: [
    "The cluster serves no ValidatingAdmissionPolicy v1. With `Auto` a second owner is used instead.",
    "Upgrade the cluster.",
  ],
  TwinOwner: [
    "The controller runs with `--anchor-protection=TwinOwner`.",
    "Nothing, if that is what you want.",
  ],
};

/** What each code says; docs/reasons.md is held to it by a test. */
export const codeMeanings: Readonly<Record<Code, string>> = {
  ProviderFileUnreadable: "The provider file cannot be read.",
  ProviderFileInvalid: "The provider file is invalid; the message names the position.",
  NoMatchingProvider: "The ClusterProfile offers no provider of the provider file.",
  ProviderInvalid: "The entry of the provider cannot be used.",
  ExtensionInvalid: "The ClusterProfile's extension data for the exec plugin cannot be used.",
  EndpointInvalid:
    "Server, CA, TLS name or proxy in the ClusterProfile cannot be used, or the provider does not allow it.",
  PluginNotFound: "The exec plugin's command does not exist or may not be run.",
  PluginNotAllowed:
    "The exec plugin is below no plugin root, can be changed by everybody, or is not what its `sha256` says.",
  PluginFailed: "The exec plugin ended with an error.",
  PluginTimeout: "The exec plugin did not end within its time.",
  PluginOutputInvalid: "The exec plugin printed something other than an ExecCredential.",
  PluginInputTooLarge: "The input of the exec plugin is too large for a process.",
  CredentialRejected: "The API server answered 401.",
  Forbidden:
    "The API server, or a proxy before it, answered 403 for want of a right; the message names the request.",
  AdmissionRefused:
    "An admission webhook or policy of the cluster refused the request; the message names it.",
  WebhookSilent:
    "A webhook of the cluster does not answer, so that the API server refuses the request; the message names it.",
  Unreachable: "The API server could not be reached, or stopped to answer.",
  NotKubernetes: "What answers in place of the API server is none.",
  TLSUntrusted: "The API server showed a certificate that is not trusted.",
  TooLarge: "The cluster answers with more, or has more objects of ours, than may be read or kept.",
  NotManagedByOCM:
    "Pull delivery: the ClusterProfile names no ManagedCluster of Open Cluster Management, or the hub has none of that name, or no namespace for its works.",
  WorkForbidden:
    "Pull delivery: the agent of Open Cluster Management may not apply an object of a work on the spoke; the message names it.",
  WorkRightMissing: "Pull delivery: the controller lacks a right on the hub; the message names it.",
  WorkRefused:
    "Pull delivery: the hub does not take a work; the message says whether a quota, a webhook, a policy or the size stands in the way.",
};

/** Reasons of DeploymentsAvailable that are no failure, and what to do; docs/reasons.md is held to it by a test. */
export const availabilityMeanings: Readonly<
  Record<typeof rollingOut | typeof scaledToZero, readonly [when: string, next: string]>
> = {
  RollingOut: [
    "Deployments are not available, or still have pods from before a change, and a rollout changes each of them: it is within its deadline, and no cause is known for which it would fail. `DeploymentsAvailable` is False.",
    "Wait.",
  ],
  ScaledToZero: [
    "Somebody scaled the named Deployments to zero, which the release runs and whose replicas nobody set in the spec. `DeploymentsAvailable` and `Ready` are True, since nothing failed; but what needs these Deployments does not work.",
    "Scale them up again, or set no replicas in `spec.workloads` of the component.",
  ],
};

/** Reasons of conditions while work goes on, with what each says. */
export const workMeanings: Readonly<Record<string, string>> = {
  Connecting: "The controller connects to the ClusterProfile's cluster.",
  Installing: "Objects are being applied; the message counts them and names what is waited for.",
  Finalizing: "The installation is being removed; the message counts what is left.",
};
