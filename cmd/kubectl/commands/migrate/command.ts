import type { CommandGroup } from "../../action.ts";
import { timeoutText } from "../../exit-codes.ts";
import { agreementFlag, toggle } from "../../main/command-flags.ts";
import { command, noArguments } from "../../main/command.ts";

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
again. Two operators at work at once are refused. ${timeoutText("the waiting")} (default 1h).`;

const common = {
  args: noArguments,
  options: {
    check: toggle("--check", "only show the steps (default)"),
    apply: toggle("--apply", "carry the steps out"),
    skipUnread: toggle("--skip-unread", "go on without the clusters that cannot be read"),
    yes: agreementFlag(),
  },
  exits: {
    0: "nothing is left to do",
    1: "steps are to do",
    2: "a step is blocked, or the command could not do its work",
    3: "a cluster could not be read",
    124: "with --apply: the time was over; the same command goes on later",
  },
  document: "MigrationPlan",
  ownTimeout: true,
  needsFleet: "it is about who is at work on the hub now",
} as const;

/** `migrate from-upstream`: from upstream's operator to knfleet. */
export const fromUpstream = command({
  ...common,
  name: "migrate from-upstream",
  summary: "Migrate from upstream's operator to knfleet",
  text: `knfleet takes over what upstream's operator installed, on the hub and on every cluster: stops upstream's operator, waits for knfleet, and removes what is left of upstream's.\n${text}`,
  examples: [
    ["kubectl knfleet migrate from-upstream", "the steps, and what is done of them"],
    ["kubectl knfleet migrate from-upstream --apply", "carry them out, after a question"],
    ["kubectl knfleet migrate from-upstream --apply --yes --timeout 30m", "in a script"],
    ["kubectl knfleet migrate from-upstream -o json", "the steps, for scripts"],
  ],
  run: async (fleet, options, talk) =>
    (await import("./migrate.ts")).migrate("from-upstream", options, fleet, talk),
});

/** `migrate to-upstream`: the way back. */
export const toUpstream = command({
  ...common,
  name: "migrate to-upstream",
  summary: "Migrate from knfleet back to upstream's operator",
  text: `Gives every installation back to upstream's operator: stops knfleet, removes its protection and its labels from every cluster, and waits for upstream's operator.\n${text}`,
  examples: [
    ["kubectl knfleet migrate to-upstream", "the steps, and what is done of them"],
    ["kubectl knfleet migrate to-upstream --apply", "carry them out, after a question"],
  ],
  run: async (fleet, options, talk) =>
    (await import("./migrate.ts")).migrate("to-upstream", options, fleet, talk),
});
