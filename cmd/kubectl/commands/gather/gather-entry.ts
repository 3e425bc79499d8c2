import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";
import { renderingOptions } from "../../compare/rendering-options.ts";

/** `gather` on the command line. */
export function gatherEntry(): CommandEntry {
  return {
    name: "gather",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "Write a bundle for support: hub and spokes, without secrets",
    text: "Reads the selected installations, their ClusterProfiles, the namespaces that they are in on hub and spokes, the logs of controllers and Knative's own Deployments,\nand walks to every one as diagnose does; and writes all of it into one tar.gz that only you may read. Of Secrets there are only the names of keys, sizes, and hashes\nby which equal values of one bundle are seen; tokens, keys, certificates and logins in URLs are taken out everywhere. Before it is\nwritten, the bundle is searched for every credential that the run has met. Other commands read it with --bundle. A spoke has a minute,\nthe whole command ten, unless --spoke-timeout and --timeout say otherwise.",
    examples: [
      ["kubectl knfleet gather -A", "of the whole fleet, into a file named by the time"],
      ["kubectl knfleet gather ks/knative-serving -n team-a -o case-17.tgz", "of one installation"],
      ["kubectl knfleet gather -A --diff", "with how clusters differ from what would be installed"],
      ["kubectl knfleet gather -A --dry-run", "only list the files that would be in it"],
      [
        "kubectl knfleet gather -A -o json",
        "for scripts: what was written, and what could not be read",
      ],
    ],
    options: [
      new Option("--dry-run", "read everything and list the files, but write nothing"),
      new Option(
        "--tail <lines>",
        "of each container the last so many log lines (default 500); 0: no logs",
      ),
      new Option(
        "--diff",
        "also compare clusters with what would be installed, for diff --bundle; API servers are asked by dry runs",
      ),
      ...renderingOptions(),
      new Option("--no-live", "only the hub's: no spoke is reached"),
    ],
    kind: "Bundle",
    readsBundles: true,
    completes: "installations",
    ownTimeout: true,
    writesFile: true,
    load: async () => (await import("./gather-action.ts")).runGather,
  };
}
