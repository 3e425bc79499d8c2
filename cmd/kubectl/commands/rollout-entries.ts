import { Option } from "commander";

import type { CommandEntry, CommandGroup } from "../action.ts";

/** The word `rollout` on the command line. */
export const rolloutGroup = (): CommandGroup => ({
  name: "rollout",
  summary: "Show and steer how a fleet set is rolled out",
  text: "What a KnativeServingSet (kss) or a KnativeEventingSet (kes) rolls out, in which stages, and how people steer it. docs/sets.md is about sets.",
  examples: [
    ["kubectl knfleet rollout status kss/prod -n platform -w", "watch a rollout"],
    ["kubectl knfleet rollout plan -f set.yaml", "what a change would do, before it is applied"],
    ["kubectl knfleet rollout approve kss/prod -n platform", "let it go on"],
    ["kubectl knfleet rollout pause kss/prod -n platform", "stop it for now"],
    ["kubectl knfleet rollout undo kss/prod -n platform --apply", "go back"],
  ],
});

/** The commands that begin with `rollout`. */
export const rolloutEntries = (): readonly CommandEntry[] => [
  statusEntry(),
  historyEntry(),
  planEntry(),
  approveEntry(),
  pauseEntry(),
  resumeEntry(),
  retryEntry(),
  undoEntry(),
  acceptSelectionEntry(),
  adoptEntry(),
];

const setText = "A set is kss/NAME or kes/NAME, in the namespace of the context or of -n.";
const needsFleet = "it is about a set of the hub as it is now";

function statusEntry(): CommandEntry {
  return {
    name: "rollout status",
    args: "SET",
    summary: "Show the stages of a rollout, and what it waits for",
    text: `What the set says about its rollout: the phase, what it waits for, the stages, and the clusters that are not well. In a terminal each stage has a\nbar: # done, > changing, ! failed. ${setText}\nThe exit code is 0 when the rollout is complete, 1 when it was halted or rolled back, 3 while it is neither. With -w it goes on until it is one of\nthe two, in a terminal as a picture that is drawn anew, elsewhere as a line for each change; --timeout ends it with 124.`,
    examples: [
      ["kubectl knfleet rollout status kss/prod -n platform", "how it stands"],
      ["kubectl knfleet rollout status kss/prod -n platform -w", "until it is complete or halted"],
      ["kubectl knfleet rollout status kss/prod -w --timeout 2h", "for a pipeline"],
      ["kubectl knfleet rollout status kss/prod -o json", "for scripts"],
    ],
    options: [new Option("-w, --watch", "go on until it is complete or has failed")],
    kind: "RolloutStatus",
    completes: "sets",
    ownTimeout: true,
    readsBundles: true,
    load: async () => (await import("./rollout/status-action.ts")).runRolloutStatus,
  };
}

const dryRunOption = (): Option =>
  new Option("--dry-run", "let the hub check the change, but write nothing");
const annotates = "Only an annotation of the set is written.";

function approveEntry(): CommandEntry {
  return {
    name: "rollout approve",
    args: "SET",
    summary: "Approve that a rollout goes on",
    text: `Approves the gate that the rollout waits for, or the one that the flags name, in your name and for the revision that is rolled out now: a later revision needs\nanother approval. ${annotates} It needs the right to patch the set, and with the webhook the verb approve.\nThe exit code is 1 when there is no such gate. ${setText}`,
    examples: [
      ["kubectl knfleet rollout approve kss/prod -n platform", "what it waits for now"],
      ["kubectl knfleet rollout approve kss/prod --stage rest --before", "one gate, also early"],
      ["kubectl knfleet rollout approve kss/prod --dry-run", "whether you may"],
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
    summary: "Stop a rollout for now",
    text: `Nothing new begins until the rollout is resumed; clusters that are changing go on. ${annotates} GitOps, which keeps the\nspec, does not undo it; --reason says why, for people. ${setText}`,
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
    summary: "Let a paused rollout go on",
    text: `Takes away the annotation that pause has written. The exit code is 1 when spec.rollout.paused keeps the rollout paused: that is changed where the spec\nis kept. ${setText}`,
    examples: [["kubectl knfleet rollout resume kss/prod -n platform", "go on"]],
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
    summary: "Try a revision again that failed",
    text: `Clusters that failed are tried again, also when the revision was given up by a rollback. ${annotates} The exit code is 1 when\nno cluster failed. ${setText}`,
    examples: [["kubectl knfleet rollout retry kss/prod -n platform", "after the cause is mended"]],
    options: [dryRunOption()],
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/steer-action.ts")).runRetry,
  };
}

function acceptSelectionEntry(): CommandEntry {
  return {
    name: "rollout accept-selection",
    args: "SET",
    summary: "Let a set give up many clusters at once",
    text: `A selection that loses many clusters at once removes nothing until somebody accepts it. This accepts the selection that condition Selected names, and no other one.\n${annotates} ${setText}`,
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
    text: `The revisions that the hub keeps of a set (spec.revisionHistoryLimit), the newest rollout last: update is rolled out now, current passed all stages last, completed did so\nonce, failed was given up by a rollback. --revision prints the template and the overrides of one. ${setText}`,
    examples: [
      ["kubectl knfleet rollout history kss/prod -n platform", "all of them"],
      ["kubectl knfleet rollout history kss/prod --revision prod-6d4f9c01ab", "what is in one"],
    ],
    options: [
      new Option("--revision <revision>", "print the content of this revision; name or number"),
    ],
    kind: "RolloutHistory",
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
    text: `Prints the set with the template and the overrides of the revision that was completed last before the one that it wants now, or of the one that is named.\n--apply writes these two fields, unless the set was changed in the meantime; the set then rolls the revision out in its stages, as any other. Where GitOps keeps the\nset, write it there. The exit code is 1 when there is no such revision. ${setText}`,
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
    text: `For each cluster of a set, or of a set in a file that need not be on the hub: its stage, what would become of its component, from which version to which, and what\nis in the way: a version step that is not allowed, a value that the ClusterProfile does not give, another set or component. Gates and limits decide when; they are left\nout. relabel is a component whose spec stays as it is. Nothing is written. ${setText}\nThe exit code is 0 when nothing would change, 1 when something would or a cluster is blocked, 3 when not everything could be read.`,
    examples: [
      ["kubectl knfleet rollout plan -f set.yaml", "before kubectl apply"],
      ["kubectl knfleet rollout plan kss/prod -n platform", "the set that the hub has"],
      ["kubectl knfleet rollout plan -f set.yaml -o json", "for scripts"],
    ],
    options: [new Option("-f, --filename <file>", "file with a fleet set, - for standard input")],
    kind: "RolloutPlan",
    completes: "sets",
    needsFleet,
    load: async () => (await import("./rollout/plan-action.ts")).runRolloutPlan,
  };
}

function adoptEntry(): CommandEntry {
  return {
    name: "rollout adopt",
    args: "ks|ke",
    summary: "Print a set that takes over components that exist",
    text: `Prints a set for the components of one type in a namespace, which -l, --cluster and --on narrow: the template has what more than half of them share, overrides have\nthe rest, by names of clusters, so that every cluster keeps exactly what it has. ClusterProfiles of the same namespaces without such a component are excluded. Nothing is\nwritten. What a set cannot express is told; the exit code is 3 then, and 1 when there are no components.`,
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
