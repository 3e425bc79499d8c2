import { toggle, worded } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { oneSet, setNeedsFleet, setText } from "./set-argument.ts";

const annotates = "Only annotations of the set are written.";
const dryRun = toggle("--dry-run", "let the hub check the change, but write nothing");
// All commands have a flag of this name, too. The parser puts the value there: `fleet.flags.reason`.
const requiredReason = worded("--reason <text>", "why, for people; required");
const steers = {
  exits: { 1: "there is no such set, or it is in a state in which this cannot be done" },
  reachesSpokes: false,
  needsFleet: setNeedsFleet,
} as const;

/** `rollout approve`: approves a stage. */
export const rolloutApprove = command({
  name: "rollout approve",
  args: oneSet,
  summary: "Approve a stage of a rollout",
  text: `Approves the gate for which the rollout waits, or the gate of the flags. The approval has your name and is for the revision that is rolled out now; a later\nrevision needs another one. ${annotates} It needs the right to patch the set, and with the webhook the verb approve on it. ${setText}`,
  examples: [
    ["kubectl knfleet rollout approve kss/prod -n platform", "the gate for which it waits"],
    ["kubectl knfleet rollout approve kss/prod --stage rest --before", "a gate, also in advance"],
    ["kubectl knfleet rollout approve kss/prod --dry-run", "check whether you may"],
  ],
  options: {
    stage: worded("--stage <name>", "stage of the gate"),
    before: toggle("--before", "the gate before the stage begins"),
    after: toggle("--after", "the gate at the end of the stage"),
    dryRun,
  },
  ...steers,
  exits: { 1: "there is no such set, or no such gate" },
  run: async (fleet, options) => (await import("./steer.ts")).approveStage(fleet, options),
});

/** `rollout pause`: no further cluster starts. */
export const rolloutPause = command({
  name: "rollout pause",
  args: oneSet,
  summary: "Pause a rollout",
  text: `No further cluster starts until the rollout is resumed; changes in progress continue. ${annotates} GitOps tools, which manage the\nspec, do not revert it. --reason says why, for people. ${setText}`,
  examples: [
    ['kubectl knfleet rollout pause kss/prod -n platform --reason "incident 7"', "and say why"],
  ],
  options: {
    reason: worded("--reason <text>", "why, for people (default: who paused it)"),
    dryRun,
  },
  ...steers,
  run: async (fleet, options) => (await import("./steer.ts")).pauseRollout(fleet, options),
});

/** `rollout resume`: takes back a pause. */
export const rolloutResume = command({
  name: "rollout resume",
  args: oneSet,
  summary: "Resume a paused rollout",
  text: `Removes the annotation that pause has written. ${setText}`,
  examples: [["kubectl knfleet rollout resume kss/prod -n platform", "continue"]],
  options: { dryRun },
  ...steers,
  exits: {
    1: "there is no such set, or spec.rollout.paused is true: change that where the spec of the set is managed",
  },
  run: async (fleet, options) => (await import("./steer.ts")).resumeRollout(fleet, options),
});

/** `rollout retry`: tries a failed revision again. */
export const rolloutRetry = command({
  name: "rollout retry",
  args: oneSet,
  summary: "Retry a failed revision",
  text: `Tries failed clusters again, also after a rollback gave up the revision. ${annotates} ${setText}`,
  examples: [["kubectl knfleet rollout retry kss/prod -n platform", "after the cause is removed"]],
  options: { dryRun },
  ...steers,
  exits: { 1: "there is no such set, or no cluster failed" },
  run: async (fleet, options) => (await import("./steer.ts")).retryRevision(fleet, options),
});

/** `rollout skip`: leaves a cluster or a stage out. */
export const rolloutSkip = command({
  name: "rollout skip",
  args: oneSet,
  summary: "Leave a cluster or a stage out of a rollout",
  text: `The rollout of this revision goes on without the cluster or the stage: it is neither stamped nor waited for, and keeps what it has. The next revision includes it again.\n${annotates} It needs the right to patch the set, and with the webhook the verb approve on it. The reason is kept in the record of the revision (rollout history). ${setText}`,
  examples: [
    [
      'kubectl knfleet rollout skip kss/prod --cluster fleet/eu-17 --reason "broken disk"',
      "a cluster",
    ],
    ['kubectl knfleet rollout skip kss/prod --stage early --reason "holidays"', "a stage"],
  ],
  options: {
    cluster: worded("--cluster <cluster>", "the ClusterProfile, [NAMESPACE/]NAME"),
    stage: worded("--stage <name>", "the stage"),
    reason: requiredReason,
    dryRun,
  },
  ...steers,
  run: async (fleet, options) => (await import("./steer.ts")).skipPart(fleet, options),
});

/** `rollout abort`: ends a rollout that is not complete. */
export const rolloutAbort = command({
  name: "rollout abort",
  args: oneSet,
  summary: "End a rollout that is not complete",
  text: `No further cluster gets the revision. The rollout is Halted, and spec.rollout.onFailure decides as after a failure: Pause leaves every cluster as it is, Rollback takes the\nchanged ones back. A new revision begins as usual, and rollout retry goes on. ${annotates} The reason is kept in the record of the revision (rollout history). ${setText}`,
  examples: [
    ['kubectl knfleet rollout abort kss/prod -n platform --reason "wrong registry"', "end it"],
  ],
  options: { reason: requiredReason, dryRun },
  ...steers,
  run: async (fleet, options) => (await import("./steer.ts")).abortRollout(fleet, options),
});

/** `rollout undo`: goes back to an earlier revision. */
export const rolloutUndo = command({
  name: "rollout undo",
  args: oneSet,
  summary: "Go back to an earlier revision",
  text: `Prints the set with the template and the overrides of an earlier revision: the last completed one before that of the spec, or the one of --to-revision.\n--apply writes these two fields, unless the set was changed in the meantime; the set then rolls them out in its stages, like any change. Where GitOps manages the\nset, commit the printed set there. ${setText}`,
  examples: [
    ["kubectl knfleet rollout undo kss/prod -n platform", "print the set"],
    [
      "kubectl knfleet rollout undo kss/prod | kubectl knfleet rollout plan -f -",
      "what it would do",
    ],
    ["kubectl knfleet rollout undo kss/prod --to-revision 3 --apply", "go back to it"],
  ],
  options: {
    toRevision: worded("--to-revision <revision>", "the revision; name or number"),
    apply: toggle("--apply", "write it"),
    dryRun,
  },
  ...steers,
  exits: { 1: "there is no such set, or no such revision" },
  run: async (fleet, options) => (await import("./undo.ts")).undoRollout(fleet, options),
});

/** `rollout accept-selection`: lets a set lose many clusters at once. */
export const rolloutAcceptSelection = command({
  name: "rollout accept-selection",
  args: oneSet,
  summary: "Let a set lose many clusters at once",
  text: `When a selection loses many clusters at once, no component is removed until somebody accepts the selection. Accepts only the one that condition Selected names.\n${annotates} ${setText}`,
  examples: [
    [
      "kubectl knfleet rollout accept-selection kss/prod -n platform",
      "the clusters are really gone",
    ],
  ],
  options: { dryRun },
  ...steers,
  run: async (fleet, options) => (await import("./steer.ts")).acceptShrink(fleet, options),
});

/** `rollout adopt`: a set for existing components. */
export const rolloutAdopt = command({
  name: "rollout adopt",
  args: { usage: "ks|ke", completes: "components", selects: true },
  summary: "Print a set that adopts existing components",
  text: `Prints a set for the components of one type in a namespace; -l, --cluster and --on select some of them. The template has the fields that more than half of them share,\nand overrides by cluster name have the rest, so that no cluster changes. ClusterProfiles of the same namespaces without such a component are excluded. Nothing is\nwritten. Warns of components that the set cannot adopt.`,
  examples: [
    ["kubectl knfleet rollout adopt ks -n platform > set.yaml", "all of Knative Serving"],
    ["kubectl knfleet rollout adopt ks -n platform -l env=prod --name prod", "part of it"],
    ["kubectl knfleet rollout adopt ke | kubectl knfleet rollout plan -f -", "check what it does"],
  ],
  options: { name: worded("--name <name>", "name of the set (default fleet)") },
  ...steers,
  exits: {
    1: "there are no components, or the set can adopt none of them",
    3: "there are components that the set cannot adopt",
  },
  run: async (fleet, { name }) => (await import("./adopt.ts")).adoptComponents(fleet, name),
});
