import { probes, resources } from "./containers.ts";
import { manifestContent, manifestSource, manifestUrl } from "./manifests.ts";
import {
  componentName,
  configKeys,
  labels,
  namespaceSettings,
  namespaceTwice,
  setCopy,
  setLabelsWithoutSet,
} from "./metadata.ts";
import {
  customCertificates,
  disruptionBudgets,
  istioOptions,
  kourierOptions,
  noIngress,
  nodePorts,
  replicas,
  selectionMode,
} from "./options.ts";
import { placement } from "./placement.ts";
import {
  delivery,
  duplicate,
  duplicateUnknown,
  duplicateWarning,
  pluginThere,
  profileTrusted,
  profileUsable,
  providerThere,
  referenceImmutable,
  referencePermitted,
  referenceRight,
  referenceRightUnknown,
  referenceSyntax,
} from "./reference.ts";
import { registry, registryOneImage } from "./registry.ts";
import {
  autoscaled,
  configKey,
  deprecated,
  exactVersion,
  images,
  patches,
  rendering,
  unmatched,
  version,
  withoutEffect,
} from "./release.ts";
import { manifestRight, manifestRightUnknown } from "./rights/author-rights.ts";
import type { Check, Rule } from "./rule.ts";
import { notRendered } from "./shape.ts";
import { variables } from "./variables.ts";

/** The rules that refuse a component, by name, which is a label of metrics. A test compares docs/webhook.md with them. */
export const componentRules: Readonly<Record<string, Rule>> = {
  shape: { code: 422, check: ({ misshapen }) => misshapen },
  "reference-syntax": { code: 422, check: referenceSyntax },
  "reference-right": { code: 403, check: referenceRight },
  "reference-right-unknown": { code: 500, check: referenceRightUnknown },
  "reference-permitted": { code: 403, check: referencePermitted },
  "reference-immutable": { code: 403, check: referenceImmutable },
  delivery: { code: 422, check: delivery },
  duplicate: { code: 409, check: duplicate },
  "duplicate-unknown": { code: 500, check: duplicateUnknown },
  name: { code: 422, check: componentName },
  "set-copy": { code: 422, check: setCopy },
  version: { code: 422, check: version },
  "manifest-url": { code: 422, check: manifestUrl },
  "manifest-source": { code: 403, check: manifestSource },
  "manifest-right": { code: 403, check: manifestRight },
  "manifest-right-unknown": { code: 500, check: manifestRightUnknown },
  registry: { code: 422, check: registry },
  namespace: { code: 422, check: namespaceSettings },
  labels: { code: 422, check: labels },
  config: { code: 422, check: configKeys },
  "disruption-budgets": { code: 422, check: disruptionBudgets },
  kourier: { code: 422, check: kourierOptions },
  "custom-certs": { code: 422, check: customCertificates },
  istio: { code: 422, check: istioOptions },
  replicas: { code: 422, check: replicas },
  variables: { code: 422, check: variables },
  placement: { code: 422, check: placement },
  resources: { code: 422, check: resources },
  probes: { code: 422, check: probes },
  patches: { code: 422, check: patches },
  // Last, because it leaves out fields that a rule above has named.
  rendering: { code: 422, check: rendering },
};

/** The warnings about a component, by name. */
export const componentWarnings: Readonly<Record<string, Check>> = {
  profile: profileUsable,
  trust: profileTrusted,
  provider: providerThere,
  plugin: pluginThere,
  duplicate: duplicateWarning,
  "exact-version": exactVersion,
  deprecated,
  unmatched,
  "config-key": configKey,
  autoscaled,
  images,
  "not-rendered": notRendered,
  "one-image": registryOneImage,
  "no-ingress": noIngress,
  "node-ports": nodePorts,
  "selection-mode": selectionMode,
  "namespace-twice": namespaceTwice,
  "manifest-content": manifestContent,
  "set-labels": setLabelsWithoutSet,
  // Last, because it leaves out fields that a warning above has named.
  "without-effect": withoutEffect,
};

// A set resolves its version by itself.
const aboutCluster =
  /^(?:exact-version|name|reference-.*|delivery|duplicate|duplicate-unknown|manifest-right|manifest-right-unknown|profile|trust|provider|plugin)$/;

/** The rules for a spec whose name, cluster, author and stored state do not matter: those that the specs of a set are held to. */
export const specRules = withoutCluster(componentRules);

/** The warnings of the same kind. */
export const specWarnings = withoutCluster(componentWarnings);

function withoutCluster<Value>(table: Readonly<Record<string, Value>>) {
  return Object.fromEntries(Object.entries(table).filter(([name]) => !aboutCluster.test(name)));
}
