import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { renderingOptions } from "../../compare/rendering-options.ts";
import { several } from "../../output/several.ts";

/** `check` on the command line. */
export function checkEntry(): CommandEntry {
  return {
    name: "check",
    args: "[-f FILE]",
    summary: "Check everything that an installation needs, before there is one",
    text: "Looks at the hub (Kubernetes, CRDs, controller, webhook, provider file), at the way to every ClusterProfile, and at each cluster's Kubernetes, at the\nrights there, and when credentials and certificates end. With -f the components of a file, which need not be applied, are checked\nwith the clusters that they are for. Nothing is changed. The exit code is 1 when something is wrong.",
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
    options: [
      new Option("-f, --filename <file>", "file with components, - for standard input").argParser(
        several,
      ),
      new Option(
        "--warn-within <duration>",
        "what ends within this time, such as 14d, is an error (default: a warning within 7d)",
      ),
      new Option("--fail-on <severity>", "error|warning|never: what makes the exit code 1"),
      new Option("--exec-timeout <duration>", "time for the exec plugin (default 10s)"),
      ...renderingOptions(),
    ],
    kind: "Check",
    readsBundles: true,
    formats: ["short", "junit"],
    load: async () => (await import("./check-action.ts")).runCheck,
  };
}
