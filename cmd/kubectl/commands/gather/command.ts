import { renderingFlags } from "../../compare/rendering-options.ts";
import { noLiveFlag, toggle, worded } from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";

/** `gather`: writes a bundle for support. */
export const gather = command({
  name: "gather",
  args: { usage: installationNames.usage, completes: "installations", selects: true },
  summary: "Write a bundle for support: hub and spokes, without secrets",
  text: "Reads the selected installations, their ClusterProfiles and fleet sets, the namespaces that they are in on hub and spokes, the logs of controllers and Knative's own Deployments,\nand walks to every one as diagnose does; and writes all of it into one tar.gz that only you may read. Of Secrets there are only the names of keys, sizes, and hashes\nby which equal values of one bundle are seen; tokens, keys, certificates and logins in URLs are taken out everywhere. Before it is\nwritten, the bundle is searched for every credential that the run has met. Other commands read it with --bundle. A spoke has a minute,\nthe whole command ten, unless --spoke-timeout and --timeout say otherwise.",
  exits: {
    2: "a secret was found in what would be written, or the command could not do its work; nothing is written",
    3: "something could not be read; what was read is written",
  },
  examples: [
    [
      "kubectl knfleet gather -A",
      "of the whole fleet, into a file of the folder for temporary files, which it names",
    ],
    ["kubectl knfleet gather ks/knative-serving -n team-a -o case-17.tgz", "of one installation"],
    ["kubectl knfleet gather -A --diff", "with how clusters differ from what would be installed"],
    ["kubectl knfleet gather -A --dry-run", "only list the files that would be in it"],
    [
      "kubectl knfleet gather -A -o json",
      "for scripts: what was written, and what could not be read",
    ],
  ],
  options: {
    dryRun: toggle("--dry-run", "read everything and list the files, but write nothing"),
    tail: worded(
      "--tail <lines>",
      "of each container the last so many log lines (default 500); 0: no logs",
    ),
    diff: toggle(
      "--diff",
      "also compare clusters with what would be installed, for diff --bundle; API servers are asked by dry runs",
    ),
    ...renderingFlags,
    live: noLiveFlag("the hub's"),
  },
  document: "Bundle",
  ownTimeout: true,
  writesFile: true,
  run: async (fleet, options) => (await import("./gather-report.ts")).gatherBundle(fleet, options),
});
