import type { Manifest } from "../../api/kubernetes.ts";
import { changeField, isFields } from "../render/fields.ts";

/**
 * Whether an object has fields that are ours to begin with and a controller's later: the scale and environment of the
 * PingSource adapter, and the selectors that Knative's webhooks keep for themselves. Spec: engine-facts.md table A.
 */
export function isHandedOver(manifest: Manifest): boolean {
  return isPingSourceAdapter(manifest) || isWebhookConfiguration(manifest);
}

/**
 * The manifest without those fields that somebody else has written since: sending them would undo that write, and leaving out one that is
 * still ours would remove it. `live` is what is on the cluster, with its managedFields.
 */
export function withoutHandedOver(manifest: Manifest, live: Manifest, manager: string): Manifest {
  const entry = live.metadata.managedFields?.find(
    (candidate) =>
      candidate.manager === manager &&
      candidate.operation === "Apply" &&
      (candidate.subresource ?? "") === "",
  );
  const owned = entry?.fieldsV1 ?? {};
  if (isWebhookConfiguration(manifest)) return withOwnSelectors(manifest, owned);
  return isPingSourceAdapter(manifest) ? withOwnScale(manifest, owned) : manifest;
}

const selectors = ["namespaceSelector", "objectSelector"];

function withOwnSelectors(manifest: Manifest, owned: unknown): Manifest {
  return changeField(manifest, ["webhooks", "*"], (webhook) => {
    const own = at(owned, ["f:webhooks", itemKey(webhook)]);
    return keeping(
      webhook,
      (field) => !selectors.includes(field) || at(own, [`f:${field}`]) !== undefined,
    );
  });
}

const handedOverVariable = /^(?:K_[A-Z_]+|SYSTEM_NAMESPACE|NAMESPACE)$/;

function withOwnScale(manifest: Manifest, owned: unknown): Manifest {
  const scaled = changeField(manifest, ["spec"], (spec) =>
    keeping(
      spec,
      (field) => field !== "replicas" || at(owned, ["f:spec", "f:replicas"]) !== undefined,
    ),
  );
  const containers = ["spec", "template", "spec", "containers"];
  return changeField(scaled, [...containers, "*"], (container) => {
    const own = at(owned, [
      ...containers.map((field) => `f:${field}`),
      itemKey(container),
      "f:env",
    ]);
    if (!isFields(container) || !Array.isArray(container["env"])) return container;
    const variables: readonly unknown[] = container["env"];
    return { ...container, env: variables.map((variable) => ownVariable(variable, own)) };
  });
}

function ownVariable(variable: unknown, own: unknown): unknown {
  if (!isFields(variable) || !handedOverVariable.test(String(variable["name"]))) return variable;
  const fields = at(own, [itemKey(variable)]);
  const isOwn = ["f:value", "f:valueFrom"].some((field) => at(fields, [field]) !== undefined);
  // The name stays ours whoever writes the value; to leave it out would remove the variable.
  return isOwn ? variable : { name: variable["name"] };
}

// How fieldsV1 names an item of a list whose key is the name.
function itemKey(item: unknown): string {
  return `k:${JSON.stringify({ name: isFields(item) ? item["name"] : undefined })}`;
}

function at(fields: unknown, path: readonly string[]): unknown {
  let value = fields;
  for (const field of path) value = isFields(value) ? value[field] : undefined;
  return value;
}

function keeping(value: unknown, wanted: (field: string) => boolean): unknown {
  if (!isFields(value) || Object.keys(value).every(wanted)) return value;
  return Object.fromEntries(Object.entries(value).filter(([field]) => wanted(field)));
}

function isPingSourceAdapter({ apiVersion, kind, metadata }: Manifest): boolean {
  return (
    apiVersion === "apps/v1" && kind === "Deployment" && metadata.name === "pingsource-mt-adapter"
  );
}

function isWebhookConfiguration({ kind }: Manifest): boolean {
  return kind === "ValidatingWebhookConfiguration" || kind === "MutatingWebhookConfiguration";
}
