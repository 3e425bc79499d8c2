import { isRecord } from "../api/fields.ts";
import { type Manifest, groupOf } from "../api/kubernetes.ts";
import { changeField, without, withoutNullFields } from "../render/fields.ts";
import { mergeTypeOf } from "../render/patches/merge-schema.ts";
import { isWorkload } from "../render/workloads/pod-template.ts";

type Strip = (manifest: Manifest) => Manifest;

/**
 * Removes fields that others fill in on the cluster, so that no conflict arises, and fields that only a server may
 * write. Spec: engine-facts.md table A.
 */
export function stripManifests(manifests: readonly Manifest[]): readonly Manifest[] {
  const strips = [...always, withoutScaledReplicas(manifests)];
  return manifests.map((manifest) => strips.reduce((result, strip) => strip(result), manifest));
}

const serverFields = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "managedFields",
  "selfLink",
];

const withoutServerFields: Strip = (manifest) => {
  const { status: _, ...rest } = manifest;
  const base: Manifest = Object.hasOwn(manifest, "status")
    ? { ...rest, apiVersion: manifest.apiVersion, kind: manifest.kind, metadata: manifest.metadata }
    : manifest;
  return changeField(base, ["metadata"], (metadata) => without(metadata, serverFields));
};

/**
 * A null would claim its field, but a patch such as `replicas: null` leaves it to others. Null items of lists stay.
 * Fields of other kinds stay, because null may have a meaning there.
 */
const withoutNulls: Strip = (manifest) => {
  const { apiVersion, kind, metadata } = manifest;
  if (mergeTypeOf(apiVersion, kind) === undefined || !hasNull(manifest)) return manifest;
  return {
    ...withoutNullFields(manifest),
    apiVersion,
    kind,
    metadata: withoutNullFields({ ...metadata }),
  };
};

function hasNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value).some(hasNull);
}

// A manifest with `rules: []` empties the role at each apply until the cluster has filled it again.
const withoutAggregatedRules: Strip = (manifest) =>
  isOf(manifest, "rbac.authorization.k8s.io", ["ClusterRole"]) &&
  Object.hasOwn(manifest, "aggregationRule")
    ? dropField(manifest, "rules")
    : manifest;

// The webhook of Knative fills in both. With rules in place and no running pod, its own objects could not be written.
const withoutWebhookRules: Strip = (manifest) => {
  const kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
  if (!isOf(manifest, "admissionregistration.k8s.io", kinds)) return manifest;
  return changeField(manifest, ["webhooks", "*"], (webhook) => {
    const isWhole = isStatic(webhook, manifest);
    if (isWhole && !isInjected(manifest)) return webhook;
    const clientConfig = isRecord(webhook) ? webhook["clientConfig"] : undefined;
    const bare = isWhole ? webhook : without(webhook, ["rules"]);
    if (!isRecord(bare) || clientConfig === undefined) return bare;
    const way = without(clientConfig, ["caBundle"]);
    return way === clientConfig ? bare : { ...bare, clientConfig: way };
  });
};

const injectors = /^(?:cert-manager\.io\/inject-|service\.beta\.openshift\.io\/inject-cabundle$)/;

/** Whether no program of Knative fills in a webhook: a webhook of a user with a CA bundle, or with an injector for it. */
function isStatic(webhook: unknown, manifest: Manifest): boolean {
  if (!isRecord(webhook) || isOfKnative(webhook["name"])) return false;
  const way = webhook["clientConfig"];
  return (isRecord(way) && way["caBundle"] !== undefined) || isInjected(manifest);
}

/** Whether an injector writes the CA bundle, so that the bundle in the manifest is only a placeholder. */
function isInjected({ metadata: { annotations = {} } }: Manifest): boolean {
  return Object.keys(annotations).some((name) => injectors.test(name));
}

function isOfKnative(name: unknown): boolean {
  return typeof name === "string" && name.endsWith(".knative.dev");
}

const withoutConversionBundle: Strip = (manifest) =>
  isOf(manifest, "apiextensions.k8s.io", ["CustomResourceDefinition"]) &&
  (isOfKnative(manifest.metadata.name) || isInjected(manifest))
    ? changeField(manifest, ["spec", "conversion", "webhook", "clientConfig"], (way) =>
        without(way, ["caBundle"]),
      )
    : manifest;

const filledSecrets = new Set([
  "webhook-certs",
  "eventing-webhook-certs",
  "inmemorychannel-webhook-certs",
  "request-reply-keys",
]);

/** Whether a Secret is empty in the release and filled by a controller. */
export function isFilledByOthers({ metadata }: Pick<Manifest, "metadata">): boolean {
  return filledSecrets.has(metadata.name ?? "");
}

const withoutGeneratedData: Strip = (manifest) =>
  isOf(manifest, "", ["Secret"]) && isFilledByOthers(manifest)
    ? dropField(dropField(manifest, "data"), "stringData")
    : manifest;

const withoutAssignedAddresses: Strip = (manifest) => {
  if (!isOf(manifest, "", ["Service"])) return manifest;
  return changeField(manifest, ["spec"], (spec) =>
    // `None` makes a Service headless.
    isRecord(spec) && spec["clusterIP"] === "None"
      ? spec
      : without(spec, ["clusterIP", "clusterIPs"]),
  );
};

// A user chose each node port in a manifest, for example with `spec.ingress.kourier.http-port`: it is sent.
const always: readonly Strip[] = [
  withoutNulls,
  withoutServerFields,
  withoutAggregatedRules,
  withoutWebhookRules,
  withoutConversionBundle,
  withoutGeneratedData,
  withoutAssignedAddresses,
  withUniqueEntries,
];

function withoutScaledReplicas(manifests: readonly Manifest[]): Strip {
  const isScaled = scaledAmong(manifests);
  return (manifest) =>
    isScaled(manifest)
      ? changeField(manifest, ["spec"], (spec) => without(spec, ["replicas"]))
      : manifest;
}

/** Finds the workloads of a set that an autoscaler of the set scales. */
export function scaledAmong(manifests: readonly Manifest[]): (manifest: Manifest) => boolean {
  const scaled = new Set(manifests.flatMap(targetOfScaler));
  return ({ kind, metadata }) => scaled.has(workloadId(kind, metadata.namespace, metadata.name));
}

function targetOfScaler(manifest: Manifest): readonly string[] {
  if (!isOf(manifest, "autoscaling", ["HorizontalPodAutoscaler"])) return [];
  const spec = manifest["spec"];
  const target = isRecord(spec) ? spec["scaleTargetRef"] : undefined;
  if (!isRecord(target)) return [];
  return [workloadId(target["kind"], manifest.metadata.namespace, target["name"])];
}

function workloadId(kind: unknown, namespace: unknown, name: unknown): string {
  return JSON.stringify([kind, namespace, name]);
}

function isOf(manifest: Manifest, group: string, kinds: readonly string[]): boolean {
  return groupOf(manifest.apiVersion) === group && kinds.includes(manifest.kind);
}

function dropField(manifest: Manifest, field: "rules" | "data" | "stringData"): Manifest {
  if (!Object.hasOwn(manifest, field)) return manifest;
  const { [field]: _, ...rest } = manifest;
  return {
    ...rest,
    apiVersion: manifest.apiVersion,
    kind: manifest.kind,
    metadata: manifest.metadata,
  };
}

const podSpec = ["spec", "template", "spec"];

/**
 * Keeps one entry of each name in lists of pods where Kubernetes accepts duplicates but server-side apply refuses the
 * object: variables of a container, of which Kubernetes uses the last one too, and pull secrets.
 */
export function withUniqueEntries(manifest: Manifest): Manifest {
  if (!isWorkload(manifest)) return manifest;
  const lists = ["containers", "initContainers"].map((list) => [...podSpec, list, "*", "env"]);
  return [...lists, [...podSpec, "imagePullSecrets"]].reduce(
    (current, path) => changeField(current, path, uniqueByName),
    manifest,
  );
}

function uniqueByName(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const entries: readonly unknown[] = value;
  const last = new Map(entries.map((entry) => [itemName(entry), entry]));
  return last.size === entries.length ? entries : [...last.values()];
}

function itemName(entry: unknown): unknown {
  return isRecord(entry) ? entry["name"] : entry;
}
