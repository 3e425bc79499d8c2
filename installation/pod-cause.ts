import { byText, isRecord, recordAt } from "../api/fields.ts";
import { asciiText } from "../api/foreign-text.ts";
import type { KubeObject } from "../api/kubernetes.ts";
import {
  denyingMutationIn,
  denyingPolicyIn,
  denyingWebhookIn,
  quotaIn,
  silentWebhookIn,
  uncountedQuotaIn,
} from "../api/refusal-texts.ts";

// Kubernetes alternates between the first two; the message must not change with them.
const pullReasons = new Map([
  ["ErrImagePull", "ImagePullBackOff"],
  ["ImagePullBackOff", "ImagePullBackOff"],
  ["InvalidImageName", "InvalidImageName"],
  ["ErrImageNeverPull", "ErrImageNeverPull"],
  ["ImageInspectError", "ImageInspectError"],
  ["RegistryUnavailable", "RegistryUnavailable"],
  ["SignatureValidationFailed", "SignatureValidationFailed"],
]);
const startReasons: readonly string[] = [
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "PreCreateHookError",
  "PreStartHookError",
  "PostStartHookError",
];
/** A container with this many restarts that is not ready will not recover by itself. */
const crashes = 2;

/** Cause of pods that may become ready by themselves. */
export const unready = "its pods run but are not ready";

/**
 * Why the pods of a workload are not ready: the cause of the first pod, by name, with a cause. Undefined without a cause. Short, equal for equal
 * causes, and free of text from the cluster except names.
 */
export function causeOfPods(pods: readonly KubeObject[]): string | undefined {
  const waiting = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((pod) => conditionFieldsOf(pod, "Ready")?.["status"] !== "True")
    .toSorted(byText(({ metadata }) => metadata.name));
  const causes = waiting.flatMap((pod) => causeOfPod(pod) ?? []);
  return causes[0] ?? (waiting.some(isRunning) ? unready : undefined);
}

/** Label of a pod that differs between the templates of a workload. */
export const templateHash = "pod-template-hash";

/** The pods of the newest template of a Deployment: the pods with the hash of the newest pod. Pods without a hash are all of one template. */
export function podsOfNewest(pods: readonly KubeObject[]): readonly KubeObject[] {
  const newest = pods.toSorted(byText(({ metadata }) => metadata.creationTimestamp ?? "")).at(-1);
  const hash = newest?.metadata.labels?.[templateHash];
  return pods.filter(({ metadata }) => metadata.labels?.[templateHash] === hash);
}

function causeOfPod(pod: KubeObject): string | undefined {
  const status = recordAt(pod, "status");
  const containers = [
    ...recordsOf(status["initContainerStatuses"]),
    ...recordsOf(status["containerStatuses"]),
  ];
  const causes = containers.flatMap((container) => causeOfContainer(container) ?? []);
  return causes[0] ?? unschedulable(pod);
}

function causeOfContainer(container: Fields): string | undefined {
  const state = recordAt(container, "state");
  const reason = textOf(recordAt(state, "waiting")["reason"]);
  const name = asciiText(textOf(container["name"]).slice(0, 200));
  const pull = pullReasons.get(reason);
  if (pull !== undefined) {
    return `image ${asciiText(textOf(container["image"]).slice(0, 200))} cannot be pulled (${pull})`;
  }
  if (startReasons.includes(reason)) return `container ${name} cannot start (${reason})`;
  const restarts = container["restartCount"];
  const isCrashing =
    reason === "CrashLoopBackOff" ||
    (container["ready"] !== true && typeof restarts === "number" && restarts >= crashes);
  return isCrashing ? `container ${name} crashes (${crashOf(container, state)})` : undefined;
}

function crashOf(container: Fields, state: Fields): string {
  const last = recordAt(container, "lastState", "terminated");
  const ended = "exitCode" in last ? last : recordAt(state, "terminated");
  if (ended["reason"] === "OOMKilled") return "OOMKilled";
  const code = ended["exitCode"];
  return typeof code === "number" ? `CrashLoopBackOff, exit code ${code}` : "CrashLoopBackOff";
}

function unschedulable(pod: KubeObject): string | undefined {
  const { status, reason, message } = conditionFieldsOf(pod, "PodScheduled") ?? {};
  if (status !== "False" || reason !== "Unschedulable") return undefined;
  const lacking = [...textOf(message).matchAll(/Insufficient ([\w/-]+(?:\.[\w/-]+)*)/g)].map(
    ([, resource = ""]) => resource,
  );
  const what = [...new Set(lacking)].toSorted().join(", ");
  return `no node takes its pods (Unschedulable${what === "" ? "" : `, insufficient ${what}`})`;
}

function isRunning(pod: KubeObject): boolean {
  return recordAt(pod, "status")["phase"] === "Running";
}

/** Finds the name of what refuses pods, or an empty name. */
type Finder = (message: string) => string | undefined;

const refusals: readonly (readonly [find: Finder, say: (name: string) => string])[] = [
  [quotaIn, (name) => `quota ${name} is exhausted`],
  [uncountedQuotaIn, (name) => `quota ${name} is not counted yet`],
  [
    (text) => / is forbidden: failed quota: ([\w.-]{1,253}): must specify /.exec(text)?.[1],
    (name) => `quota ${name} asks for requests or limits that its pods lack`,
  ],
  [denyingWebhookIn, (name) => `admission webhook ${name} refuses its pods`],
  [
    silentWebhookIn,
    (name) => `admission webhook ${name} does not answer, so that no pod can be created`,
  ],
  [
    (text) => /violates PodSecurity "([\w.:-]{1,100})"/.exec(text)?.[1],
    (name) => `PodSecurity ${name} forbids its pods`,
  ],
  [
    (text) => denyingPolicyIn(text) ?? denyingMutationIn(text),
    (name) => `admission policy ${name} refuses its pods`,
  ],
  [
    // OpenShift.
    (text) =>
      text.includes("unable to validate against any security context constraint") ? "" : undefined,
    () => "no SecurityContextConstraint allows its pods",
  ],
  [
    (text) => /no PriorityClass with name ([\w.-]{1,253}) was found/.exec(text)?.[1],
    (name) => `PriorityClass ${name} is missing`,
  ],
  [
    (text) => /serviceaccount "([\w.-]{1,253})" not found/.exec(text)?.[1],
    (name) => `service account ${name} is missing`,
  ],
  [
    (text) => (/(?:maximum|minimum) [\w.-]+ usage per /.test(text) ? "" : undefined),
    () => "a LimitRange forbids its pods",
  ],
];

/** Why no pod is created, from the message in which a controller quotes the API server. */
export function causeOfRefusal(message: string): string {
  for (const [find, say] of refusals) {
    const name = find(message);
    if (name !== undefined) return say(name);
  }
  return "its pods cannot be created (FailedCreate)";
}

type Fields = Readonly<Record<string, unknown>>;

/** A condition of a pod or workload by its type. */
export function conditionFieldsOf(object: KubeObject, type: string): Fields | undefined {
  const { conditions } = recordAt(object, "status");
  return recordsOf(conditions).find((condition) => condition["type"] === type);
}

function recordsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Text of a field; empty when it is none. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
