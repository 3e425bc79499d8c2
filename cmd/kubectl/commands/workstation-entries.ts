import { Option } from "commander";

import type { CommandEntry } from "../action.ts";

/** `connect` on the command line. */
export function connectEntry(): CommandEntry {
  return {
    name: "connect",
    args: "CLUSTER [-- COMMAND...]",
    summary: "Open a shell in which kubectl speaks to one cluster of the fleet",
    text: "Starts your shell, or a command, with a KUBECONFIG of its own for the cluster of a ClusterProfile (NAMESPACE/NAME or NAME). The file is private, holds no token - each\nprogram gets a fresh one from `kubectl knfleet credential` - and is removed at the end, also after a signal. The prompt of bash, zsh, fish and sh shows the\ncluster, as does the variable KNFLEET_CLUSTER. The exit code is that of the shell or the command.",
    examples: [
      ["kubectl knfleet connect fleet/eu-1", "a shell; exit ends it"],
      ["kubectl knfleet connect eu-1 -- kubectl get pods -A", "one command"],
      ["kubectl knfleet connect eu-1 -- k9s", "or another program"],
    ],
    options: [],
    completes: "clusters",
    ownTimeout: true,
    needsFleet: "it starts a program that reaches the cluster",
    load: async () => (await import("./connect/connect-action.ts")).runConnect,
  };
}

/** `kubeconfig` on the command line. */
export function kubeconfigEntry(): CommandEntry {
  return {
    name: "kubeconfig",
    args: "CLUSTER... | --all",
    summary: "Write a kubeconfig for clusters of the fleet, without any token in it",
    text: "A context for each ClusterProfile that is named as NAMESPACE/NAME or NAME, with the server, the authority, the TLS name and the proxy of the ClusterProfile. Its user\nruns `kubectl-knfleet credential`, so no token is on disk and every client gets a fresh one: kubectl, helm, k9s. Printed, or written to the file that -o names and only\nits owner reads. --merge keeps what is in the file and its current context; it asks first. --all takes the ClusterProfiles of all namespaces, or of -n, that --cluster and --on select.",
    examples: [
      ["kubectl knfleet kubeconfig fleet/eu-1 > eu-1.yaml", "one cluster"],
      ["kubectl knfleet kubeconfig --all --merge", "the fleet, in your own kubeconfig"],
      ["kubectl knfleet kubeconfig --all --on region=eu -o eu.yaml", "part of it, in a new file"],
      ["kubectl knfleet kubeconfig --all --merge --dry-run", "what that would change"],
    ],
    options: [
      new Option("--all", "all ClusterProfiles that the flags select"),
      new Option("--merge", "into a file that is there (default: the first that kubectl reads)"),
      new Option("--yes", "do not ask; without --merge: replace a file that is there"),
      new Option("--dry-run", "only tell what would change"),
    ],
    completes: "clusters",
    writesFile: true,
    needsFleet: "it writes how the cluster is reached",
    load: async () => (await import("./kubeconfig/kubeconfig-action.ts")).runKubeconfig,
  };
}

/** `credential` on the command line. */
export function credentialEntry(): CommandEntry {
  return {
    name: "credential",
    args: "CLUSTER",
    summary: "Give kubectl and other programs a credential for one cluster",
    text: "What the `exec` part of a kubeconfig runs (client.authentication.k8s.io/v1 and v1beta1): prints an ExecCredential for the cluster of a ClusterProfile, got as\nthe controller gets it, with the time at which it ends. It is never written to disk, and never to a terminal. Where KUBERNETES_EXEC_INFO names another server than\nthe ClusterProfile does, or one that is not verified, there is no credential. `kubeconfig` and `connect` write such a kubeconfig.",
    examples: [
      [
        "kubectl knfleet credential fleet/eu-1 | jq -r .status.expirationTimestamp",
        "when the credential ends",
      ],
    ],
    options: [],
    completes: "clusters",
    isForPrograms: true,
    needsFleet: "it gives out what the cluster is reached with",
    load: async () => (await import("./credential/credential-action.ts")).runCredential,
  };
}

/** `completion` on the command line. */
export function completionEntry(): CommandEntry {
  return {
    name: "completion",
    args: "kubectl|install [...]",
    summary: "Let kubectl complete this command in your shell",
    text: "Completes commands, flags, installations, ClusterProfiles, namespaces, contexts and reasons. kubectl itself completes\n`kubectl knfleet` with the help of a program kubectl_complete-knfleet on the PATH: `kubectl` prints it, `install` puts it beside the plugin.\nNames that the hub does not tell within a second (KNFLEET_COMPLETION_TIMEOUT) are not offered.",
    examples: [
      [
        "kubectl knfleet completion install",
        "for kubectl knfleet, in every shell that completes kubectl",
      ],
      [
        "kubectl knfleet completion kubectl > ~/bin/kubectl_complete-knfleet",
        "the same by hand; then chmod +x",
      ],
    ],
    options: [new Option("--yes", "with install: replace a file that is there")],
    completes: "completions",
    load: async () => (await import("./completion/completion-action.ts")).runCompletion,
  };
}
