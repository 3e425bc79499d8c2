import { parse, stringify } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { setEntries } from "../fields.ts";
import { yaml11 } from "../release/yaml-options.ts";
import type { Transform } from "../transform.ts";
import type { Config } from "./config-maps.ts";

const mapName = "config-br-defaults";
const key = "default-br-config";
const usualClass = "MTChannelBasedBroker";

/**
 * Names the class of brokers that name none, in ConfigMap `config-br-defaults`; a text in `spec.config` that names a class has the
 * last word, whichever of the two names it goes by. Throws FleetError ManifestInvalid for a text that is missing, not YAML, or
 * without a cluster-wide default. Fields that upstream does not know stay. Spec: knative-operator.md 3.18.
 */
export function defaultBroker(brokerClass: string | undefined, config: Config): Transform {
  const names = ["br-defaults", mapName];
  const isNamed = names.some(
    (name) => Object.hasOwn(config, name) && (config[name]?.[key] ?? "").includes("brokerClass:"),
  );
  if (isNamed) return (manifest) => manifest;
  const wanted = brokerClass === undefined || brokerClass === "" ? usualClass : brokerClass;
  return (manifest) => {
    const { apiVersion, kind, metadata } = manifest;
    if (apiVersion !== "v1" || kind !== "ConfigMap" || metadata.name !== mapName) return manifest;
    return setEntries(manifest, ["data"], { [key]: withClass(textOf(manifest), wanted) });
  };
}

function textOf({ data }: Manifest): string {
  const entries = isRecord(data) ? data : {};
  const text = Object.hasOwn(entries, key) ? entries[key] : undefined;
  if (typeof text === "string" && text !== "") return text;
  const all = Object.entries(entries).map(([name, value]) => `${name}:${String(value)}`);
  throw invalid(`ConfigMap is missing (or empty) key: "${key}" : map[${all.toSorted().join(" ")}]`);
}

function withClass(text: string, brokerClass: string): string {
  const defaults = parsed(text);
  if (!isRecord(defaults) || !isRecord(defaults["clusterDefault"])) {
    throw invalid(`Key ${key} of ConfigMap ${mapName} has no clusterDefault`);
  }
  const { namespaceDefaults, ...rest } = defaults;
  const hasNamespaces = isRecord(namespaceDefaults) && Object.keys(namespaceDefaults).length > 0;
  const clusterDefault = { ...defaults["clusterDefault"], brokerClass };
  // In the form in which upstream writes it, so that a change of operators changes nothing.
  const form = {
    version: "1.1",
    aliasDuplicateObjects: false,
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
  } as const;
  const all = { ...rest, clusterDefault, ...(hasNamespaces ? { namespaceDefaults } : {}) };
  return stringify(all, form);
}

function parsed(text: string): unknown {
  try {
    return parse(text, yaml11);
  } catch (cause) {
    throw invalid(
      `Failed to parse the entry: key ${key} of ConfigMap ${mapName} is not valid YAML`,
      cause,
    );
  }
}

function invalid(message: string, cause?: unknown): FleetError {
  return new FleetError("ManifestInvalid", message, { cause });
}
