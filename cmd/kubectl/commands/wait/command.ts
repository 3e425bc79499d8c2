import { timedOutText } from "../../exit-codes.ts";
import { filenameFlag, parsed, worded } from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";
import { parseDurationMs } from "../../output/duration.ts";

/** `wait`: until installations or fleet sets are as they should be. */
export const wait = command({
  name: "wait",
  args: {
    usage: "[TYPE[/NAME] | NAME...] --for=CONDITION",
    completes: "waitedFor",
    selects: true,
  },
  summary: "Wait until installations or fleet sets are as they should be",
  text: "Waits for the hub's word about the selected installations: ready (condition Ready of the latest spec), resolved\n(TargetClusterResolved), version=1.22 (ready, and of that version), deleted. What cannot become true without somebody's help, such\nas a ClusterProfile that does not exist, ends the waiting at once with code 1, unless --no-fail-fast is given. A name that does not exist\nyet is waited for; one that is deleted while it is waited for has failed. --timeout 0 looks once, and less than nothing is a week.\nOf fleet sets (kss/NAME, kes/NAME): complete (condition Complete of the latest spec) or stage=NAME (that stage was passed). A rollout that is halted or rolled\nback ends the waiting with code 1.",
  exits: {
    1: "it cannot become true without help, or a rollout is halted or rolled back",
    124: timedOutText,
  },
  examples: [
    ["kubectl knfleet wait ks/knative-serving --for=ready", "one installation"],
    [
      "kubectl knfleet wait ks -A --for=version=1.22 --min 95% --timeout 30m",
      "an upgrade of the fleet",
    ],
    ["kubectl knfleet wait ks/knative-serving --for=deleted", "a removal"],
    ["kubectl knfleet wait kss/prod --for=complete --timeout 2h", "a rollout of a fleet set"],
    ["kubectl knfleet wait kss/prod --for=stage=canary", "its first stage"],
  ],
  options: {
    filename: filenameFlag(),
    for: worded(
      "--for <condition>",
      "ready|resolved|deleted|version=VERSION (default ready); of sets complete|stage=NAME (default complete); kubectl's condition=Ready, too",
    ),
    min: worded(
      "--min <count>",
      "so many of them, or so many percent (default 100%); more than there are wait for others",
    ),
    stable: parsed(
      "--stable <duration>",
      "it has to stay true for so long (default: it is enough to be true once)",
      parseDurationMs,
    ),
  },
  document: "Wait",
  reachesSpokes: false,
  ownTimeout: true,
  needsFleet: "a bundle does not change",
  run: async (fleet, options) => (await import("./wait-report.ts")).waitForGoal(fleet, options),
});
