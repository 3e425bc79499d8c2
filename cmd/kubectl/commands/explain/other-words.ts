import type { WorkloadState } from "../../../../installation/readiness.ts";
import type { ChangeKind } from "../../compare/compare.ts";
import type { HubState } from "../../hub/installations.ts";
import type { LiveState } from "../../spokes/live-view.ts";
import type { HopState } from "../diagnose/hops/hop.ts";
import { orphanFindings } from "../orphans/orphan-findings.ts";
import type { PlannedChange } from "../plan/plan-item.ts";
import type { PlanAction } from "../rollout/rollout-plan.ts";
import type { SetWords } from "./set-words.ts";

const wait = "Wait.";
const nothing = "Nothing.";
const diagnose = "kubectl knfleet diagnose.";
const status = "Look at the message: kubectl knfleet status TYPE/NAME -n NAMESPACE.";

/** Conditions of a component; docs/reasons.md is held to this and to the other lists of this file by a test. */
export const componentConditions: SetWords = {
  Ready: [
    "All other conditions on which it depends are True: the wanted version is applied and available.",
    diagnose,
  ],
  TargetClusterResolved: [
    "The cluster of the component is known, may be used and is reached.",
    "While it is not True: explain the reason.",
  ],
  VersionMigrationEligible: [
    "The wanted version may follow the installed one.",
    "While it is not True: set spec.version to a version at most one minor away from status.version.",
  ],
  DependenciesInstalled: ["Upstream's condition: nothing is needed from others.", nothing],
  InstallSucceeded: [
    "All objects are applied to the cluster.",
    "While it is not True: read its message, which names the objects and what refuses them.",
  ],
  DeploymentsAvailable: [
    "The Deployments of the installation are available, with the pods of the wanted version.",
    "While it is not True: kubectl knfleet diagnose names the pods and what they wait for.",
  ],
  AnchorProtected: [
    "The API server of the cluster keeps others from deleting the anchor. `Ready` does not depend on it.",
    "While it is not True: explain the reason.",
  ],
  Contested: [
    "Somebody else changes the objects that the message names again and again; it is also an Event. It is there only during the contest, and `Ready` does not depend on it.",
    "Take the named fields out of what the other manager applies, or set them in the spec of the component.",
  ],
};

/** Reasons of conditions and Events of a component that are not in the catalogue of failures. */
export const componentReasons: SetWords = {
  Error: [
    "Upstream's reason for a step that failed. The message and the number say what failed, the Event has the reason of the catalogue.",
    diagnose,
  ],
  NotReady: [
    "Deployments are not available yet, or not any more; the message names them and what is known of the cause.",
    diagnose,
  ],
  NotWatched: [
    "The workloads on the cluster may not be watched, so nothing is known of them.",
    "Give the controller the rights of spoke-role.yaml; the message names the missing one.",
  ],
  NotSynced: [
    "The watches of the cluster were interrupted, or have not listed everything yet; what is there is read anew.",
    wait,
  ],
  Unknown: [
    "The state or reason is not known: nobody has told it, or it has no valid form.",
    status,
  ],
  FinalizerUpdate: [
    "Event: the component got its finalizer: the first write to its cluster follows.",
    nothing,
  ],
  Installed: [
    "Event: a version is applied and available; the message names the one before.",
    nothing,
  ],
  Waiting: [
    "Event: an installation that was complete, or whose failure is over, waits for its cluster; the message names what it waits for. It ends with `Ready`.",
    wait,
  ],
  Repaired: [
    "Event: objects that somebody else deleted or changed were put right; the message names them.",
    "Find out who changes them, in the audit log of the cluster.",
  ],
  SharedCredential: [
    "Event: the token for the cluster is also sent to the server of another ClusterProfile, whose operator could use it here.",
    "Give each cluster a token of its own; docs/access.md says how.",
  ],
  Recovered: [
    "Event: the cluster is reached or may be used again, the version may be installed now, the objects are applied now, or the anchor is protected again.",
    nothing,
  ],
  WebhookUnblocked: [
    "Event: for minutes a Knative webhook without pods kept ConfigMaps that its pods need from being written; its rules were emptied, its pods fill them again.",
    "Look why the pods of that webhook were away.",
  ],
  ConfirmationWithdrawn: [
    "Event: a confirmation to delete an anchor or its namespace was not used within 15 minutes.",
    "Confirm again, if it is still meant.",
  ],
  JobFailed: [
    "Event: a Job of the release, or of `spec.additionalManifests`, has failed; the message names it and the reason. `Ready` does not depend on it.",
    "Look at the log of the Job's pods, and delete the Job to run it again.",
  ],
  ContestOver: [
    "Event: nobody changes the objects any more over which there was a contest.",
    nothing,
  ],
  Adopted: [
    "Event: what the upstream operator installed was taken over; nothing restarts for that.",
    nothing,
  ],
  TakenOver: [
    "Event: the component is pulled now, or pushed again: the controller of the spoke or of the hub took over what the other one had installed.",
    nothing,
  ],
  AnchorLost: [
    "Event: the anchor was deleted while the component lives; it and everything that went with it are installed again.",
    "Find out who deleted it, in the audit log of the cluster.",
  ],
  Removed: ["Event: the removal is done and verified; or nothing of it was there.", nothing],
  ForceOrphanIgnored: [
    "Event: the annotation to leave everything behind has no effect; the message says why.",
    "Correct the annotation as the message says.",
  ],
  Orphaned: [
    "Event: the component was let go on demand, and everything was left on its cluster.",
    "Remove what was left by hand: kubectl knfleet orphans lists it.",
  ],
};

/** Words in ClusterProfiles that discovery or `register` keeps. */
export const profileWords: SetWords = {
  ControlPlaneHealthy: [
    "Condition: the API server of the cluster answers, says whoever keeps the ClusterProfile.",
    "While it is not True: ask whoever keeps the ClusterProfile; its reason says why.",
  ],
  Joined: ["Condition: the cluster belongs to the fleet.", nothing],
  Registered: ["`kubectl knfleet register` made the ClusterProfile.", nothing],
  Discovered: [
    "Discovery made the ClusterProfile from a Secret or a Cluster API Cluster.",
    nothing,
  ],
  NotChecked: ["Discovery has not asked the cluster yet.", wait],
  NotInitialized: ["The control plane of the Cluster API Cluster is not initialized yet.", wait],
  KubeconfigMissing: [
    "The Secret of the source has no kubeconfig, or is not there yet.",
    "Look at the Secret that the message names.",
  ],
  KubeconfigRefused: [
    "The kubeconfig of the source cannot be used; the message says why.",
    "Correct the kubeconfig in the Secret that the message names.",
  ],
  ClusterDeleting: ["The Cluster API Cluster is being deleted.", nothing],
  SourceGone: [
    "The Secret or the Cluster from which discovery made the ClusterProfile is gone.",
    "Delete the components of the cluster and then the ClusterProfile, or bring the source back.",
  ],
  NameTaken: [
    "A ClusterProfile of that name is there already, and discovery did not make it.",
    "Rename the source, or delete the other ClusterProfile.",
  ],
};

/** States of an installation in the column HUB: what the conditions on the hub say. */
export const hubStates: SetWords<HubState> = {
  Ready: ["The controller says that the installation is ready.", nothing],
  InProgress: ["An installation or a rollout goes on within its deadline.", wait],
  NotReady: ["The controller says that something is wrong; REASON and CODE say what.", diagnose],
  Unknown: ["The controller has not said yet whether the installation is ready.", wait],
  Outdated: [
    "The status is about an older generation of the spec: no controller has seen the latest change.",
    "Look whether a controller works: kubectl knfleet check.",
  ],
  Deleting: [
    "The component is being deleted, and waits until nothing of it is left on the cluster.",
    "When it takes longer than minutes: kubectl knfleet diagnose.",
  ],
};

/** States of an installation in the column LIVE: what the cluster itself says. */
export const liveStates: SetWords<LiveState> = {
  Ready: ["All Deployments of the installation are available on the cluster.", nothing],
  ScaledToZero: ["Somebody scaled Deployments of the installation to zero.", diagnose],
  InProgress: ["A rollout of Deployments goes on within its deadline.", wait],
  NotAvailable: ["Deployments of the installation are not available, or missing.", diagnose],
  NotInstalled: ["The cluster has no installation of this component.", diagnose],
  Skipped: [
    "The cluster was not asked (`--no-live`), or not yet.",
    "Run the command without --no-live.",
  ],
  Unreachable: ["The API server of the cluster did not answer.", diagnose],
  Denied: ["The API server of the cluster refused the credential or a request.", diagnose],
  NoAccess: ["There is no way to the cluster: profile, provider or plugin are wrong.", diagnose],
  Unknown: [
    "The cluster was not asked, because a provider file or the permission to run a plugin is missing.",
    "Name the provider file with --clusterprofile-provider-file.",
  ],
};

/** States of a Deployment. */
export const deploymentStates: SetWords<WorkloadState> = {
  available: ["The latest change is rolled out, and enough pods are available.", nothing],
  scaledToZero: ["Somebody scaled the Deployment to zero.", diagnose],
  rollingOut: ["A rollout goes on within its deadline.", wait],
  notAvailable: ["Pods are not available, or a rollout does not go on.", diagnose],
};

/** Results of a step of `diagnose`, of an item of `check` and of a node of `tree`. */
export const stepStates: SetWords<HopState | "UNKNOWN"> = {
  OK: ["The step found nothing wrong.", nothing],
  WARN: ["The step found something that may become a problem.", "Explain the code beside it."],
  FAIL: ["The step found what keeps the installation from working.", "Explain the code beside it."],
  SKIPPED: [
    "The step was not taken: it needs an earlier one that failed, a right is missing, or it was not asked for.",
    "Mend the step that its message names.",
  ],
  UNKNOWN: ["The object could not be read.", "Look at the message beside it."],
};

/** States of a stage of a rollout that are no phase. */
export const stageStates: SetWords<"Passed" | "Empty"> = {
  Passed: ["All clusters of the stage are done, and its soak and approval are over.", nothing],
  Empty: [
    "The stage selects no cluster.",
    "Correct the selector of the stage, if it is to have some.",
  ],
};

/** Why a cluster is no part of a rollout in `rollout plan`. */
export const planReasons: SetWords<"NotSelected"> = {
  NotSelected: [
    "The set does not select the cluster any more; its component goes as `deletionPolicy` says.",
    "Correct the labels of the ClusterProfile or `spec.clusters`, if that is not meant.",
  ],
};

/** States of a step of `migrate`. */
export const migrationStates: SetWords<"Done" | "ToDo" | "Blocked"> = {
  Done: ["The step is done.", nothing],
  ToDo: ["The step is to be done, by whom it names.", "Run the same migrate with --apply."],
  Blocked: ["The step cannot be done; the message says why.", "Do what the message names."],
};

/** What `orphans` finds. */
export const leftovers: SetWords = Object.fromEntries(
  Object.entries(orphanFindings).map(([name, meaning]) => [
    name,
    [`${meaning}.`, "kubectl knfleet orphans prints the commands for it."],
  ]),
);

/** States of what `wait` waits for, and outcomes of a command. */
export const waitStates: SetWords = {
  met: ["The installation or set has reached what was waited for.", nothing],
  inProgress: ["It has not been reached yet; an installation or a rollout goes on.", wait],
  waiting: ["It has not been reached yet.", "Wait longer, with --timeout."],
  failed: ["It cannot be reached any more without a change.", diagnose],
  timedOut: ["The time was over before it was reached.", "Wait longer, with --timeout."],
  interrupted: ["The command was interrupted before it was reached.", "Run the command again."],
  incomplete: ["The rollout is neither complete nor failed.", "kubectl knfleet rollout status."],
};

/** Differences that `diff` finds, and what `plan` and `rollout plan` say would be done. */
export const changeWords: SetWords<ChangeKind | PlanAction | PlannedChange["action"]> = {
  missing: ["The object is to be there and is not.", nothing],
  changed: ["The object differs from what is to be there.", nothing],
  extra: ["The object is there and is not to be.", nothing],
  replaced: ["The object would be deleted and made anew: a field cannot be changed.", nothing],
  leaving: ["The object is still being deleted, and made again afterwards.", wait],
  refused: [
    "The hub or the cluster would refuse it; the message says why.",
    "Correct what the message names.",
  ],
  create: ["It would be made.", nothing],
  change: ["It would be changed.", nothing],
  none: ["Nothing would be done.", nothing],
  prune: ["The object would be deleted: the version does not have it any more.", nothing],
  recreate: ["The object would be deleted and made anew.", nothing],
  wait: ["Nothing is done before something else is over; the message names it.", wait],
  update: ["The component would be stamped anew.", nothing],
  relabel: ["Only labels of the component would be changed; nothing restarts.", nothing],
  adopt: ["The set would take a component that it did not make.", nothing],
  blocked: [
    "The set may not change the cluster, or cannot; the reason says why.",
    "Explain the reason.",
  ],
  excluded: ["The set leaves the cluster as it is.", nothing],
  orphan: ["The component would be let go, and everything left on its cluster.", nothing],
  delete: ["The component would be deleted, with everything on its cluster.", nothing],
};

/** Words of the upstream operator and of Kubernetes that commands show in Events and tables. */
export const foreignWords: SetWords = {
  MinimumReplicasAvailable: ["A Deployment has enough available pods.", nothing],
  MinimumReplicasUnavailable: ["A Deployment has too few available pods.", diagnose],
  NewReplicaSetAvailable: ["The rollout of a Deployment is complete.", nothing],
  ReplicaSetUpdated: ["The rollout of a Deployment goes on.", wait],
  ProgressDeadlineExceeded: ["The rollout of a Deployment takes longer than it may.", diagnose],
  ScalingReplicaSet: ["A Deployment changes the number of its pods.", nothing],
  Scheduled: ["A pod has got its node.", nothing],
  SuccessfulCreate: ["A pod was made.", nothing],
  FailedCreate: ["A pod could not be made: a quota, a policy or a webhook refuses it.", diagnose],
  FailedScheduling: ["No node can take a pod; the message says why.", diagnose],
};

/** All lists of this file, by what their words are. */
export const otherWords: Readonly<Record<string, SetWords>> = {
  condition: componentConditions,
  reason: componentReasons,
  ClusterProfile: profileWords,
  HUB: hubStates,
  LIVE: liveStates,
  Deployment: deploymentStates,
  step: stepStates,
  stage: stageStates,
  "rollout plan": planReasons,
  migration: migrationStates,
  leftover: leftovers,
  wait: waitStates,
  change: changeWords,
  Kubernetes: foreignWords,
};
