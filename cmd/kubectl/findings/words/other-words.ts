import type { WorkloadState } from "../../../../installation/readiness.ts";
import type { ChangeKind } from "../../compare/compare.ts";
import type { PlannedChange } from "../../compare/plan-item.ts";
import type { HubState } from "../../hub/installations.ts";
import type { PlanAction } from "../../hub/rollout-plan.ts";
import type { LiveState } from "../../spokes/live-view.ts";
import type { HopState } from "../hops/hop.ts";
import { orphanFindings } from "../orphan-findings.ts";
import { componentConditions, componentReasons, profileWords } from "./component-words.ts";
import { foreignWords } from "./kubernetes-words.ts";
import type { SetWords } from "./set-words.ts";

const wait = "Wait.";
const nothing = "Nothing.";
const diagnose = "kubectl knfleet diagnose.";

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
  Ready: ["All workloads of the installation are available on the cluster.", nothing],
  ScaledToZero: ["Somebody scaled workloads of the installation to zero.", diagnose],
  InProgress: ["A rollout of workloads goes on within its deadline.", wait],
  NotAvailable: ["Workloads of the installation are not available, or missing.", diagnose],
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

/** States of a Deployment, StatefulSet or DaemonSet. */
export const deploymentStates: SetWords<WorkloadState> = {
  available: ["The latest change is rolled out, and enough pods are available.", nothing],
  scaledToZero: ["Somebody scaled it to zero.", diagnose],
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
