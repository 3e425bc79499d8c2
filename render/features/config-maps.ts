import type { Manifest } from "../../api/kubernetes.ts";
import { invalidManifest, setEntries } from "../fields.ts";
import type { Transform } from "../transform.ts";

/** `spec.config`: ConfigMap name, with or without its prefix, then key, then value. */
export type Config = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * What `spec.config` says about a ConfigMap: the entry of its full name, else the entry of its name without the first seven
 * characters (the length of `config-`). Spec: knative-operator.md 3.6.
 */
export function configEntryOf(
  config: Config,
  name: string,
): Readonly<Record<string, string>> | undefined {
  if (Object.hasOwn(config, name)) return config[name];
  const short = name.slice("config-".length);
  return name.length >= "config-".length && Object.hasOwn(config, short)
    ? config[short]
    : undefined;
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
 * Throws FleetError ManifestInvalid for a ConfigMap that only an entry of its full name could mean, where `spec.config` has none;
 * upstream crashes (D-37). Spec: knative-operator.md 3.6.
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

function isConfigMap({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === "v1" && kind === "ConfigMap";
}
