import { isRecord } from "../../api/fields.ts";
import { groupOf, type Manifest } from "../../api/kubernetes.ts";
import { changeField, type Fields, invalidManifest, setEntries, without } from "../fields.ts";

/** Kinds whose objects hold a pod template at `spec.template`. */
export type WorkloadKind = "Deployment" | "StatefulSet" | "DaemonSet" | "Job";

const groups: ReadonlyMap<string, string> = new Map([
  ["Deployment", "apps"],
  ["StatefulSet", "apps"],
  ["DaemonSet", "apps"],
  ["Job", "batch"],
]);

const podSpec = ["spec", "template", "spec"];

/**
 * Whether an object is a workload of one of the kinds, all by default. Equally named kinds of other API groups are none; upstream
 * takes them for workloads and fails (N-3).
 */
export function isWorkload(
  { apiVersion, kind }: Manifest,
  kinds: readonly WorkloadKind[] = ["Deployment", "StatefulSet", "DaemonSet", "Job"],
): boolean {
  return kinds.some((known) => known === kind) && groups.get(kind) === groupOf(apiVersion);
}

/** The workload with fields of its pods set. Throws FleetError ManifestInvalid. */
export function setPodFields(manifest: Manifest, fields: Fields): Manifest {
  return setEntries(manifest, podSpec, fields);
}

/** The workload without a field of its pods. */
export function withoutPodField(manifest: Manifest, name: string): Manifest {
  return changeField(manifest, podSpec, (spec) => without(spec, [name]));
}

/** The workload with every container changed, of the given lists of its pods. Throws FleetError ManifestInvalid. */
export function changeContainers(
  manifest: Manifest,
  change: (container: Fields) => Fields,
  lists: readonly ("containers" | "initContainers")[] = ["containers"],
): Manifest {
  return lists.reduce(
    (current, list) =>
      changeField(current, [...podSpec, list, "*"], (container) =>
        isRecord(container) ? change(container) : container,
      ),
    manifest,
  );
}

/** The workload with entries at the end of a list of its pods. Throws FleetError ManifestInvalid. */
export function appendToPod(
  manifest: Manifest,
  list: "imagePullSecrets" | "volumes",
  entries: readonly unknown[],
): Manifest {
  if (entries.length === 0) return manifest;
  return changeField(manifest, podSpec, (spec) =>
    isRecord(spec) ? { ...spec, [list]: [...listIn(spec, list, manifest), ...entries] } : spec,
  );
}

/** The list in a field, empty where the field is absent or null. Throws FleetError ManifestInvalid for anything else. */
export function listIn(fields: Fields, name: string, manifest: Manifest): readonly unknown[] {
  const value = fields[name] ?? [];
  if (Array.isArray(value)) return value;
  throw invalidManifest(manifest, `has no list in its field ${name}`);
}

/** The map in a field, empty where the field is absent or null. Throws FleetError ManifestInvalid for anything else. */
export function mapIn(fields: Fields, name: string, manifest: Manifest): Fields {
  const value = fields[name] ?? {};
  if (isRecord(value)) return value;
  throw invalidManifest(manifest, `has no map in its field ${name}`);
}
