import type { CommandGroup } from "../../action.ts";
import { timedOutText, timeoutText } from "../../exit-codes.ts";
import { forTools, toggle, turnedOff, worded } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { oneSet, setNeedsFleet, setText } from "./set-argument.ts";

/** The word `rollout` on the command line. */
export const rolloutGroup = (): CommandGroup => ({
  name: "rollout",
  summary: "Show and steer the rollout of a fleet set",
  text: "Commands for the rollout of a KnativeServingSet (kss) or a KnativeEventingSet (kes). docs/sets.md describes sets.",
  examples: [
    ["kubectl knfleet rollout status kss/prod -n platform -w", "watch a rollout"],
    ["kubectl knfleet rollout plan -f set.yaml", "what a change would do, before it is applied"],
    ["kubectl knfleet rollout approve kss/prod -n platform", "approve a stage"],
    ["kubectl knfleet rollout pause kss/prod -n platform", "stop it for now"],
    ["kubectl knfleet rollout undo kss/prod -n platform --apply", "go back"],
  ],
});

/** `rollout status`: the stages of a rollout, and what it waits for. */
export const rolloutStatus = command({
  name: "rollout status",
  args: oneSet,
  summary: "Show the stages of a rollout, and what it waits for",
  text: `Shows the phase of the rollout, what it waits for, the stages, and the clusters that need attention. In a terminal each stage has a\nbar: # done, > changing, ! failed. ${setText}\n-w waits until it is complete or has failed; it redraws the table in a terminal, and prints a line for each change elsewhere. ${timeoutText("it")}.`,
  exits: {
    0: "the rollout is complete",
    1: "it was halted or rolled back, no controller works for it, or there is no such set",
    3: "it is neither complete nor failed",
    124: timedOutText,
  },
  examples: [
    ["kubectl knfleet rollout status kss/prod -n platform", "its state now"],
    ["kubectl knfleet rollout status kss/prod -n platform -w", "until it is complete or halted"],
    ["kubectl knfleet rollout status kss/prod -w --timeout 2h", "for a pipeline"],
    ["kubectl knfleet rollout status kss/prod -o json", "for scripts"],
  ],
  options: { watch: toggle("-w, --watch", "go on until it is complete or has failed") },
  document: "RolloutStatus",
  tool: ["namespace"],
  reachesSpokes: false,
  ownTimeout: true,
  run: async (fleet, { watch }, talk) =>
    (await import("./status.ts")).showRollout(fleet, watch, talk),
});

/** `rollout history`: the revisions of a set. */
export const rolloutHistory = command({
  name: "rollout history",
  args: oneSet,
  summary: "List the revisions of a set",
  text: `Lists the revisions of a set that the hub keeps (spec.revisionHistoryLimit), the newest rollout last. Marks: update is rolled out now, current passed all stages last,\ncompleted passed all stages once, failed was given up by a rollback. Below it tells what happened to them, at most 50 entries a revision: begin, complete, halt,\nrollback and supersede (another revision began), and who approved, paused, resumed, retried, skipped, aborted or went back (undo), and why. --revision prints the template and the overrides of one revision. ${setText}`,
  examples: [
    ["kubectl knfleet rollout history kss/prod -n platform", "all of them"],
    ["kubectl knfleet rollout history kss/prod --revision prod-6d4f9c01ab", "the content of one"],
  ],
  options: {
    revision: forTools(
      worded("--revision <revision>", "print the content of this revision; name or number"),
      "Name or number of one revision, for its content",
    ),
  },
  document: "RolloutHistory",
  tool: ["namespace"],
  reachesSpokes: false,
  run: async (fleet, { revision }) => (await import("./history.ts")).listHistory(fleet, revision),
});

/** `rollout plan`: what a rollout would do with each cluster. */
export const rolloutPlan = command({
  name: "rollout plan",
  args: { ...oneSet, usage: "[SET] [-f FILE]" },
  summary: "Show what a rollout would do with each cluster, before it begins",
  text: `Shows for each cluster of a set on the hub or in a file: its stage, what the rollout would do with its component, from which version to which, and what blocks\nit: a version step that is not allowed, a missing value of the ClusterProfile, another set or component. Ignores gates and limits, which only decide when. relabel\nis for a component that gets nothing else. With -f the hub checks the set as it would when it is applied, with its schema and webhooks. Nothing is written. ${setText}\nThe checks of rollout.verify are asked once of the clusters as they are, so that a wrong query is found before the rollout; --no-checks leaves that, and then no cluster is\nreached. A Job of a check is not run.`,
  exits: {
    0: "nothing would change",
    1: "something would change, a cluster is blocked, a check has a bad answer, or there is no such set",
    3: "not everything could be read",
  },
  examples: [
    ["kubectl knfleet rollout plan -f set.yaml", "before kubectl apply"],
    ["kubectl knfleet rollout plan kss/prod -n platform", "the set on the hub"],
    ["kubectl knfleet rollout plan -f set.yaml -o json", "for scripts"],
  ],
  options: {
    filename: worded("-f, --filename <file>", "file with a fleet set, - for standard input"),
    // The checks are all that reaches clusters.
    live: turnedOff("--no-checks", "do not ask the checks of the set: no cluster is reached"),
  },
  document: "RolloutPlan",
  tool: ["namespace"],
  needsFleet: setNeedsFleet,
  run: async (fleet, options) => (await import("./plan.ts")).planOfSet(fleet, options),
});

/** `rollout verify`: asks the checks of a set now. */
export const rolloutVerify = command({
  name: "rollout verify",
  args: oneSet,
  summary: "Ask the checks of a set now",
  text: `Asks each cluster of a set the checks of its stage (rollout.verify) once, from this machine and by the credential path of the clusters. --on and --cluster ask some of\nthem. A workload counts as newly broken when it broke since the set last changed its cluster; where the set has changed nothing yet, none counts. The rollout is not\ntouched, and how long an answer has to be good does not matter. No Job is run: it says how the Job ended that the rollout ran.\n${setText}`,
  exits: {
    0: "every answer is good",
    1: "an answer is bad, or there is no such set",
    3: "a check could not be asked",
  },
  examples: [
    ["kubectl knfleet rollout verify kss/prod -n platform", "all clusters of the set"],
    ["kubectl knfleet rollout verify kss/prod --on ring=0", "some clusters"],
    ["kubectl knfleet rollout verify kss/prod --stage canary -o json", "one stage, for scripts"],
  ],
  options: {
    stage: forTools(
      worded("--stage <name>", "only the clusters of this stage"),
      "Only the clusters of this stage of the set",
    ),
  },
  document: "RolloutVerification",
  tool: ["namespace", "cluster", "on"],
  needsFleet: "checks are asked of the clusters as they are now",
  run: async (fleet, { stage }) =>
    (await import("./verify-rollout.ts")).verifyRollout(fleet, stage),
});
