import { isRecord } from "../../api/fields.ts";
import { type Manifest, groupOf } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import {
  type Fields,
  type Transform,
  changeField,
  invalidManifest,
  mergeFields,
  setEntries,
  without,
} from "../fields.ts";

/** One entry of `spec.workloads` or `spec.deployments`. */
export type WorkloadOverride = NonNullable<KnativeServingSpec["workloads"]>[number];

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
 * Whether an object is a workload of one of the kinds, by default of any. Kinds of the same name in other API groups
 * are no workloads; upstream takes them for workloads and fails (N-3).
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
function mapIn(fields: Fields, name: string, manifest: Manifest): Fields {
  const value = fields[name] ?? {};
  if (isRecord(value)) return value;
  throw invalidManifest(manifest, `has no map in its field ${name}`);
}

/**
 * Groups the entries of several overrides by container, in order. The first of several entries for one container in
 * one override counts. Spec: knative-operator.md 3.9.
 */
export function byContainer<Entry extends { readonly container: string }>(
  overrides: readonly (readonly Entry[] | undefined)[],
): ReadonlyMap<unknown, readonly Entry[]> {
  const found = new Map<unknown, Entry[]>();
  for (const entries of overrides) {
    const first = new Map(entries?.toReversed().map((entry) => [entry.container, entry]));
    for (const [container, entry] of first) {
      const known = found.get(container);
      if (known === undefined) found.set(container, [entry]);
      else known.push(entry);
    }
  }
  return found;
}

/** Requests and limits of containers, by name; `claims` has no effect. */
export type ResourceOverrides = NonNullable<KnativeServingSpec["resources"]>;

/**
 * Sets requests and limits, one override after the other (`byContainer`). Throws FleetError ManifestInvalid. Spec:
 * knative-operator.md 3.8, 3.9.
 */
export function withResources(
  manifest: Manifest,
  overrides: readonly (ResourceOverrides | undefined)[],
): Manifest {
  const own = byContainer(overrides);
  if (own.size === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const found = own.get(container["name"]);
    if (found === undefined) return container;
    const before = mapIn(container, "resources", manifest);
    const after = (["limits", "requests"] as const).reduce<Fields>((resources, field) => {
      const wanted = mergeFields(found.map((one) => one[field] ?? {}));
      return Object.keys(wanted).length === 0
        ? resources
        : { ...resources, [field]: { ...mapIn(resources, field, manifest), ...wanted } };
    }, before);
    return after === before ? container : { ...container, resources: after };
  });
}

/** An environment variable of a container: its name, and its value or where that comes from. */
type Variable = Fields & { readonly name: string };

/**
 * Sets variables from lists, one list after the other. A variable replaces those of its name or is added at the end. A
 * container without variables gets the first list as it is. Throws FleetError ManifestInvalid. Spec:
 * knative-operator.md 3.9.
 */
export function withVariables(
  container: Fields,
  lists: readonly (readonly Variable[])[],
  manifest: Manifest,
): Fields {
  const given = lists.filter(({ length }) => length > 0);
  if (given.length === 0) return container;
  const env = listIn(container, "env", manifest);
  const [before = [], ...rest] = env.length === 0 ? given : [env, ...given];
  const wanted = new Map(rest.flat().map((variable) => [nameOf(variable), variable]));
  const names = new Set(before.map(nameOf));
  const added = [...wanted].flatMap(([name, variable]) => (names.has(name) ? [] : [variable]));
  const kept = before.map((entry) => wanted.get(nameOf(entry)) ?? entry);
  return { ...container, env: [...kept, ...added] };
}

/** The container with a variable set as `withVariables` does it. Throws FleetError ManifestInvalid. */
export function withVariable(container: Fields, variable: Variable, manifest: Manifest): Fields {
  return withVariables(container, [[variable]], manifest);
}

function nameOf(entry: unknown): unknown {
  return isRecord(entry) ? entry["name"] : undefined;
}

type ProbeOverrides = NonNullable<WorkloadOverride["livenessProbes"]>;

const probeHandlers = ["exec", "grpc", "httpGet", "tcpSocket"];
const probeNumbers = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

/**
 * Changes settings of probes, one override after the other (`byContainer`). Zero keeps a setting, except for the grace
 * period. An override without settings removes the probe. Throws FleetError ManifestInvalid when a container has no
 * probe to change: upstream creates an empty probe, which an API server refuses (D-39). Spec: knative-operator.md 3.9.
 */
export function withProbes(
  manifest: Manifest,
  field: "readinessProbe" | "livenessProbe",
  overrides: readonly (ProbeOverrides | undefined)[],
): Manifest {
  const own = byContainer(overrides);
  if (own.size === 0) return manifest;
  return changeContainers(manifest, (container) => {
    const settings = own.get(container["name"])?.map(settingsOf);
    if (settings === undefined) return container;
    let probe: unknown = container[field];
    for (const some of settings) {
      if (Object.keys(some).length === 0) probe = undefined;
      else if (isProbe(probe)) probe = { ...probe, ...some };
      else {
        const where = `its container ${String(container["name"])}`;
        throw invalidManifest(manifest, `has no ${field} in ${where} that could be changed`);
      }
    }
    return probe === undefined ? withoutField(container, field) : { ...container, [field]: probe };
  });
}

function isProbe(value: unknown): value is Fields {
  return isRecord(value) && probeHandlers.some((handler) => isRecord(value[handler]));
}

function settingsOf(override: ProbeOverrides[number]): Fields {
  const { terminationGracePeriodSeconds } = override;
  const set = probeNumbers.flatMap((name) => {
    const number = override[name] ?? 0;
    return number === 0 ? [] : [[name, number]];
  });
  const grace =
    terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds };
  return { ...Object.fromEntries(set), ...grace };
}

function withoutField(container: Fields, field: string): Fields {
  const rest = without(container, [field]);
  return isRecord(rest) ? rest : container;
}

/**
 * Sets `KUBERNETES_MIN_VERSION` of the controller on every container, because Knative checks the cluster against it.
 * Absent or empty: the minimum of Knative. Spec: knative-operator.md 3.7.
 */
export function kubernetesMinVersion(value: string | undefined): Transform {
  if (value === undefined || value === "") return (manifest) => manifest;
  return (manifest) =>
    isWorkload(manifest)
      ? changeContainers(
          manifest,
          (container) =>
            withVariable(container, { name: "KUBERNETES_MIN_VERSION", value }, manifest),
          ["initContainers", "containers"],
        )
      : manifest;
}
