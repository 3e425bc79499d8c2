import { listAt, recordAt, textAt } from "../../../api/fields.ts";
import { groupOf, type Manifest } from "../../../api/kubernetes.ts";
import type { ReleaseNames } from "../../reviews/render-check.ts";

const workloadKinds = ["apps/Deployment", "apps/StatefulSet", "batch/Job"];

/** The names in a release that the overrides of a spec go by. Spec: knative-operator.md 3.6, 3.9 to 3.11. */
export function releaseNames(manifests: readonly Manifest[]): ReleaseNames {
  const workloads = new Map<string, readonly string[]>();
  for (const manifest of manifests) {
    if (!workloadKinds.includes(kindOf(manifest))) continue;
    const { name = "", generateName = "" } = manifest.metadata;
    const called = manifest.kind === "Job" ? generateName : name;
    workloads.set(called, [...(workloads.get(called) ?? []), ...containersOf(manifest)]);
  }
  const named = (kind: string): ReadonlySet<string> =>
    new Set(manifests.flatMap((one) => (kindOf(one) === kind ? [one.metadata.name ?? ""] : [])));
  return {
    workloads,
    services: named("/Service"),
    podDisruptionBudgets: named("policy/PodDisruptionBudget"),
    configMaps: named("/ConfigMap"),
  };
}

function kindOf({ apiVersion, kind }: Manifest): string {
  return `${groupOf(apiVersion)}/${kind}`;
}

function containersOf(manifest: Manifest): readonly string[] {
  const pod = recordAt(manifest, "spec", "template", "spec");
  return listAt(pod, "containers").flatMap(
    (container) => textAt(recordAt(container), "name") ?? [],
  );
}
