import { Option } from "commander";

import type { CommandEntry } from "../../command-entry.ts";

/** `completion` on the command line. */
export function completionEntry(): CommandEntry {
  return {
    name: "completion",
    args: "bash|zsh|fish|powershell|kubectl|install [...]",
    summary: "Print what a shell needs to complete this command",
    text: "Completes commands, flags, installations, ClusterProfiles, namespaces, contexts and reasons. kubectl itself completes\n`kubectl knfleet` with the help of a program kubectl_complete-knfleet on the PATH: `kubectl` prints it, `install` puts it beside the plugin.\nNames that the hub does not tell within a second (KNFLEET_COMPLETION_TIMEOUT) are not offered; they are remembered for\n30 seconds under $XDG_CACHE_HOME.",
    examples: [
      [
        "kubectl knfleet completion install",
        "for kubectl knfleet, in every shell that completes kubectl",
      ],
      [
        "kubectl knfleet completion kubectl > ~/bin/kubectl_complete-knfleet",
        "the same by hand; then chmod +x",
      ],
      ["source <(kubectl knfleet completion bash)", "for kubectl-knfleet in this bash"],
    ],
    options: [new Option("--yes", "with install: replace a file that is there")],
    completes: "shells",
    load: async () => (await import("./completion-action.ts")).runCompletion,
  };
}
