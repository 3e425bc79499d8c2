import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { filenameOption } from "../../selection/filename-option.ts";

/** `wait` on the command line. */
export function waitEntry(): CommandEntry {
  return {
    name: "wait",
    args: "[TYPE[/NAME] | NAME...] --for=CONDITION",
    summary: "Wait until installations are ready, resolved, deleted or of a version",
    text: "Waits for the hub's word about the selected installations: ready (condition Ready of the latest spec), resolved\n(TargetClusterResolved), version=1.22 (ready, and of that version), deleted. What cannot become true without somebody's help, such\nas a ClusterProfile that does not exist, ends the waiting at once with code 1, unless --no-fail-fast is given. A name that does not exist\nyet is waited for; one that is deleted while it is waited for has failed. --timeout 0 looks once, and less than nothing is a week.",
    examples: [
      ["kubectl knfleet wait ks/knative-serving --for=ready", "one installation"],
      [
        "kubectl knfleet wait ks -A --for=version=1.22 --min 95% --timeout 30m",
        "an upgrade of the fleet",
      ],
      ["kubectl knfleet wait ks/knative-serving --for=deleted", "a removal"],
    ],
    options: [
      filenameOption(),
      new Option("--for <condition>", "ready|resolved|deleted|version=VERSION (default ready)"),
      new Option(
        "--min <count>",
        "so many of them, or so many percent (default 100%); more than there are wait for others",
      ),
      new Option("--stable <duration>", "it has to be true for so long (default 2s)"),
    ],
    kind: "Wait",
    completes: "installations",
    ownTimeout: true,
    needsFleet: "a bundle does not change",
    load: async () => (await import("./wait-action.ts")).runWait,
  };
}
