import { Option } from "commander";

import type { CommandEntry, CommandGroup } from "../action.ts";
import { toolSchema } from "../main/tool-arguments.ts";
import { rolloutVerify } from "./rollout/verify-command.ts";

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

/** The commands that begin with `rollout`. */
export const rolloutEntries = (): readonly CommandEntry[] => [
  statusEntry(),
  historyEntry(),
  planEntry(),
  rolloutVerify,
  approveEntry(),
  pauseEntry(),
  resumeEntry(),
  retryEntry(),
  skipEntry(),
  abortEntry(),
  undoEntry(),
  acceptSelectionEntry(),
  adoptEntry(),
];

const setText = "A set is kss/NAME or kes/NAME, in the namespace of the context or of -n.";
const ofSet = ["set", "namespace"] as const;
const needsFleet = "it is about a set of the hub as it is now";

function statusEntry(): CommandEntry {
  return {
    name: "rollout status",
    args: "SET",
    summary: "Show the stages of a rollout, and what it waits for",
    text: `Shows the phase of the rollout, what it waits for, the stages, and the clusters that need attention. In a terminal each stage has a\nbar: # done, > changing, ! failed. ${setText}\nThe exit code is 0 when the rollout is complete, 1 when it was halted or rolled back, 3 while it is neither. -w waits until it is complete or has\nfailed; it redraws the table in a terminal, and prints a line for each change elsewhere. --timeout ends it with 124.`,
    examples: [
      ["kubectl knfleet rollout status kss/prod -n platform", "its state now"],
      ["kubectl knfleet rollout status kss/prod -n platform -w", "until it is complete or halted"],
      ["kubectl knfleet rollout status kss/prod -w --timeout 2h", "for a pipeline"],
      ["kubectl knfleet rollout status kss/prod -o json", "for scripts"],
    ],
    options: [new Option("-w, --watch", "go on until it is complete or has failed")],
    kind: "RolloutStatus",
    tool: toolSchema(ofSet, ofSet),
    completes: "sets",
    ownTimeout: true,
    readsBundles: true,
    load: async () => (await import("./rollout/status-action.ts")).runRolloutStatus,
  };
}

const dryRunOption = (): Option =>
  new Option("--dry-run", "let the hub check the change, but write nothing");
const annotates = "Only annotations of the set are written.";

function approveEntry(): CommandEntry {
  return {
    name: "rollout approve",
    args: "SET",
    summary: "Approve a stage of a rollout",
    text: `Approves the gate for which the rollout waits, or the gate of the flags. The approval has your name and is for the revision that is rolled out now; a later\nrevision needs another one. ${annotates} It needs the right to patch the set, and with the webhook the verb approve on it.\nThe exit code is 1 when there is no such gate. ${setText}`,
    examples: [
      ["kubectl knfleet rollout approve kss/prod -n platform", "the gate for which it waits"],
      ["kubectl knfleet rollout approve kss/prod --stage rest --before", "a gate, also in advance"],
      ["kubectl knfleet rollout approve kss/prod --dry-run", "check whether you may"],
    ],
    options: [
      new Option("--stage <name>", "stage of the gate"),
      new Option("--before", "the gate before the stage begins"),
      new Option("--after", "the gate at the end of the stage"),
      dryRunOption(),
    ],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runApprove,
  };
}

function pauseEntry(): CommandEntry {
  return {
    name: "rollout pause",
    args: "SET",
    summary: "Pause a rollout",
    text: `No further cluster starts until the rollout is resumed; changes in progress continue. ${annotates} GitOps tools, which manage the\nspec, do not revert it. --reason says why, for people. ${setText}`,
    examples: [
      ['kubectl knfleet rollout pause kss/prod -n platform --reason "incident 7"', "and say why"],
    ],
    options: [
      new Option("--reason <text>", "why, for people (default: who paused it)"),
      dryRunOption(),
    ],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runPause,
  };
}

function resumeEntry(): CommandEntry {
  return {
    name: "rollout resume",
    args: "SET",
    summary: "Resume a paused rollout",
    text: `Removes the annotation that pause has written. The exit code is 1 when spec.rollout.paused is true: change that where the spec of the set is\nmanaged. ${setText}`,
    examples: [["kubectl knfleet rollout resume kss/prod -n platform", "continue"]],
    options: [dryRunOption()],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runResume,
  };
}

function retryEntry(): CommandEntry {
  return {
    name: "rollout retry",
    args: "SET",
    summary: "Retry a failed revision",
    text: `Tries failed clusters again, also after a rollback gave up the revision. ${annotates} The exit code is 1 when\nno cluster failed. ${setText}`,
    examples: [
      ["kubectl knfleet rollout retry kss/prod -n platform", "after the cause is removed"],
    ],
    options: [dryRunOption()],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runRetry,
  };
}

function skipEntry(): CommandEntry {
  return {
    name: "rollout skip",
    args: "SET",
    summary: "Leave a cluster or a stage out of a rollout",
    text: `The rollout of this revision goes on without the cluster or the stage: it is neither stamped nor waited for, and keeps what it has. The next revision includes it again.\n${annotates} It needs the right to patch the set, and with the webhook the verb approve on it. The reason is kept in the record of the revision (rollout history). ${setText}`,
    examples: [
      [
        'kubectl knfleet rollout skip kss/prod --cluster fleet/eu-17 --reason "broken disk"',
        "a cluster",
      ],
      ['kubectl knfleet rollout skip kss/prod --stage early --reason "holidays"', "a stage"],
    ],
    options: [
      new Option("--cluster <cluster>", "the ClusterProfile, [NAMESPACE/]NAME"),
      new Option("--stage <name>", "the stage"),
      new Option("--reason <text>", "why, for people; required"),
      dryRunOption(),
    ],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runSkip,
  };
}

function abortEntry(): CommandEntry {
  return {
    name: "rollout abort",
    args: "SET",
    summary: "End a rollout that is not complete",
    text: `No further cluster gets the revision. The rollout is Halted, and spec.rollout.onFailure decides as after a failure: Pause leaves every cluster as it is, Rollback takes the\nchanged ones back. A new revision begins as usual, and rollout retry goes on. ${annotates} The reason is kept in the record of the revision (rollout history). ${setText}`,
    examples: [
      ['kubectl knfleet rollout abort kss/prod -n platform --reason "wrong registry"', "end it"],
    ],
    options: [new Option("--reason <text>", "why, for people; required"), dryRunOption()],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runAbort,
  };
}

function acceptSelectionEntry(): CommandEntry {
  return {
    name: "rollout accept-selection",
    args: "SET",
    summary: "Let a set lose many clusters at once",
    text: `When a selection loses many clusters at once, no component is removed until somebody accepts the selection. Accepts only the one that condition Selected names.\n${annotates} ${setText}`,
    examples: [
      [
        "kubectl knfleet rollout accept-selection kss/prod -n platform",
        "the clusters are really gone",
      ],
    ],
    options: [dryRunOption()],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runAcceptSelection,
  };
}

function historyEntry(): CommandEntry {
  return {
    name: "rollout history",
    args: "SET",
    summary: "List the revisions of a set",
    text: `Lists the revisions of a set that the hub keeps (spec.revisionHistoryLimit), the newest rollout last. Marks: update is rolled out now, current passed all stages last,\ncompleted passed all stages once, failed was given up by a rollback. Below it tells what happened to them, at most 50 entries a revision: begin, complete, halt,\nrollback and supersede (another revision began), and who approved, paused, resumed, retried, skipped, aborted or went back (undo), and why. --revision prints the template and the overrides of one revision. ${setText}`,
    examples: [
      ["kubectl knfleet rollout history kss/prod -n platform", "all of them"],
      ["kubectl knfleet rollout history kss/prod --revision prod-6d4f9c01ab", "the content of one"],
    ],
    options: [
      new Option("--revision <revision>", "print the content of this revision; name or number"),
    ],
    kind: "RolloutHistory",
    tool: toolSchema([...ofSet, "revision"], ofSet),
    completes: "sets",
    readsBundles: true,
    load: async () => (await import("./rollout/history-action.ts")).runHistory,
  };
}

function undoEntry(): CommandEntry {
  return {
    name: "rollout undo",
    args: "SET",
    summary: "Go back to an earlier revision",
    text: `Prints the set with the template and the overrides of an earlier revision: the last completed one before that of the spec, or the one of --to-revision.\n--apply writes these two fields, unless the set was changed in the meantime; the set then rolls them out in its stages, like any change. Where GitOps manages the\nset, commit the printed set there. The exit code is 1 when there is no such revision. ${setText}`,
    examples: [
      ["kubectl knfleet rollout undo kss/prod -n platform", "print the set"],
      [
        "kubectl knfleet rollout undo kss/prod | kubectl knfleet rollout plan -f -",
        "what it would do",
      ],
      ["kubectl knfleet rollout undo kss/prod --to-revision 3 --apply", "go back to it"],
    ],
    options: [
      new Option("--to-revision <revision>", "the revision; name or number"),
      new Option("--apply", "write it"),
      dryRunOption(),
    ],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/undo-action.ts")).runUndo,
  };
}

function planEntry(): CommandEntry {
  return {
    name: "rollout plan",
    args: "[SET] [-f FILE]",
    summary: "Show what a rollout would do with each cluster, before it begins",
    text: `Shows for each cluster of a set on the hub or in a file: its stage, what the rollout would do with its component, from which version to which, and what blocks\nit: a version step that is not allowed, a missing value of the ClusterProfile, another set or component. Ignores gates and limits, which only decide when. relabel\nis for a component that gets nothing else. With -f the hub checks the set as it would when it is applied, with its schema and webhooks. Nothing is written. ${setText}\nThe checks of rollout.verify are asked once of the clusters as they are, so that a wrong query is found before the rollout; --no-checks leaves that, and then no cluster is\nreached. A Job of a check is not run. The exit code is 0 when nothing would change, 1 when something would, a cluster is blocked or a check is answered badly, 3 when not everything could be read.`,
    examples: [
      ["kubectl knfleet rollout plan -f set.yaml", "before kubectl apply"],
      ["kubectl knfleet rollout plan kss/prod -n platform", "the set on the hub"],
      ["kubectl knfleet rollout plan -f set.yaml -o json", "for scripts"],
    ],
    options: [
      new Option("-f, --filename <file>", "file with a fleet set, - for standard input"),
      new Option("--no-checks", "do not ask the checks of the set: no cluster is reached"),
    ],
    kind: "RolloutPlan",
    tool: toolSchema(ofSet, ofSet),
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/plan-action.ts")).runRolloutPlan,
  };
}

function adoptEntry(): CommandEntry {
  return {
    name: "rollout adopt",
    args: "ks|ke",
    summary: "Print a set that adopts existing components",
    text: `Prints a set for the components of one type in a namespace; -l, --cluster and --on select some of them. The template has the fields that more than half of them share,\nand overrides by cluster name have the rest, so that no cluster changes. ClusterProfiles of the same namespaces without such a component are excluded. Nothing is\nwritten. Warns of components that the set cannot adopt; the exit code is 3 then, and 1 when\nthere are no components, or the set can adopt none of them.`,
    examples: [
      ["kubectl knfleet rollout adopt ks -n platform > set.yaml", "all of Knative Serving"],
      ["kubectl knfleet rollout adopt ks -n platform -l env=prod --name prod", "part of it"],
      [
        "kubectl knfleet rollout adopt ke | kubectl knfleet rollout plan -f -",
        "check what it does",
      ],
    ],
    options: [new Option("--name <name>", "name of the set (default fleet)")],
    completes: "components",
    needsFleet,
    load: async () => (await import("./rollout/adopt-action.ts")).runAdopt,
  };
}
