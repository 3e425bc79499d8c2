import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { groupOf } from "../../api/kubernetes.ts";
import { changeField } from "../fields.ts";
import type { Transform } from "../transform.ts";

const usual = "knative-eventing";

const kafkaVariables = [
  "BROKER_DATA_PLANE_CONFIG_MAP_NAMESPACE",
  "CHANNEL_DATA_PLANE_CONFIG_MAP_NAMESPACE",
  "SINK_DATA_PLANE_CONFIG_MAP_NAMESPACE",
];
const namespaceLabel = "kubernetes.io/metadata.name";

/**
 * Puts the namespace of Eventing where its release names the usual one inside a text: the default broker's ConfigMap, the
 * names in certificates, the namespaces that webhooks select, and what the Kafka source looks for. Upstream leaves them, so that Eventing works in one namespace only
 * (D-41).
 */
export function namespaceInTexts(namespace: string): Transform {
  if (namespace === usual) return (manifest) => manifest;
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
    variable["value"] === usual
      ? { ...variable, value: namespace }
      : variable,
  );
}

function inSelectors(manifest: Manifest, namespace: string): Manifest {
  const selector = ["webhooks", "*", "namespaceSelector"];
  const renamed = (value: unknown): unknown => (value === usual ? namespace : value);
  const inLabels = changeField(manifest, [...selector, "matchLabels", namespaceLabel], renamed);
  return changeField(inLabels, [...selector, "matchExpressions", "*"], (expression) => {
    if (!isRecord(expression) || expression["key"] !== namespaceLabel) return expression;
    const { values } = expression;
    return Array.isArray(values) && values.includes(usual)
      ? { ...expression, values: values.map(renamed) }
      : expression;
  });
}
