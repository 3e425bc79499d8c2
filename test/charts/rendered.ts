import type { Manifest } from "../../api/kubernetes.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";

/** A pod as a workload of the chart describes it. */
export interface PodTemplate {
  /** `Deployment knfleet-webhook`. */
  readonly of: string;
  readonly program: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Everything that becomes a pod. */
export function podsIn(manifests: readonly Manifest[]): readonly PodTemplate[] {
  return manifests.flatMap((manifest) => {
    const spec = valueAt(manifest, "spec", "template", "spec");
    if (!isRecord(spec)) return [];
    const [container] = listAt(spec, "containers");
    const program = String(valueAt(container, "name"));
    return [{ of: `${manifest.kind} ${manifest.metadata.name}`, program, spec }];
  });
}

/** Containers of a pod, those that only prepare it included. */
export function containersOf({ spec }: PodTemplate): readonly Readonly<Record<string, unknown>>[] {
  return [...listAt(spec, "initContainers"), ...listAt(spec, "containers")].filter(isRecord);
}

/** Arguments of the only container of a pod. */
export function argumentsOf(pod: PodTemplate): readonly string[] {
  return listAt(pod.spec, "containers", 0, "args").map(String);
}

/** The list at a path, or an empty one. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The object of a kind and name; throws when there is none. */
export function objectIn(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`The chart has no ${kind} ${name}`);
  return found;
}

/** A rule of a role, as compared in tests. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The rules of a Role or ClusterRole. */
export function rulesOf(role: Manifest): readonly Rule[] {
  return listAt(role, "rules").filter(isRule);
}

function isRule(value: unknown): value is Rule {
  return isRecord(value) && Array.isArray(value["verbs"]) && Array.isArray(value["apiGroups"]);
}
