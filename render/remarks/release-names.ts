import type { Component } from "../../api/component.ts";
import { type FieldProblem, below, quoteValue } from "../../api/field-path.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import { type Manifest, groupOf } from "../../api/kubernetes.ts";
import { namedImages } from "../workloads/images.ts";

type Spec = NonNullable<Component["spec"]>;

/** The fields of a spec that name something the release does not have, and therefore change nothing. Spec: knative-operator.md 3.4, 3.9 to 3.11. */
export function unmatchedNames(spec: Spec, released: readonly Manifest[]): readonly FieldProblem[] {
  const workloads = workloadsIn(released);
  const overrides = ["deployments", "workloads"] as const;
  return [
    ...overrides.flatMap((field) =>
      (spec[field] ?? []).flatMap((entry, index) =>
        workloadProblems(entry, below("spec", field, index), workloads),
      ),
    ),
    ...unknownNames(spec, "services", namesOf("/Service", released)),
    ...unknownNames(spec, "podDisruptionBudgets", namesOf("policy/PodDisruptionBudget", released)),
    ...unknownImages(
      spec.registry?.override ?? {},
      new Set(namedImages(released).map(([name]) => name)),
    ),
  ];
}

const workloadKinds = ["apps/Deployment", "apps/StatefulSet", "batch/Job"];

/** The workloads that overrides can name, each with its containers. */
function workloadsIn(released: readonly Manifest[]): ReadonlyMap<string, readonly string[]> {
  const workloads = new Map<string, readonly string[]>();
  for (const manifest of released) {
    if (!workloadKinds.includes(kindOf(manifest))) continue;
    const { name = "", generateName = "" } = manifest.metadata;
    const called = manifest.kind === "Job" ? generateName : name;
    workloads.set(called, [...(workloads.get(called) ?? []), ...containersOf(manifest)]);
  }
  return workloads;
}

function containersOf(manifest: Manifest): readonly string[] {
  const pod = recordAt(manifest, "spec", "template", "spec");
  return listAt(pod, "containers").flatMap(
    (container) => textAt(recordAt(container), "name") ?? [],
  );
}

function namesOf(kind: string, released: readonly Manifest[]): ReadonlySet<string> {
  return new Set(
    released.flatMap((one) => (kindOf(one) === kind ? [one.metadata.name ?? ""] : [])),
  );
}

function kindOf({ apiVersion, kind }: Manifest): string {
  return `${groupOf(apiVersion)}/${kind}`;
}

const perContainer = ["env", "resources", "readinessProbes", "livenessProbes"] as const;

function workloadProblems(
  entry: NonNullable<Spec["workloads"]>[number],
  path: string,
  workloads: ReadonlyMap<string, readonly string[]>,
): readonly FieldProblem[] {
  const { name } = entry;
  const containers = workloads.get(name);
  if (containers === undefined) {
    const message = `names no Deployment, StatefulSet or Job of the release and changes nothing: ${quoteValue(name)}`;
    return [{ path: below(path, "name"), message }];
  }
  return perContainer.flatMap((field) =>
    (entry[field] ?? []).flatMap(({ container }, index) => {
      if (containers.includes(container)) return [];
      const message = `${quoteValue(name)} has no container of this name: ${quoteValue(container)}`;
      return [{ path: below(path, field, index, "container"), message }];
    }),
  );
}

function unknownNames(
  spec: Spec,
  field: "services" | "podDisruptionBudgets",
  names: ReadonlySet<string>,
): readonly FieldProblem[] {
  return (spec[field] ?? []).flatMap(({ name }, index) => {
    if (names.has(name)) return [];
    const message = `names nothing in the release and changes nothing: ${quoteValue(name)}`;
    return [{ path: below("spec", field, index, "name"), message }];
  });
}

function unknownImages(override: object, names: ReadonlySet<string>): readonly FieldProblem[] {
  return Object.keys(override).flatMap((name) => {
    if (names.has(name)) return [];
    const message =
      "names no container, variable, image of a ConfigMap or cached Image of the release and changes nothing";
    return [{ path: below("spec", "registry", "override", name), message }];
  });
}
