import { isRecord, isSameJson } from "../../../api/fields.ts";

/** A field of a released object that its author may change without the right. Null stands for a value that is removed. */
export interface HarmlessField {
  /** `fields` and `items` are merged: by name of the field, and by name of the item. */
  readonly kind: "fields" | "items" | "list" | "value";
  /** Whether the value may be written as a whole. */
  readonly allows: (value: unknown) => boolean;
  /** The field below, by a step of a JSON pointer; undefined where nothing may be written. */
  readonly at: (step: string) => HarmlessField | undefined;
}

type Fields = Readonly<Record<string, HarmlessField>>;

const any: HarmlessField = { kind: "value", allows: () => true, at: () => any };
const anyOf = (...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, any]));

function value(allows: (written: unknown) => boolean): HarmlessField {
  return { kind: "value", allows, at: () => undefined };
}

const only = (...values: readonly unknown[]): HarmlessField =>
  value((written) => values.some((one) => isSameJson(one, written)));

/** An object that may not be replaced as a whole, because it would lose what else the release has there. */
function fieldsOf(fields: Fields, isRemovable = false): HarmlessField {
  return {
    kind: "fields",
    allows: (written) => isRemovable && written === null,
    at: (step) => (Object.hasOwn(fields, step) ? fields[step] : undefined),
  };
}

/** A map that may lose entries, and get harmless ones. */
function mapOf(isHarmless: (key: string, entry: unknown) => boolean): HarmlessField {
  return {
    kind: "fields",
    allows: (written) =>
      written === null ||
      (isRecord(written) &&
        Object.entries(written).every(([key, entry]) => isHarmless(key, entry))),
    at: (step) => value((entry) => entry === null || isHarmless(step, entry)),
  };
}

const position = /^(?:-|[+-]?\d{1,9})$/;

/** A list that may lose items, and get harmless ones. */
function listOf(isHarmless: (item: unknown) => boolean): HarmlessField {
  const item = value((written) => written === null || isHarmless(written));
  return {
    kind: "list",
    allows: (written) => written === null || (Array.isArray(written) && written.every(isHarmless)),
    at: (step) => (position.test(step) ? item : undefined),
  };
}

/** A list with an item for each name, of which none comes or goes. */
function itemsOf(item: HarmlessField): HarmlessField {
  const at = (step: string) => (position.test(step) ? item : undefined);
  return { kind: "items", allows: () => false, at };
}

// These choose an image, or where its name is read, or the API server that a program sends its token to, or what is loaded into a process.
const strongVariable =
  /image|^kubernetes_(?!min_version$)|^ld_|^kubeconfig$|^system_namespace$|^_?j(?:ava|dk)_.*(?:options|opts)$|^node_options$|^python|^perl5|^ruby/i;

// Where a program finds its API server and credential.
const strongArgument = /^-{1,2}(?:server|master|kubeconfig|cluster)(?:=|$)/i;

/** False for a variable that chooses an image of another pod, or whom the credential of the pod is sent to. */
export function isHarmlessVariable(name: unknown): boolean {
  return typeof name === "string" && /^[\w.-]+$/.test(name) && !strongVariable.test(name);
}

// Injectors of sidecars, networks and older security fields take images, commands and privileges from annotations, each under names of its own. So these are the ones that
// are known to give a pod nothing; one without a prefix is the user's own.
const harmlessAnnotation =
  /^(?:[^/]+|(?:prometheus\.io|checksum|cluster-autoscaler\.kubernetes\.io|kubectl\.kubernetes\.io)\/[^/]+|(?:sidecar\.istio|linkerd)\.io\/inject)$/;

/** False for an annotation that may give a pod more than its fields do. */
export function isHarmlessPodAnnotation(key: string): boolean {
  return harmlessAnnotation.test(key);
}

// Policy engines and platforms read users, rights and exceptions from a namespace, each under names of its own.
const harmlessNamespaceKey =
  /^(?:[^/]+|(?:app|pod-security)\.kubernetes\.io\/[^/]+|(?:topology\.)?istio\.io\/[^/]+|linkerd\.io\/inject)$/;

/** False for a label or annotation by which a namespace may be given rights, or be left out of what protects the cluster. The levels of pod security have a rule of their own. */
export function isHarmlessNamespaceKey(key: string): boolean {
  return harmlessNamespaceKey.test(key);
}

const hostFeature = /host(?:path|network|pid|ipc)|addcapabilities/i;
const switchedOff = [null, "disabled", "Disabled"];

/** False for an entry of a ConfigMap that chooses an image, or that lets Knative's pods reach their node. */
export function isHarmlessConfig(name: string, key: string, setting: unknown): boolean {
  if (/image/i.test(name) || /image/i.test(key)) return false;
  return !hostFeature.test(key) || switchedOff.some((one) => one === setting);
}

const probe = fieldsOf(
  anyOf(
    "failureThreshold",
    "initialDelaySeconds",
    "periodSeconds",
    "successThreshold",
    "terminationGracePeriodSeconds",
    "timeoutSeconds",
  ),
  true,
);

// The values that the Pod Security Standard "restricted" demands.
const restricted: Fields = {
  runAsNonRoot: only(true),
  seccompProfile: fieldsOf({ type: only("RuntimeDefault") }),
};

const container = fieldsOf({
  ...anyOf("imagePullPolicy", "terminationMessagePolicy"),
  args: listOf((item) => typeof item === "string" && !strongArgument.test(item)),
  env: listOf((item) => isRecord(item) && isHarmlessVariable(item["name"])),
  resources: fieldsOf(anyOf("requests", "limits")),
  readinessProbe: probe,
  livenessProbe: probe,
  startupProbe: probe,
  securityContext: fieldsOf({
    ...restricted,
    allowPrivilegeEscalation: only(false),
    capabilities: fieldsOf({ drop: only(["ALL"]) }),
    privileged: only(false, null),
    readOnlyRootFilesystem: only(true),
  }),
});

const podTemplate = fieldsOf({
  metadata: fieldsOf({
    labels: any,
    annotations: mapOf(isHarmlessPodAnnotation),
  }),
  spec: fieldsOf({
    ...anyOf("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints"),
    ...anyOf("enableServiceLinks", "terminationGracePeriodSeconds"),
    automountServiceAccountToken: only(false),
    hostIPC: only(false, null),
    hostNetwork: only(false, null),
    hostPID: only(false, null),
    hostUsers: only(false),
    securityContext: fieldsOf(restricted),
    containers: itemsOf(container),
    initContainers: itemsOf(container),
  }),
});

const metadata = fieldsOf(anyOf("labels", "annotations"));

function workload(...fields: readonly string[]): Fields {
  return { metadata, spec: fieldsOf({ ...anyOf(...fields), template: podTemplate }) };
}

function configMap(name: string): Fields {
  return { metadata, data: mapOf((key, entry) => isHarmlessConfig(name, key, entry)) };
}

const kinds: Readonly<Record<string, (name: string) => Fields>> = {
  "apps/v1/Deployment": () =>
    workload(
      "minReadySeconds",
      "paused",
      "progressDeadlineSeconds",
      "replicas",
      "revisionHistoryLimit",
      "strategy",
    ),
  "apps/v1/StatefulSet": () =>
    workload("minReadySeconds", "replicas", "revisionHistoryLimit", "updateStrategy"),
  "apps/v1/DaemonSet": () => workload("minReadySeconds", "revisionHistoryLimit", "updateStrategy"),
  "batch/v1/Job": () =>
    workload("activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
  "autoscaling/v2/HorizontalPodAutoscaler": () => ({
    metadata,
    spec: fieldsOf(anyOf("behavior", "maxReplicas", "metrics", "minReplicas")),
  }),
  "policy/v1/PodDisruptionBudget": () => ({
    metadata,
    spec: fieldsOf(anyOf("maxUnavailable", "minAvailable", "unhealthyPodEvictionPolicy")),
  }),
  "v1/ConfigMap": configMap,
  "v1/Service": () => ({ metadata, spec: fieldsOf(anyOf("selector")) }),
};

/**
 * The fields of an object of the release that can be changed without a right of its own; undefined for kinds that only the right opens. The lists are of
 * what is harmless, so that a new field of Kubernetes is not. Reference: the fields of the Pod Security Standards. Security: T-33.
 */
export function harmlessFields(
  apiVersion: string,
  kind: string,
  name: string,
): HarmlessField | undefined {
  const key = `${apiVersion}/${kind}`;
  return Object.hasOwn(kinds, key) ? fieldsOf(kinds[key]?.(name) ?? {}) : undefined;
}
