import { reasons } from "../reasons.ts";
import { accessCodes } from "./access-codes.ts";
import { spokeCodes } from "./spoke-codes.ts";

/** Codes of findings about the hub and the components on it. */
const hubCodes = {
  KNF1001: {
    name: "HubUnreachable",
    meaning: "The hub's API server cannot be reached or trusted, or does not answer.",
    next: "Check the kubeconfig and its context; look whether the hub's API server runs.",
  },
  KNF1002: {
    name: "HubUnauthorized",
    meaning: "The hub does not know the user of the kubeconfig (401).",
    next: "Log in to the hub again.",
  },
  KNF1003: {
    name: "HubForbidden",
    meaning: "The user on the hub lacks a right that the diagnosis needs; the message names it.",
    next: "Ask for the named right, or use an identity that has it.",
  },
  KNF1004: {
    name: "KindsNotServed",
    meaning: "The hub serves no KnativeServing or KnativeEventing.",
    next: "Install the CRDs of knfleet on the hub, or choose the hub with --context.",
  },
  KNF1005: {
    name: "ControllerNotRunning",
    meaning:
      "No controller works on the components, or on those of a shard: the Lease was released or has expired, or there is none.",
    next: "Start the controller and look at its log.",
  },
  KNF1006: {
    name: "ControllerUnknown",
    meaning: "It is unknown whether a controller runs.",
    next: "Use an identity that may read Leases and Deployments of the hub.",
  },
  KNF1007: {
    name: "ControllerNotReady",
    meaning: "Pods of the controller or of the webhook are not available.",
    next: "Look at the named Deployment on the hub.",
  },
  KNF1008: {
    name: "WebhookBroken",
    meaning:
      "A webhook for the components is configured on the hub and cannot work: no CA, no Service or no ready endpoint.",
    next: "Look at the named webhook configuration and at the pods behind its Service.",
  },
  KNF1010: {
    name: "ComponentNotFound",
    meaning: "The hub has no component or ClusterProfile of that name.",
    next: "List what there is: kubectl knfleet status -A.",
  },
  KNF1011: {
    name: "StatusOutdated",
    meaning:
      "The controller has not processed the latest change of the component, or has not written any status.",
    next: "Look whether the controller runs and what its log says about the component.",
  },
  KNF1012: {
    name: "DeletionStuck",
    meaning: "The component was deleted more than a minute ago and its finalizer is still there.",
    next: "Remove the cause that the diagnosis found; docs/removal.md says how to give the spoke up.",
  },
  KNF1013: {
    name: "SecondComponent",
    meaning: "Another component of the same kind is for the same cluster.",
    next: "Delete the one that is not meant; the younger one changes nothing on the spoke.",
  },
  KNF1014: {
    name: "UpstreamConnectionStale",
    meaning:
      "The access data of the ClusterProfile changed after the upstream operator started, and the operator still uses the old connection.",
    next: "Restart the upstream operator.",
  },
  KNF1015: {
    name: "VersionNotEligible",
    meaning: "The desired version is more than one minor version away from the installed one.",
    next: reasons.VersionNotEligible.next,
  },
  KNF1016: {
    name: "ReleaseNotFound",
    meaning: "The controller has no release of the desired version.",
    next: reasons.ReleaseNotFound.next,
  },
  KNF1017: {
    name: "ManifestUnusable",
    meaning: "A manifest, or a field of the spec, cannot be used, or could not be fetched.",
    next: "Correct the field or file that the condition names.",
  },
  KNF1018: {
    name: "InstallFailed",
    meaning: "The controller says that installing failed; the condition says why.",
    next: "Read the message of the condition; a missing right is named with verb and resource.",
  },
  KNF1019: {
    name: "ReferenceNotPermitted",
    meaning: "The controller does not let the component use the ClusterProfile that it names.",
    next: "Ask the operator of the hub for a grant, or for trust in the ClusterProfile; docs/security.md says how.",
  },
  KNF1020: {
    name: "UpstreamMixesProfiles",
    meaning:
      "The upstream operator keeps what ClusterProfiles add to a provider's arguments and variables, and uses it for the other ClusterProfiles, too.",
    next: "Set both policies of the provider to Ignore, and give each cluster that needs other arguments a provider of its own.",
  },
  KNF1021: {
    name: "ClocksDiffer",
    meaning: "The clock of this machine and that of the hub differ by more than two minutes.",
    next: "Set the clock of the machine that is wrong: credentials and certificates are judged by it.",
  },
  KNF1022: {
    name: "ReleasesUnavailable",
    meaning:
      "Knative's release files are not on this machine and cannot be downloaded, or copied from a mirror, so nothing can be rendered or compared.",
    next: reasons.ReleasesUnavailable.next,
  },
  KNF1023: {
    name: "ReleasePartNotFound",
    meaning:
      "The release is there, but not the ingress, event source or security guard that the component names.",
    next: reasons.ReleasePartNotFound.next,
  },
  KNF1024: {
    name: "RolloutHalted",
    meaning:
      "The rollout of a fleet set was halted or rolled back, because more clusters of a stage failed than may.",
    next: "Mend the failed clusters, then: kubectl knfleet rollout retry.",
  },
  KNF1025: {
    name: "RolloutWaits",
    meaning:
      "The rollout of a fleet set goes on or waits: for its clusters, a window, an approval, the end of a soak or of a pause.",
    next: "Do what the message names, or wait.",
  },
  KNF1026: {
    name: "SetBlocked",
    meaning:
      "The rollout of a fleet set cannot go on at all: which clusters it means is not known, or may not be believed.",
    next: "Do what the message names.",
  },
  KNF1027: {
    name: "SeveralControllers",
    meaning:
      "Several Deployments of the hub may be the same controller, so no flag and no file of one of them is believed.",
    next: "Delete the Deployment that is not the controller, or take its ServiceAccount out of the ClusterRoleBindings.",
  },
  KNF1028: {
    name: "HubRightMissing",
    meaning: "The controller lacks a right on the hub itself; the message names it.",
    next: "For a component without spec.clusterProfileRef set controller.hubInstallations=true in the chart; docs/hub-role.yaml has the other rights that the controller needs on the hub.",
  },
} as const;

/** Name and texts of a code. */
export interface KnfEntry {
  /** Short name for people. */
  readonly name: string;
  readonly meaning: string;
  /** One sentence about what to do next. */
  readonly next: string;
}

/**
 * Every finding of `kubectl knfleet`, by its code: KNF1xxx hub, 2xxx ClusterProfile, 3xxx provider and plugin, 4xxx network and TLS,
 * 5xxx identity and rights, 6xxx spoke. Scripts compare codes, so a code never changes its meaning and is never used again.
 */
export const knfCodes = {
  ...hubCodes,
  ...accessCodes,
  ...spokeCodes,
} as const satisfies Readonly<Record<string, KnfEntry>>;

export type KnfCode = keyof typeof knfCodes;
