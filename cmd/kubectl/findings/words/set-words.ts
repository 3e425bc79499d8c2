import type { RolloutPhase } from "../../../../api/fleet-set.ts";
import type { ClusterStateName } from "../../../../sets/cluster-state.ts";

/** What a word in the status of a fleet set says, and what to do; docs/reasons.md is held to it by a test. */
export type SetWords<Word extends string = string> = Readonly<
  Record<Word, readonly [meaning: string, next: string]>
>;

const wait = "Wait.";
const nothing = "Nothing.";

/** Conditions of a set. */
export const setConditions: SetWords<
  "Ready" | "Selected" | "Progressing" | "Complete" | "Healthy" | "Reconciling" | "Stalled"
> = {
  Ready: [
    "All stages were passed, and every selected cluster has the newest revision and is ready. False: the message counts the clusters that are done.",
    "While it is False: kubectl knfleet rollout status.",
  ],
  Selected: [
    "Which clusters the set means is known. False: nothing is stamped for new clusters, and nothing is removed.",
    "While it is False: explain the reason.",
  ],
  Progressing: [
    "Clusters are being changed. False: nothing can start; the reason is the phase of the rollout, the message what is waited for.",
    "While it is False: explain the reason.",
  ],
  Complete: [
    "All stages were passed with the newest revision. A cluster that breaks later makes `Ready` False, and not this condition.",
    "While it is False: explain the reason.",
  ],
  Healthy: [
    "No cluster is in trouble. False: the reason is the state of the worst cluster, the message names the cluster. True with `ScaledToZero`: somebody scaled workloads of the named cluster to zero.",
    "While it is False: look at the named cluster with kubectl knfleet diagnose.",
  ],
  Reconciling: [
    "The rollout goes on, or waits for an approval, a window or unreachable clusters; of a component: the installation goes on, or is tried again. It is there only while it is True, as kstatus wants it.",
    wait,
  ],
  Stalled: [
    "The rollout is halted, rolled back or blocked; of a component: the installation failed, and fails again until the spec or the cluster is changed. It is there only while it is True; Flux and other readers of kstatus then fail at once.",
    "Do what the message names.",
  ],
};

/** Phases of a rollout; they are reasons of Progressing, Complete and Ready. */
export const setPhases: SetWords<RolloutPhase> = {
  Waiting: [
    "The next stage has not begun: a window is closed, or too many of its clusters are unreachable. The message says which.",
    "Do what the message names, or wait.",
  ],
  Rolling: [
    "Clusters of the stage are being changed, as many at once as `maxConcurrency` allows.",
    wait,
  ],
  Soaking: ["All clusters of the stage are done; the stage is watched for `after.soak`.", wait],
  AwaitingApproval: [
    "Somebody has to approve: the stage before it begins, or the stage that is done and was watched before the next one begins.",
    "kubectl knfleet rollout approve.",
  ],
  Complete: ["All stages were passed; this revision is what a rollback goes back to.", nothing],
  Halted: [
    "More clusters of the stage failed than `maxFailures` allows. No further cluster is changed.",
    "Mend the clusters that status.notable names, change the spec, raise `maxFailures`, or: kubectl knfleet rollout retry.",
  ],
  RollingBack: [
    "`onFailure: Rollback`: the clusters that were changed get the revision that was completed last.",
    wait,
  ],
  RolledBack: [
    "The clusters have the revision that was completed last again. The failed revision is not tried again by itself.",
    "Change the spec, or: kubectl knfleet rollout retry.",
  ],
  Paused: [
    "`rollout.paused`, or the annotation `knfleet.dev/pause-rollout`, holds the set. What had begun goes on by itself.",
    "kubectl knfleet rollout resume.",
  ],
  Blocked: [
    "The rollout cannot go on at all, as when the selection is not known. Nothing is stamped, nothing is removed.",
    "Do what the message names.",
  ],
};

/** States of a cluster of a set: in status.notable, and as reasons of Healthy. */
export const setClusterStates: SetWords<ClusterStateName> = {
  Excluded: ["The set leaves the cluster as it is; the message says what excludes it.", nothing],
  Blocked: [
    "The set may not change the cluster, or cannot; its reason says why. The cluster holds no slot.",
    "Explain its reason.",
  ],
  Unreachable: [
    "The cluster is not healthy or does not answer. It holds no slot, and up to `maxUnreachable` such clusters hold up no stage.",
    "kubectl knfleet diagnose.",
  ],
  Pending: ["The cluster does not have the newest revision yet.", wait],
  Updating: ["The cluster was given the newest revision and is not ready with it yet.", wait],
  Settling: ["The cluster is ready, but not for `minReadySeconds` yet.", wait],
  Verifying: [
    "The cluster is ready, and the checks of `rollout.verify` are asked; the message says which one is not answered well yet. It holds its slot.",
    wait,
  ],
  Done: ["The cluster has the newest revision and is ready.", nothing],
  Failed: [
    "The component says that it cannot become ready by itself, or a check of `rollout.verify` failed. Counts against `maxFailures`.",
    "kubectl knfleet diagnose.",
  ],
  TimedOut: [
    "The component was not ready within `progressDeadline`. Counts against `maxFailures` until it is ready.",
    "kubectl knfleet diagnose.",
  ],
  Diverged: [
    "Somebody else has changed a field that the set stamps. The set does not fight over it.",
    "Take the field back by hand, or bring the change into the set.",
  ],
};

/** Reasons of sets and of their clusters that are no phase and no state. */
export const setReasons: SetWords = {
  WorkloadsBroken: [
    "Workloads of the users of the cluster broke since it got the revision, more than `rollout.verify` allows. The message names some of them.",
    "kubectl knfleet workloads --broken --since 1h.",
  ],
  CheckFailed: [
    "A check of `rollout.verify` was not answered well, or could not be asked in time. The message names the check and the answer.",
    "Mend what the check tells of, or undo: kubectl knfleet rollout undo.",
  ],
  Deleting: [
    "The set, or the component of a cluster, is being deleted. Components of a set go as `deletionPolicy` says.",
    wait,
  ],
  RolloutStarted: ["Event: another revision is rolled out.", nothing],
  StagePassed: [
    "Event: all clusters of a stage are done, and its soak and approval are over.",
    nothing,
  ],
  SelectionChanged: ["Event: the set selects other clusters than before.", nothing],
  ComponentDeleted: [
    "Event: somebody deleted a component of the set. Its cluster gets another one in its stage.",
    "To keep a cluster from the set, name it in `spec.clusters.exclude`.",
  ],
  DeletionPolicyIgnored: [
    "Event: the spec of a deleted set was changed while no controller saw it, and nobody can tell whether before the deletion or after it. Its components stay.",
    "To remove them, delete the components.",
  ],
  ValuesChanged: [
    "Event: a label or property that the template uses has another value. The component gets it, without a new revision.",
    nothing,
  ],
  ApprovalIgnored: [
    "Event: an approval names another revision than the one that is rolled out, so it counts for nothing.",
    "kubectl knfleet rollout approve.",
  ],
  Approved: ["Event: somebody approved a stage; the message says who and which gate.", nothing],
  Resumed: ["Event: a paused rollout goes on; the message says who resumed it.", nothing],
  Retried: ["Event: somebody asked to try a failed revision again.", nothing],
  Undone: ["Event: somebody went back to an earlier revision with rollout undo.", nothing],
  Skipped: [
    "Event: somebody left a cluster or a stage out of this rollout; the message says who and why.",
    nothing,
  ],
  Aborted: [
    "Event: somebody ended the rollout of this revision; the message says who and why.",
    "Change the spec, or: kubectl knfleet rollout retry.",
  ],
  SuspiciousShrink: [
    "The set selects far fewer clusters than before. Nothing is removed until somebody says that this is meant, or the clusters are back.",
    "Put the value that the message names into the annotation `knfleet.dev/accept-selection`, or correct the labels of the ClusterProfiles.",
  ],
  ValueMissing: [
    "The template uses a label or property that the ClusterProfile does not have, and gives no default.",
    "Give the ClusterProfile the label or property, or write `$(cluster.labels[K]:-default)`.",
  ],
  WaitsForSet: [
    "`rollout.after`: the cluster begins when the other set is done there; the message names it.",
    "kubectl knfleet rollout status of the other set.",
  ],
  NotOwned: [
    "The cluster has a component of this kind that the set did not make, and `adoption` does not let the set take it.",
    "Make both specs equal, set `adoption: Always`, or delete the component.",
  ],
  Duplicate: [
    "An older set selects the same cluster.",
    "Change the selection of one of the two sets.",
  ],
  NotPermitted: [
    "Nobody has granted that components of this namespace use the ClusterProfile.",
    "Grant the use, or select other clusters.",
  ],
  Refused: [
    "The hub did not take the component, for example because a webhook refuses the spec; the message says why.",
    "Correct the template or the override for this cluster.",
  ],
  WriteRefused: [
    "The hub does not take what the controller writes for the set: its revision, its status, its own fields, or components. The message has the hub's words. It is also an Event, which is all that can be told when the status is refused.",
    "Raise the quota, give the controller the right, or mend the webhook or policy that the message names; it is tried again by itself.",
  ],
  PlacementNotFound: [
    "No PlacementDecision is there for what `spec.clusters` names. Nothing is stamped, nothing is removed.",
    "Correct `spec.clusters`, or make the Placement.",
  ],
  TooManySets: [
    "The namespace has more sets than the controller rolls out (`--max-sets-per-namespace`), and this one is not among the oldest. Nothing is stamped, nothing is removed.",
    "Delete sets that are not needed, or raise the limit.",
  ],
  PlacementUnavailable: [
    "PlacementDecisions cannot be read on the hub: their CRD or the right is missing. Nothing is stamped, nothing is removed.",
    "Install the CRD, or give the controller the right to list PlacementDecisions.",
  ],
  VersionNotEligible: [
    "The desired version is more than one minor version away from what the cluster has.",
    "Roll out the minor versions one after the other, or give the cluster an override.",
  ],
};
