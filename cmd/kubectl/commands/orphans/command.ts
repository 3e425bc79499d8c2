import { noLiveFlag } from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";

// A tool looks at the whole fleet.
const { tool: _, ...args } = installationNames;

/** `orphans`: what is left over on clusters, and what is in the way of others. */
export const orphans = command({
  name: "orphans",
  args,
  summary: "Find what is left over on clusters, and what is in the way of others",
  text: "Looks at all components of the hub and at every cluster that has a ClusterProfile, also those without a component, for anchors without a component,\ntwo components on one cluster, leftovers in an old namespace, objects with our mark and no anchor, guarded namespaces that nobody uses, and\ndeletions that hang. Each comes with what to do about it; nothing is deleted.",
  exits: {
    0: "nothing is left over",
    1: "something is left over, or what was named does not exist",
  },
  examples: [
    ["kubectl knfleet orphans", "the whole fleet"],
    ["kubectl knfleet orphans --cluster 'eu-*' -o wide", "some clusters"],
    ["kubectl knfleet orphans ks/knative-serving -n team-a", "the cluster of an installation"],
    ["kubectl knfleet orphans --no-live", "what the hub knows by itself"],
    ["kubectl knfleet orphans --bundle fleet.tgz", "on what gather -A has written"],
  ],
  options: { live: noLiveFlag() },
  document: "OrphanList",
  tool: ["cluster", "on"],
  run: async (fleet, { live }) => (await import("./orphans.ts")).findOrphans(fleet, live),
});
