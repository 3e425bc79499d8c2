import { isRecord } from "../api/fields.ts";
import type { Manifest } from "../api/kubernetes.ts";
import { changeField } from "../render/fields.ts";
import { type FieldSet, hasField, ownEntry, stepsAt, unionOfFields } from "./managed-fields.ts";
import { isPingSourceAdapter, scalePath } from "./scale.ts";
import { isFilledByOthers } from "./strip-manifests.ts";

/**
 * Whether an object has fields that we set first and a controller takes over later: scale and environment of the
 * PingSource adapter, selectors of the webhooks of Knative. Spec: engine-facts.md table A.
 */
export function isHandedOver(manifest: Manifest): boolean {
  return isPingSourceAdapter(manifest) || isWebhookConfiguration(manifest);
}

/**
 * Paths of fields that others fill in and that we must not own. `written` tells whether a ClusterRole has an
 * aggregation rule. Spec: engine-facts.md table A.
 */
export function handedOverPaths(
  object: Manifest,
  written: FieldSet,
): readonly (readonly string[])[] {
  if (isWebhookConfiguration(object)) return webhookPaths;
  if (isPingSourceAdapter(object)) return adapterPaths(written);
  const isAggregated = object.kind === "ClusterRole" && hasField(written, ["f:aggregationRule"]);
  if (isAggregated) return [["f:rules"]];
  if (object.kind === "CustomResourceDefinition") return conversionPaths;
  if (object.kind === "Secret" && isFilledByOthers(object)) return [["f:data"]];
  return object.kind === "Service" ? addressPaths : [];
}

const webhookPaths = [
  ["f:webhooks", "*", "f:rules"],
  ["f:webhooks", "*", "f:clientConfig", "f:caBundle"],
];
const conversionPaths = [["f:spec", "f:conversion", "f:webhook", "f:clientConfig", "f:caBundle"]];
const addressPaths = [
  ["f:spec", "f:clusterIP"],
  ["f:spec", "f:clusterIPs"],
];

/** Paths of the fields of the PingSource adapter that its controller owns, as far as a set has them. */
function adapterPaths(set: FieldSet): readonly (readonly string[])[] {
  const containers = containersPath.map((field) => `f:${field}`);
  const variables = stepsAt(set, containers).flatMap((container) =>
    stepsAt(set, [...containers, container, "f:env"])
      .filter((item) => handedOverVariable.test(nameOfItem(item)))
      .flatMap((item) =>
        ["f:value", "f:valueFrom"].map((field) => [...containers, container, "f:env", item, field]),
      ),
  );
  return [scalePath, ...variables];
}

/**
 * Paths of our fields that must be released before they are left out, because leaving them out would remove them: the
 * replicas once an autoscaler sets them, and the fields of the PingSource controller after its first write. Spec:
 * engine-facts.md 3.
 */
export function pathsToRelease(
  live: Manifest,
  { manager, isScaled }: { readonly manager: string; readonly isScaled: boolean },
): readonly (readonly string[])[] {
  if (isScaled) return [scalePath];
  if (!isPingSourceAdapter(live)) return [];
  const { managedFields = [] } = live.metadata;
  const isTaken = managedFields.some(({ manager: writer, fieldsV1 = {} }) => {
    const paths = writer === manager ? [] : adapterPaths(fieldsV1);
    return paths.some((path) => hasField(fieldsV1, path));
  });
  return isTaken ? managedFields.flatMap(({ fieldsV1 = {} }) => adapterPaths(fieldsV1)) : [];
}

function nameOfItem(step: string): string {
  return /^k:\{"name":"(?<name>[^"]*)"\}$/.exec(step)?.groups?.["name"] ?? "";
}

/**
 * Leaves out fields that another writer has taken over, because sending them would undo that write. Fields that are
 * still ours stay, because leaving them out would remove them. `live` is the whole object with its managedFields; for
 * webhook configurations its metadata is enough.
 */
export function withoutHandedOver(manifest: Manifest, live: Manifest, manager: string): Manifest {
  const entry = ownEntry(live, manager);
  const owned = entry?.fieldsV1 ?? {};
  if (isWebhookConfiguration(manifest)) {
    const others = live.metadata.managedFields?.filter((candidate) => candidate !== entry) ?? [];
    const theirs = others.map(({ fieldsV1 = {} }) => fieldsV1).reduce(unionOfFields, {});
    return withOwnSelectors(manifest, owned, theirs);
  }
  return isPingSourceAdapter(manifest) ? withOwnScale(manifest, owned, live) : manifest;
}

const selectors = ["namespaceSelector", "objectSelector"];

function withOwnSelectors(manifest: Manifest, owned: unknown, theirs: unknown): Manifest {
  return changeField(manifest, ["webhooks", "*"], (webhook) => {
    const isIn = (fields: unknown, field: string): boolean =>
      at(fields, ["f:webhooks", itemKey(webhook), `f:${field}`]) !== undefined;
    // A field without an owner is new in the manifest.
    return pickFields(
      webhook,
      (field) => !selectors.includes(field) || isIn(owned, field) || !isIn(theirs, field),
    );
  });
}

const handedOverVariable = /^(?:K_[A-Z_]+|SYSTEM_NAMESPACE|NAMESPACE)$/;

/** The PingSource controller writes all variables and leaves this one out, although every release has it. */
const droppedVariable = "POD_NAME";

const containersPath = ["spec", "template", "spec", "containers"];

function withOwnScale(manifest: Manifest, owned: unknown, live: Manifest): Manifest {
  const scaled = changeField(manifest, ["spec"], (spec) =>
    pickFields(
      spec,
      (field) => field !== "replicas" || at(owned, ["f:spec", "f:replicas"]) !== undefined,
    ),
  );
  return changeField(scaled, [...containersPath, "*"], (container) => {
    if (!isRecord(container)) return container;
    const fields = at(owned, [
      ...containersPath.map((field) => `f:${field}`),
      itemKey(container),
      "f:env",
    ]);
    const names = variablesOf(containerIn(live, container["name"])).map(itemName);
    const variables = variablesOf(container);
    const isTaken = variables.some(
      (variable) => names.includes(itemName(variable)) && isOfController(variable, fields),
    );
    if (variables.length === 0 || !isTaken) return container;
    // Sending a variable that the controller left out would bring it back, and new pods with it, after each write of
    // the controller.
    const kept = variables.filter(
      (variable) => names.includes(itemName(variable)) || !isListed(variable),
    );
    // The name stays ours even when the value is not: leaving it out would remove the variable.
    const env = kept.map((variable) =>
      isOfController(variable, fields) ? { name: itemName(variable) } : variable,
    );
    return { ...container, env };
  });
}

function isListed(variable: unknown): boolean {
  const name = String(itemName(variable));
  return handedOverVariable.test(name) || name === droppedVariable;
}

/** Whether the controller owns the value of a variable. `fields` are our fields of all variables of the container. */
function isOfController(variable: unknown, fields: unknown): boolean {
  if (!handedOverVariable.test(String(itemName(variable)))) return false;
  const own = at(fields, [itemKey(variable)]);
  return ["f:value", "f:valueFrom"].every((field) => at(own, [field]) === undefined);
}

/** A container of the pods of a workload. */
function containerIn(workload: Manifest, name: unknown): unknown {
  const containers = at(workload, containersPath);
  return Array.isArray(containers) ? containers.find((one) => itemName(one) === name) : undefined;
}

function variablesOf(container: unknown): readonly unknown[] {
  return isRecord(container) && Array.isArray(container["env"]) ? container["env"] : [];
}

function itemName(item: unknown): unknown {
  return isRecord(item) ? item["name"] : undefined;
}

// Step of fieldsV1 to a list item whose key is its name.
function itemKey(item: unknown): string {
  return `k:${JSON.stringify({ name: itemName(item) })}`;
}

function at(fields: unknown, path: readonly string[]): unknown {
  let value = fields;
  for (const field of path) value = isRecord(value) ? value[field] : undefined;
  return value;
}

function pickFields(value: unknown, wanted: (field: string) => boolean): unknown {
  if (!isRecord(value) || Object.keys(value).every(wanted)) return value;
  return Object.fromEntries(Object.entries(value).filter(([field]) => wanted(field)));
}

function isWebhookConfiguration({ kind }: Manifest): boolean {
  return kind === "ValidatingWebhookConfiguration" || kind === "MutatingWebhookConfiguration";
}

/**
 * Sorts the variables of the PingSource adapter as they are on the cluster. The operator of upstream uses another
 * order, and a changed order would replace the pods. Other manifests stay as they are. Spec: knative-operator.md 3.20.
 */
export function inLiveOrder(manifest: Manifest, live: Manifest): Manifest {
  if (!isPingSourceAdapter(manifest)) return manifest;
  return changeField(manifest, [...containersPath, "*"], (container) => {
    const order = variablesOf(containerIn(live, itemName(container))).map(itemName);
    const variables = variablesOf(container);
    if (!isRecord(container) || variables.length === 0) return container;
    const placeOf = (variable: unknown): number => {
      const place = order.indexOf(itemName(variable));
      return place < 0 ? order.length : place;
    };
    return { ...container, env: variables.toSorted((a, b) => placeOf(a) - placeOf(b)) };
  });
}
