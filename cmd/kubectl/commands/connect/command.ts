import { command } from "../../main/command.ts";

/** `connect`: a shell in which kubectl speaks to one cluster. */
export const connect = command({
  name: "connect",
  args: { usage: "CLUSTER [-- COMMAND...]", completes: "clusters" },
  summary: "Open a shell in which kubectl speaks to one cluster of the fleet",
  text: "Starts your shell, or a command, with a KUBECONFIG of its own for the cluster of a ClusterProfile (NAMESPACE/NAME or NAME). The file is private, holds no token - each\nprogram gets a fresh one from `kubectl knfleet credential` - and is removed at the end, also after a signal. The prompt of bash, zsh, fish and sh shows the\ncluster, as does the variable KNFLEET_CLUSTER.",
  exits: { 0: "the shell or the command ended with 0; its other codes are passed on" },
  examples: [
    ["kubectl knfleet connect fleet/eu-1", "a shell; exit ends it"],
    ["kubectl knfleet connect eu-1 -- kubectl get pods -A", "one command"],
    ["kubectl knfleet connect eu-1 -- k9s", "or another program"],
  ],
  options: {},
  ownTimeout: true,
  needsFleet: "it starts a program that reaches the cluster",
  run: async (fleet, _, talk) => (await import("./connect.ts")).connectCluster(fleet, talk),
});
