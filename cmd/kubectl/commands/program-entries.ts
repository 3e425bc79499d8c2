import { Option } from "commander";

import type { CommandEntry } from "../command-entry.ts";

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
    load: async () => (await import("./completion/completion-action.ts")).runCompletion,
  };
}

/** `version` on the command line. */
export const versionEntry = (): CommandEntry => ({
  name: "version",
  args: "",
  summary: "Show the versions of this program, the hub, the controller and the installations",
  text: "The versions of this program, of the controller with the plugins that its images bring, of Kubernetes on the hub, and of every\ninstallation of all namespaces (or of -n): what the spec wants, what the hub says is installed, what the Deployments on the cluster are of,\nKubernetes there, the newest version that one step leads to, and which of them do not agree. Spokes are read when there is a provider file.",
  examples: [
    ["kubectl knfleet version", "everything"],
    ["kubectl knfleet version --strict", "code 1 when something does not agree"],
    ["kubectl knfleet version --no-live", "without reaching any spoke"],
    ["kubectl knfleet version --client", "this program only; no hub is asked"],
  ],
  options: [
    new Option("--client", "this program's version only"),
    new Option("--no-live", "only the hub's view: no spoke is reached"),
    new Option("--strict", "code 1 when versions do not agree"),
  ],
  kind: "Version",
  readsBundles: true,
  load: async () => (await import("./version/version-action.ts")).runVersion,
});
