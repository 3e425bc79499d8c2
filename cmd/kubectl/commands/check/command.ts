import { renderingFlags } from "../../compare/rendering-options.ts";
import {
  componentFilesFlag,
  execTimeoutFlag,
  failOnFlag,
  forTools,
  worded,
} from "../../main/command-flags.ts";
import { command } from "../../main/command.ts";

/** `check`: whether everything is there that an installation needs. */
export const check = command({
  name: "check",
  args: { usage: "[-f FILE]" },
  summary: "Check everything that an installation needs, before there is one",
  text: "Looks at the hub (Kubernetes, CRDs, controller, webhook, provider file, fleet sets whose rollout is stuck), at the way to every ClusterProfile, and at each cluster's Kubernetes, at the\nrights there, and when credentials and certificates end. With -f the components of a file, which need not be applied, are checked\nwith the clusters that they are for. Nothing is changed.",
  exits: {
    1: "something is wrong: an error, with --fail-on warning a warning, too",
    3: "something could not be looked at because there is no provider file, and nothing is wrong",
  },
  examples: [
    ["kubectl knfleet check", "before the first component"],
    ["kubectl knfleet check -f new.yaml", "one that is not applied yet"],
    [
      "kubectl knfleet check --warn-within 14d -o short",
      "red two weeks before anything ends, for a nightly job",
    ],
    ["kubectl knfleet check -o junit > check.xml", "for a CI system"],
    ["kubectl knfleet check --bundle fleet.tgz", "what it found when gather -A wrote the bundle"],
  ],
  options: {
    filename: componentFilesFlag(),
    warnWithin: forTools(
      worded(
        "--warn-within <duration>",
        "what ends within this time, such as 14d, is an error (default: a warning within 7d)",
      ),
      "What ends within this time, such as 14d, is an error",
      20,
    ),
    failOn: failOnFlag(),
    execTimeout: execTimeoutFlag(),
    ...renderingFlags,
  },
  document: "Check",
  formats: ["short", "junit"],
  tool: ["cluster", "on"],
  run: async (fleet, options) => (await import("./read-checks.ts")).readChecks(fleet, options),
});
