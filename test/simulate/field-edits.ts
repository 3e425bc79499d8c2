import type { ComponentKind } from "../../api/component.ts";

/** Objects of the releases, thin as they are here. */
const names = {
  KnativeServing: { workload: "activator", service: "activator-service", budget: "activator-pdb" },
  KnativeEventing: { workload: "job-sink", service: "job-sink", budget: "eventing-webhook" },
} as const;

/** An edit of each group of fields of a spec. The number in [0, 1) says what to. */
function groupsOf(kind: ComponentKind, die: number): Readonly<Record<string, unknown>> {
  const { workload, service, budget } = names[kind];
  const replicas = 1 + Math.floor(die * 3);
  const labels = { team: die < 0.5 ? "a" : "b" };
  return {
    config: { logging: { "loglevel.controller": die < 0.5 ? "debug" : "info" } },
    "high-availability": { replicas },
    registry: { default: `registry.example.com/${labels.team}/\${NAME}:v1` },
    workloads: [{ name: workload, replicas, labels }],
    services: [{ name: service, labels }],
    podDisruptionBudgets: [{ name: budget, minAvailable: replicas }],
    namespace: { labels },
    patches: [
      {
        target: { apiVersion: "apps/v1", kind: "Deployment", name: workload },
        patch: { type: "merge", content: JSON.stringify({ metadata: { annotations: labels } }) },
      },
    ],
  };
}

/** A merge patch of one or two groups of fields of a spec, each of which it sets or takes away. */
export function fieldEdit(kind: ComponentKind, [first, second, third]: readonly number[]): object {
  const groups = Object.entries(groupsOf(kind, third ?? 0));
  const edited = [first, second].map((die = 0) => groups[Math.floor(die * groups.length)]);
  return Object.fromEntries(
    edited.map(([group, value] = ["config", null], at) => [
      group,
      // The config has the class of the ingress, too.
      (third ?? 0) < 0.3 && at === 0 && group !== "config" ? null : value,
    ]),
  );
}
