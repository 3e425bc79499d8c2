import { Option } from "commander";

import type { CommandEntry, CommandGroup } from "../action.ts";

/** The word `migrate` on the command line. */
export const migrateGroup = (): CommandGroup => ({
  name: "migrate",
  summary: "Migrate a hub and its clusters from upstream's operator, or back",
  text: "Commands for a migration between upstream's Knative Operator and knfleet, in both directions. docs/migrate.md describes it.",
  examples: [
    ["kubectl knfleet migrate from-upstream", "the steps, and what is done of them"],
    ["kubectl knfleet migrate from-upstream --apply", "carry them out"],
    ["kubectl knfleet migrate to-upstream", "the way back"],
  ],
});

const text = `Without --apply it reads the hub and its clusters, prints the steps and the state of each, and writes nothing. With --apply it shows the steps, asks once,
and carries them out in order. Each look at the fleet says what is done, so a command that was interrupted goes on where it was when it is run again. Helm is not run: the
exact command is printed, and the command goes on when it sees that it was done. At the end no Deployment may have other pods, and every component that was Ready is Ready
again. Two operators at work at once are refused. --timeout ends the waiting with 124 (default 1h).
The exit code is 0 when nothing is left to do, 1 when steps are to do, 2 when one is blocked, 3 when a cluster could not be read.`;

const options = (): readonly Option[] => [
  new Option("--check", "only show the steps (default)"),
  new Option("--apply", "carry the steps out"),
  new Option("--skip-unread", "go on without the clusters that cannot be read"),
  new Option("--yes", "do not ask"),
];

const needsFleet = "it is about who is at work on the hub now";

/** The commands that begin with `migrate`. */
export const migrateEntries = (): readonly CommandEntry[] => [
  {
    name: "migrate from-upstream",
    args: "",
    summary: "Migrate from upstream's operator to knfleet",
    text: `knfleet takes over what upstream's operator installed, on the hub and on every cluster: stops upstream's operator, waits for knfleet, and removes what is left of upstream's.\n${text}`,
    examples: [
      ["kubectl knfleet migrate from-upstream", "the steps, and what is done of them"],
      ["kubectl knfleet migrate from-upstream --apply", "carry them out, after a question"],
      ["kubectl knfleet migrate from-upstream --apply --yes --timeout 30m", "in a script"],
      ["kubectl knfleet migrate from-upstream -o json", "the steps, for scripts"],
    ],
    options: options(),
    kind: "MigrationPlan",
    ownTimeout: true,
    needsFleet,
    load: async () => (await import("./migrate/migrate-action.ts")).runFromUpstream,
  },
  {
    name: "migrate to-upstream",
    args: "",
    summary: "Migrate from knfleet back to upstream's operator",
    text: `Gives every installation back to upstream's operator: stops knfleet, removes its protection and its labels from every cluster, and waits for upstream's operator.\n${text}`,
    examples: [
      ["kubectl knfleet migrate to-upstream", "the steps, and what is done of them"],
      ["kubectl knfleet migrate to-upstream --apply", "carry them out, after a question"],
    ],
    options: options(),
    kind: "MigrationPlan",
    ownTimeout: true,
    needsFleet,
    load: async () => (await import("./migrate/migrate-action.ts")).runToUpstream,
  },
];
