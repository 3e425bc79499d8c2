import { byText, recordAt } from "../api/fields.ts";
import { objectId } from "../api/keys.ts";
import { type KubeObject, type ObjectKey } from "../api/kubernetes.ts";
import { causeOfRefusal, conditionFieldsOf, unready } from "./pod-cause.ts";
import { isScaledToZero } from "./scale.ts";

/** How the workloads of an installation are doing. Names are sorted and unique; equal input gives equal output. */
export interface Readiness {
  /** Every desired workload exists and is available. */
  readonly available: boolean;
  /** Names of the workloads that are not available, missing ones included. */
  readonly waiting: readonly string[];
  /** Names of the workloads that do not exist. */
  readonly missing: readonly string[];
  /** For example `2 of 9 not available: activator (0 of 1 pods available), webhook (missing)`; empty when all are. */
  readonly message: string;
  /** Texts of workloads that will not become available by themselves, or are late. */
  readonly stuck: readonly string[];
  /** Some workloads are not available, and a rollout within its deadline changes each of them. */
  readonly isRollingOut: boolean;
  /** Names of the available workloads that another writer scaled to zero. */
  readonly scaledToZero: readonly string[];
}

/**
 * `scaledToZero`: available, but only because another writer wants no pods. `rollingOut`: not available, in a rollout within its deadline and without
 * a known cause to fail.
 */
export type WorkloadState = "available" | "scaledToZero" | "rollingOut" | "notAvailable";

/** The state of one workload. */
export interface WorkloadReadiness {
  readonly state: WorkloadState;
  /** For example `0 of 1 pods available`. Empty when it is available. */
  readonly text: string;
  /** It will not become available by itself, or is late. */
  readonly isStuck: boolean;
}

/** How a workload is doing. The controller, the command line and the page all use this. `found`: the cause that its pods show. */
export function workloadReadinessOf(workload: KubeObject, found?: string): WorkloadReadiness {
  if (isAvailable(workload)) {
    const isScaled = isScaledToZero(workload);
    return {
      state: isScaled ? "scaledToZero" : "available",
      text: isScaled ? "scaled to zero" : "",
      isStuck: false,
    };
  }
  const cause = lastingCauseOf(workload, found);
  const isStuck = cause !== undefined || isOverdue(workload);
  return {
    state: !isStuck && isRolling(workload) ? "rollingOut" : "notAvailable",
    text: cause ?? progressOf(workload, found),
    isStuck,
  };
}

const workloadKinds: readonly string[] = ["Deployment", "StatefulSet", "DaemonSet"];

/** Whether an object is of a kind whose readiness counts. These kinds are watched as whole objects. */
export function isWorkload(key: Pick<ObjectKey, "apiVersion" | "kind">): boolean {
  return key.apiVersion.startsWith("apps/") && workloadKinds.includes(key.kind);
}

/**
 * Readiness of the desired workloads. `workloads` and `causes` are by `objectId(key)`; `causes` holds the causes
 * found in pods.
 */
export function readinessOf(
  desired: readonly ObjectKey[],
  workloads: ReadonlyMap<string, KubeObject>,
  causes: ReadonlyMap<string, string> = new Map(),
): Readiness {
  const all = desired
    .filter(isWorkload)
    .map((key) => reportOf(key, workloads.get(objectId(key)), causes.get(objectId(key))));
  const waiting = all.filter(({ state }) => !availableStates.includes(state));
  const missing = waiting.filter(({ state }) => state === "missing");
  const named = waiting.toSorted(byText(({ text }) => text)).slice(0, maxNamed);
  return {
    available: waiting.length === 0,
    waiting: namesOf(waiting),
    missing: namesOf(missing),
    message: messageOf(named, { waiting: waiting.length, total: all.length }),
    stuck: named.filter(({ isStuck }) => isStuck).map(({ text }) => text),
    isRollingOut:
      waiting.length > missing.length &&
      waiting.every(({ state }) => state === "rollingOut" || state === "missing"),
    scaledToZero: namesOf(all.filter(({ state }) => state === "scaledToZero")),
  };
}

const availableStates: readonly Report["state"][] = ["available", "scaledToZero"];

/** The desired workloads that exist and are not available. */
export function waitingAmong(
  desired: readonly ObjectKey[],
  workloads: ReadonlyMap<string, KubeObject>,
): readonly KubeObject[] {
  return desired.filter(isWorkload).flatMap((key) => {
    const workload = workloads.get(objectId(key));
    return workload === undefined || isAvailable(workload) ? [] : [workload];
  });
}

const maxNamed = 10;

function messageOf(
  named: readonly Report[],
  { waiting, total }: { readonly waiting: number; readonly total: number },
): string {
  if (waiting === 0) return "";
  const more = waiting - named.length;
  const texts = named.map(({ text }) => text).join(", ");
  return `${waiting} of ${total} not available: ${texts}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Report about one desired workload, with its name in the text. */
interface Report {
  readonly name: string;
  readonly state: WorkloadState | "missing";
  readonly text: string;
  readonly isStuck: boolean;
}

function reportOf(
  { name }: ObjectKey,
  workload: KubeObject | undefined,
  found: string | undefined,
): Report {
  if (workload === undefined) {
    return { name, state: "missing", text: `${name} (missing)`, isStuck: false };
  }
  const { state, text, isStuck } = workloadReadinessOf(workload, found);
  return { name, state, text: `${name} (${text})`, isStuck };
}

/** Cause that keeps a workload from becoming available by itself; `found` is the cause found in its pods. */
function lastingCauseOf(workload: KubeObject, found: string | undefined): string | undefined {
  if (workload.metadata.deletionTimestamp !== undefined) return undefined;
  const { refusal } = factsOf(workload);
  if (refusal !== undefined) return causeOfRefusal(refusal);
  return found === unready ? undefined : found;
}

/** Progress of a workload that may become available by itself. */
function progressOf(workload: KubeObject, found: string | undefined): string {
  if (workload.metadata.deletionTimestamp !== undefined) return "being deleted";
  const facts = factsOf(workload);
  const progress = found ?? countOf(facts, workload.metadata.generation);
  return `${progress}${facts.isLate ? ", ProgressDeadlineExceeded" : ""}`;
}

/** Counts available pods, unless they are enough and something else is missing. */
function countOf(facts: WorkloadFacts, generation = 0): string {
  const { observedGeneration, outdated, pods, available, wanted, condition } = facts;
  const text = `${available} of ${wanted} pods available`;
  if (outdated > 0 && hasEnough(facts)) return `rolling out, ${outdated} of ${pods} pods are old`;
  if (available < wanted) return text;
  if (observedGeneration < generation) return "rolling out, no new pod yet";
  return condition === undefined ? text : `${text}, but its condition Available is ${condition}`;
}

function isOverdue(workload: KubeObject): boolean {
  return workload.metadata.deletionTimestamp === undefined && factsOf(workload).isLate;
}

/** Whether a change is being rolled out. A paused Deployment does not go on by itself. */
function isRolling(workload: KubeObject): boolean {
  const { deletionTimestamp, generation = 0 } = workload.metadata;
  const { observedGeneration, isStarting, isPaused, outdated } = factsOf(workload);
  if (deletionTimestamp !== undefined || isPaused) return false;
  return isStarting || outdated > 0 || observedGeneration < generation;
}

/**
 * The workload after a later write of ours whose result was not observed yet. The observed status then belongs to an older generation or to a deleted
 * workload.
 */
export function afterWrite(
  workload: KubeObject,
  { uid, generation = 0 }: { readonly uid: string; readonly generation?: number },
): KubeObject {
  const { metadata } = workload;
  if (metadata.uid !== uid) {
    return { ...workload, metadata: { ...metadata, uid, generation }, status: undefined };
  }
  if (generation <= (metadata.generation ?? 0)) return workload;
  return { ...workload, metadata: { ...metadata, generation } };
}

/** Summary of the state of a workload. It changes when users want to know at once. */
export function turnOf(workload: KubeObject): string {
  const { refusal, isLate } = factsOf(workload);
  const cause = refusal === undefined ? "" : causeOfRefusal(refusal);
  return [workloadReadinessOf(workload).state, isLate, cause].join();
}

/**
 * Whether a workload runs its newest generation.
 *
 * A Deployment needs the condition Available and at least one pod, and all desired pods until its first rollout is complete. A StatefulSet or
 * DaemonSet needs all desired pods. No pod of an older template may remain unless the update strategy keeps it: it counts as available while a new
 * pod cannot start.
 *
 * True when another writer scaled the workload to zero. False while it is being deleted. Spec: engine-facts.md 5, knative-operator.md D-30.
 */
export function isAvailable(workload: KubeObject): boolean {
  if (workload.metadata.deletionTimestamp !== undefined) return false;
  if (isScaledToZero(workload)) return true;
  const facts = factsOf(workload);
  if (facts.observedGeneration < (workload.metadata.generation ?? 0)) return false;
  const isShort = facts.isStarting && facts.available < facts.wanted;
  return hasEnough(facts) && !isShort && facts.outdated === 0;
}

/** Whether enough pods are available, old or new. */
function hasEnough({ condition, wanted, available }: WorkloadFacts): boolean {
  if (condition === undefined) return available >= wanted;
  // The condition may be True without any pod, when all pods may be unavailable.
  return condition === "True" && available >= Math.min(1, wanted);
}

interface WorkloadFacts {
  readonly observedGeneration: number;
  /** Status of the condition Available of a Deployment. */
  readonly condition: string | undefined;
  readonly wanted: number;
  readonly available: number;
  /** Number of pods, of pods with the current template, and of pods with an older template that must be replaced. */
  readonly pods: number;
  readonly updated: number;
  readonly outdated: number;
  /** A Deployment has not completed the rollout of its current template. */
  readonly isStarting: boolean;
  /** Message of a Deployment about pods that cannot be created. */
  readonly refusal: string | undefined;
  /** A Deployment exceeded its progress deadline. */
  readonly isLate: boolean;
  /** A user paused a Deployment. */
  readonly isPaused: boolean;
}

function factsOf(workload: KubeObject): WorkloadFacts {
  const status = recordAt(workload, "status");
  const refused = conditionFieldsOf(workload, "ReplicaFailure");
  const { message = "" } = refused ?? {};
  const progress = conditionFieldsOf(workload, "Progressing");
  const counts = countsOf(workload);
  return {
    ...counts,
    observedGeneration: numberOf(status["observedGeneration"], -1),
    condition: workload.kind === "Deployment" ? availabilityOf(workload) : undefined,
    outdated: Math.max(0, counts.pods - counts.updated - mayBeOld(workload)),
    isStarting: isOnTheWay(progress),
    refusal: refused?.["status"] === "True" ? String(message) : undefined,
    isLate: progress?.["reason"] === "ProgressDeadlineExceeded",
    isPaused: progress?.["reason"] === "DeploymentPaused",
  };
}

function availabilityOf(workload: KubeObject): string {
  const status = conditionFieldsOf(workload, "Available")?.["status"];
  return typeof status === "string" ? status : "Unknown";
}

type Counts = Pick<WorkloadFacts, "wanted" | "available" | "pods" | "updated">;

function countsOf(workload: KubeObject): Counts {
  const status = recordAt(workload, "status");
  if (workload.kind === "DaemonSet") {
    const wanted = numberOf(status["desiredNumberScheduled"], 0);
    const available = numberOf(status["numberAvailable"], 0);
    const updated = numberOf(status["updatedNumberScheduled"], 0);
    return { wanted, available, pods: wanted, updated };
  }
  return {
    wanted: numberOf(recordAt(workload, "spec")["replicas"], 1),
    available: numberOf(status["availableReplicas"], 0),
    pods: numberOf(status["replicas"], 0),
    updated: numberOf(status["updatedReplicas"], 0),
  };
}

/** Number of pods that the update strategy leaves on an older template. */
function mayBeOld(workload: KubeObject): number {
  const strategy = recordAt(workload, "spec", "updateStrategy");
  if (strategy["type"] === "OnDelete") return Infinity;
  return numberOf(recordAt(strategy, "rollingUpdate")["partition"], 0);
}

/** Whether a rollout is not complete. A complete Deployment keeps this condition, even when its pods fail. The condition of a paused Deployment is Unknown. */
function isOnTheWay(progress: Readonly<Record<string, unknown>> | undefined): boolean {
  const { status, reason } = progress ?? {};
  return (status === "True" || status === "False") && reason !== "NewReplicaSetAvailable";
}

function namesOf(keys: readonly Pick<ObjectKey, "name">[]): readonly string[] {
  return [...new Set(keys.map(({ name }) => name))].toSorted();
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}
