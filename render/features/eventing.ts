import { parse, stringify } from "yaml";

import type { KnativeEventing } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Manifest, groupOf } from "../../api/kubernetes.ts";
import { type Transform, changeField, setEntries } from "../fields.ts";
import { changeContainers, isWorkload, withVariable } from "../workloads/pod-template.ts";
import { yaml11 } from "../yaml.ts";
import { type Config, configEntryOf } from "./named-objects.ts";

const brokerMap = "config-br-defaults";
const brokerKey = "default-br-config";
const usualBrokerClass = "MTChannelBasedBroker";

/**
 * Sets the default broker class in ConfigMap `config-br-defaults`. A text in `spec.config` that names a class wins,
 * under either name of the ConfigMap. Fields that upstream does not know stay. Throws FleetError ManifestInvalid for a
 * text that is missing, not YAML, or without a cluster-wide default. Spec: knative-operator.md 3.18.
 */
export function defaultBroker(brokerClass: string | undefined, config: Config): Transform {
  const names = ["br-defaults", brokerMap];
  const isNamed = names.some(
    (name) =>
      Object.hasOwn(config, name) && (config[name]?.[brokerKey] ?? "").includes("brokerClass:"),
  );
  if (isNamed) return (manifest) => manifest;
  const wanted = brokerClass === undefined || brokerClass === "" ? usualBrokerClass : brokerClass;
  return (manifest) => {
    const { apiVersion, kind, metadata } = manifest;
    if (apiVersion !== "v1" || kind !== "ConfigMap" || metadata.name !== brokerMap) return manifest;
    return setEntries(manifest, ["data"], { [brokerKey]: withClass(textOf(manifest), wanted) });
  };
}

function textOf({ data }: Manifest): string {
  const entries = isRecord(data) ? data : {};
  const text = Object.hasOwn(entries, brokerKey) ? entries[brokerKey] : undefined;
  if (typeof text === "string" && text !== "") return text;
  const all = Object.entries(entries).map(([name, value]) => `${name}:${String(value)}`);
  throw invalid(
    `ConfigMap is missing (or empty) key: "${brokerKey}" : map[${all.toSorted().join(" ")}]`,
  );
}

function withClass(text: string, brokerClass: string): string {
  const defaults = parseDefaults(text);
  if (!isRecord(defaults) || !isRecord(defaults["clusterDefault"])) {
    throw invalid(`Key ${brokerKey} of ConfigMap ${brokerMap} has no clusterDefault`);
  }
  const { namespaceDefaults, ...rest } = defaults;
  const hasNamespaces = isRecord(namespaceDefaults) && Object.keys(namespaceDefaults).length > 0;
  const clusterDefault = { ...defaults["clusterDefault"], brokerClass };
  // Equals the text that upstream writes, so that a change of operators changes nothing.
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

function parseDefaults(text: string): unknown {
  try {
    return parse(text, yaml11);
  } catch (cause) {
    throw invalid(
      `Failed to parse the entry: key ${brokerKey} of ConfigMap ${brokerMap} is not valid YAML`,
      cause,
    );
  }
}

function invalid(message: string, cause?: unknown): FleetError {
  return new FleetError("ManifestInvalid", message, { cause });
}

const modeVariable = "SINK_BINDING_SELECTION_MODE";
const eventingWebhook = "eventing-webhook";

/**
 * Sets the selection mode of SinkBindings on Eventing's webhook: the field of the spec, else the variable of an
 * override of the webhook, else `exclusion`. Spec: knative-operator.md 3.19.
 */
export function sinkBindingMode(spec: NonNullable<KnativeEventing["spec"]>): Transform {
  const variable = { name: modeVariable, value: sinkBindingModeOf(spec) };
  return (manifest) =>
    isWorkload(manifest, ["Deployment"]) && manifest.metadata.name === eventingWebhook
      ? changeContainers(manifest, (container) => withVariable(container, variable, manifest))
      : manifest;
}

function sinkBindingModeOf({
  sinkBindingSelectionMode = "",
  workloads = [],
  deployments = [],
}: NonNullable<KnativeEventing["spec"]>): string {
  if (sinkBindingSelectionMode !== "") return sinkBindingSelectionMode;
  const variables = [...workloads, ...deployments]
    .filter((override) => override.name === eventingWebhook)
    .flatMap(({ env = [] }) => env)
    .filter(({ container }) => container === eventingWebhook)
    .flatMap(({ envVars = [] }) => envVars);
  return variables.find(({ name }) => name === modeVariable)?.value ?? "exclusion";
}

const certManagerGroups = ["cert-manager.io", "trust.cert-manager.io"];

/**
 * Whether `spec.config` turns on TLS inside Eventing. Reads the entry that the ConfigMap gets, so that both agree;
 * upstream reads another one (D-40). Spec: knative-operator.md 3.21.
 */
export function usesTls(config: Config): boolean {
  const value = configEntryOf(config, "config-features")?.["transport-encryption"] ?? "";
  return ["permissive", "strict"].includes(value.toLowerCase());
}

/** Whether an object needs cert-manager on the cluster. Spec: knative-operator.md 3.21. */
export function needsCertManager(manifest: Manifest): boolean {
  return certManagerGroups.includes(groupOf(manifest.apiVersion));
}

const usualNamespace = "knative-eventing";

const kafkaVariables = [
  "BROKER_DATA_PLANE_CONFIG_MAP_NAMESPACE",
  "CHANNEL_DATA_PLANE_CONFIG_MAP_NAMESPACE",
  "SINK_DATA_PLANE_CONFIG_MAP_NAMESPACE",
];
const namespaceLabel = "kubernetes.io/metadata.name";

/**
 * Replaces `knative-eventing` by the namespace of the installation inside texts: the ConfigMap of the default broker,
 * DNS names of certificates, namespace selectors of webhooks, and variables of the Kafka controller. Upstream does
 * not, so its Eventing works in one namespace only (D-41).
 */
export function namespaceInTexts(namespace: string): Transform {
  if (namespace === usualNamespace) return (manifest) => manifest;
  return (manifest) => {
    const { name = "" } = manifest.metadata;
    switch (`${groupOf(manifest.apiVersion)} ${manifest.kind}`) {
      case " ConfigMap":
        return name === "config-br-defaults" ? inBroker(manifest, namespace) : manifest;
      case "cert-manager.io Certificate":
        return inNames(manifest, namespace);
      case "apps Deployment":
        return name === "kafka-controller" ? inVariables(manifest, namespace) : manifest;
      case "admissionregistration.k8s.io MutatingWebhookConfiguration":
      case "admissionregistration.k8s.io ValidatingWebhookConfiguration":
        return inSelectors(manifest, namespace);
      default:
        return manifest;
    }
  };
}

function inBroker(manifest: Manifest, namespace: string): Manifest {
  const field = /^(\s*namespace:\s*)knative-eventing[ \t]*$/gm;
  return changeField(manifest, ["data", "default-br-config"], (text) =>
    typeof text === "string" ? text.replaceAll(field, (_, start) => `${start}${namespace}`) : text,
  );
}

function inNames(manifest: Manifest, namespace: string): Manifest {
  return changeField(manifest, ["spec", "dnsNames", "*"], (name) =>
    typeof name === "string"
      ? name.replace(/\.knative-eventing\.svc(?=$|\.)/, `.${namespace}.svc`)
      : name,
  );
}

function inVariables(manifest: Manifest, namespace: string): Manifest {
  const path = ["spec", "template", "spec", "containers", "*", "env", "*"];
  return changeField(manifest, path, (variable) =>
    isRecord(variable) &&
    kafkaVariables.includes(String(variable["name"])) &&
    variable["value"] === usualNamespace
      ? { ...variable, value: namespace }
      : variable,
  );
}

function inSelectors(manifest: Manifest, namespace: string): Manifest {
  const selector = ["webhooks", "*", "namespaceSelector"];
  const renamed = (value: unknown): unknown => (value === usualNamespace ? namespace : value);
  const inLabels = changeField(manifest, [...selector, "matchLabels", namespaceLabel], renamed);
  return changeField(inLabels, [...selector, "matchExpressions", "*"], (expression) => {
    if (!isRecord(expression) || expression["key"] !== namespaceLabel) return expression;
    const { values } = expression;
    return Array.isArray(values) && values.includes(usualNamespace)
      ? { ...expression, values: values.map(renamed) }
      : expression;
  });
}
