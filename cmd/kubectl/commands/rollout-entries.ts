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
export const rolloutEntries = (): readonly CommandEntry[] => [statusEntry()];

const setText = "A set is kss/NAME or kes/NAME, in the namespace of the context or of -n.";
const needsFleet = "a bundle has no fleet sets";

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
    needsFleet,
    load: async () => (await import("./rollout/status-action.ts")).runRolloutStatus,
  };
}
