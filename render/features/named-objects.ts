import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Manifest, groupOf, nameFirst } from "../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../api/schema/component-spec.ts";
import {
  type Transform,
  changeField,
  invalidManifest,
  mergeFields,
  setEntries,
  without,
} from "../fields.ts";

/** `spec.config`: ConfigMap name, with or without its prefix, then key, then value. */
export type Config = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * The entry of `spec.config` for a ConfigMap: that of its full name, else that of its name without the first seven
 * characters (the length of `config-`). Spec: knative-operator.md 3.6.
 */
export function configEntryOf(
  config: Config,
  name: string,
): Readonly<Record<string, string>> | undefined {
  const entry = configEntryNameOf(config, name);
  const found = entry === undefined ? undefined : config[entry];
  // A spec that no API server has seen can have null here.
  return isRecord(found) ? found : undefined;
}

/** Name of that entry. */
export function configEntryNameOf(config: Config, name: string): string | undefined {
  if (Object.hasOwn(config, name)) return name;
  const short = name.slice("config-".length);
  return name.length >= "config-".length && Object.hasOwn(config, short) ? short : undefined;
}

/**
 * The entries of `spec.config`, in order of their names, that are for none of these ConfigMaps. Nothing is changed for them, as in upstream. Spec:
 * knative-operator.md 3.6.
 */
export function unusedConfig(config: object, mapNames: Iterable<string>): readonly string[] {
  const names = new Set<string>();
  for (const name of mapNames) names.add(name).add(name.slice("config-".length));
  return Object.keys(config)
    .filter((entry) => !names.has(entry))
    .toSorted();
}

const maxNamed = 5;

/** Why an entry of `spec.config` changes nothing. */
export const noSuchConfigMap = "nothing that is installed has such a ConfigMap";

/** The sentence about entries of `spec.config` without a ConfigMap; undefined without any. */
export function unusedConfigMessage(entries: readonly string[]): string | undefined {
  if (entries.length === 0) return undefined;
  return `spec.config changes nothing for ${nameFirst(entries, maxNamed)}: ${noSuchConfigMap}`;
}

/** Sets the keys of `spec.config` in the data of ConfigMaps; other keys stay. Spec: knative-operator.md 3.6. */
export function configMaps(config: Config): Transform {
  return (manifest) => {
    if (!isConfigMap(manifest)) return manifest;
    const entry = configEntryOf(config, manifest.metadata.name ?? "");
    return entry === undefined ? manifest : setEntries(manifest, ["data"], entry);
  };
}

/**
 * Throws FleetError ManifestInvalid for a ConfigMap with a name shorter than `config-`, unless `spec.config` has an
 * entry of its full name; upstream crashes (D-37). Spec: knative-operator.md 3.6.
 */
export function refuseShortConfigMaps(config: Config): Transform {
  return (manifest) => {
    const { name = "" } = manifest.metadata;
    if (!isConfigMap(manifest) || name.length >= "config-".length || Object.hasOwn(config, name)) {
      return manifest;
    }
    throw invalidManifest(
      manifest,
      "has a name that is too short: spec.config goes by names of seven characters or more",
    );
  };
}

/** True for a ConfigMap of the core API. */
export function isConfigMap({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === "v1" && kind === "ConfigMap";
}

/** `spec.services`. */
export type ServiceOverrides = NonNullable<KnativeServingSpec["services"]>;

/**
 * Sets labels, annotations and selector entries of Services, by name. The last of several values wins. Spec:
 * knative-operator.md 3.10.
 */
export function services(overrides: ServiceOverrides = []): Transform {
  return (manifest) => {
    if (manifest.kind !== "Service" || manifest.apiVersion !== "v1") return manifest;
    const own = overrides.filter(({ name }) => name === manifest.metadata.name);
    const entriesOf = (field: "labels" | "annotations" | "selector") =>
      mergeFields(own.map((override) => override[field] ?? {}));
    const labelled = setEntries(manifest, ["metadata", "labels"], entriesOf("labels"));
    const annotated = setEntries(labelled, ["metadata", "annotations"], entriesOf("annotations"));
    return setEntries(annotated, ["spec", "selector"], entriesOf("selector"));
  };
}

/** `spec.podDisruptionBudgets`; `selector` and `unhealthyPodEvictionPolicy` have no effect (D-45). */
export type DisruptionBudgetOverrides = NonNullable<KnativeServingSpec["podDisruptionBudgets"]>;

/**
 * Sets minAvailable or maxUnavailable of PodDisruptionBudgets, by name. An entry without a value ends the work on its
 * object, as in upstream. Throws FleetError ManifestInvalid when an entry has both values. Spec: knative-operator.md
 * 3.11.
 */
export function podDisruptionBudgets(overrides: DisruptionBudgetOverrides = []): Transform {
  return (manifest) => {
    if (manifest.kind !== "PodDisruptionBudget") return manifest;
    if (groupOf(manifest.apiVersion) !== "policy") return manifest;
    const own = overrides.filter(({ name }) => name === manifest.metadata.name);
    const end = own.findIndex(
      ({ minAvailable, maxUnavailable }) =>
        minAvailable === undefined && maxUnavailable === undefined,
    );
    return (end < 0 ? own : own.slice(0, end)).reduce(withBudget, manifest);
  };
}

function withBudget(
  manifest: Manifest,
  { name, minAvailable, maxUnavailable }: DisruptionBudgetOverrides[number],
): Manifest {
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    throw new FleetError(
      "ManifestInvalid",
      `spec.podDisruptionBudgets: both minAvailable and maxUnavailable are set for PodDisruptionBudget ${name}`,
    );
  }
  return minAvailable === undefined
    ? setEntries(withoutSpecField(manifest, "minAvailable"), ["spec"], { maxUnavailable })
    : setEntries(withoutSpecField(manifest, "maxUnavailable"), ["spec"], { minAvailable });
}

function withoutSpecField(manifest: Manifest, field: string): Manifest {
  return changeField(manifest, ["spec"], (spec) => without(spec, [field]));
}
