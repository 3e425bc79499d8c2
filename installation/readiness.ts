import { recordAt } from "../api/fields.ts";
import { identityOf, type KubeObject, type ObjectKey } from "../api/kubernetes.ts";
import { causeOfRefusal, conditionOf, unready } from "./pod-cause.ts";

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
  /** What the message says of workloads that will not become available by themselves, or not in time. */
  readonly stuck: readonly string[];
}

const workloadKinds: readonly string[] = ["Deployment", "StatefulSet", "DaemonSet"];

/** Whether an object is of a kind whose readiness counts; those are watched as whole objects. */
export function isWorkload(key: Pick<ObjectKey, "apiVersion" | "kind">): boolean {
  return key.apiVersion.startsWith("apps/") && workloadKinds.includes(key.kind);
}

/**
 * Readiness of the workloads among the desired keys. `workloads` is by `identityOf(key)`, as an observation has them; `causes`, by the same,
 * is what was found out besides.
 */
export function readinessOf(
  desired: readonly ObjectKey[],
  workloads: ReadonlyMap<string, KubeObject>,
  causes: ReadonlyMap<string, string> = new Map(),
): Readiness {
  const wanted = desired.filter(isWorkload);
  const missing = wanted.filter((key) => !workloads.has(identityOf(key)));
  const waiting = wanted.filter((key) => {
    const workload = workloads.get(identityOf(key));
    return workload === undefined || !isAvailable(workload);
  });
  const reports = waiting
    .map((key) => reportOf(key, workloads.get(identityOf(key)), causes.get(identityOf(key))))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1));
  const named = reports.slice(0, maxNamed);
  return {
    available: waiting.length === 0,
    waiting: namesOf(waiting),
    missing: namesOf(missing),
    message: messageOf(named, { waiting: waiting.length, total: wanted.length }),
    stuck: named.filter(({ isStuck }) => isStuck).map(({ text }) => text),
  };
}

/** Those of the desired workloads that exist and are not available. */
export function waitingAmong(
  desired: readonly ObjectKey[],
  workloads: ReadonlyMap<string, KubeObject>,
): readonly KubeObject[] {
  return desired.filter(isWorkload).flatMap((key) => {
    const workload = workloads.get(identityOf(key));
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

/** What is said of one workload that is not available. */
interface Report {
  readonly text: string;
  readonly isStuck: boolean;
}

function reportOf(
  { name }: ObjectKey,
  workload: KubeObject | undefined,
  found: string | undefined,
): Report {
  if (workload === undefined) return { text: `${name} (missing)`, isStuck: false };
  const cause = lastingCauseOf(workload, found);
  return {
    text: `${name} (${cause ?? progressOf(workload, found)})`,
    isStuck: cause !== undefined || isOverdue(workload),
  };
}

/** Why a workload does not become available by itself, as far as it or its pods say so; `found` is what its pods say. */
function lastingCauseOf(workload: KubeObject, found: string | undefined): string | undefined {
  if (workload.metadata.deletionTimestamp !== undefined) return undefined;
  const { refusal } = factsOf(workload);
  if (refusal !== undefined) return causeOfRefusal(refusal);
  return found === unready ? undefined : found;
}

/** How far a workload is that may become available by itself. */
function progressOf(workload: KubeObject, found: string | undefined): string {
  if (workload.metadata.deletionTimestamp !== undefined) return "being deleted";
  const facts = factsOf(workload);
  const progress = found ?? countOf(facts, workload.metadata.generation);
  return `${progress}${facts.isLate ? ", ProgressDeadlineExceeded" : ""}`;
}

/** Says nothing of pods that are available where something else is missing. */
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

/**
 * A workload of which a later write is known that nobody has seen the outcome of: the status that was seen is of a generation before, or of a workload
 * that is gone.
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

/** Equal for two states of a workload between which nothing happened that people want to know of at once. */
export function turnOf(workload: KubeObject): string {
  const { refusal, isLate } = factsOf(workload);
  const cause = refusal === undefined ? "" : causeOfRefusal(refusal);
  return [isAvailable(workload), isLate, cause].join();
}

/**
 * Whether a workload runs what its newest generation says. Deployment: condition Available and a pod, and all pods that are wanted until it has had them once;
 * StatefulSet and DaemonSet: as many available pods as wanted; and no pod of an older template is left, which counts as available while a new one cannot start, unless it is to be left. Never while it is
 * being deleted. Spec: engine-facts.md 5, knative-operator.md D-30.
 */
export function isAvailable(workload: KubeObject): boolean {
  if (workload.metadata.deletionTimestamp !== undefined) return false;
  const facts = factsOf(workload);
  if (facts.observedGeneration < (workload.metadata.generation ?? 0)) return false;
  const isShort = facts.isStarting && facts.available < facts.wanted;
  return hasEnough(facts) && !isShort && facts.outdated === 0;
}

/** Whether there are enough available pods, old or new, to do the work. */
function hasEnough({ condition, wanted, available }: WorkloadFacts): boolean {
  if (condition === undefined) return available >= wanted;
  // The condition is True with as many pods less as a Deployment may miss, which may be all of them.
  return condition === "True" && available >= Math.min(1, wanted);
}

interface WorkloadFacts {
  readonly observedGeneration: number;
  /** The condition Available that a Deployment has, or is to have. */
  readonly condition: string | undefined;
  readonly wanted: number;
  readonly available: number;
  /** How many there are, how many of these have the present template, and how many an older one that are not to be left. */
  readonly pods: number;
  readonly updated: number;
  readonly outdated: number;
  /** A Deployment has not had all pods of its present template yet. */
  readonly isStarting: boolean;
  /** What a Deployment says of pods that cannot be created. */
  readonly refusal: string | undefined;
  /** A Deployment made no progress for the time that it may take. */
  readonly isLate: boolean;
}

function factsOf(workload: KubeObject): WorkloadFacts {
  const status = recordAt(workload, "status");
  const refused = conditionOf(workload, "ReplicaFailure");
  const { message = "" } = refused ?? {};
  const progress = conditionOf(workload, "Progressing");
  const counts = countsOf(workload);
  return {
    ...counts,
    observedGeneration: numberOf(status["observedGeneration"], -1),
    condition: workload.kind === "Deployment" ? availabilityOf(workload) : undefined,
    outdated: Math.max(0, counts.pods - counts.updated - mayBeOld(workload)),
    isStarting: isOnTheWay(progress),
    refusal: refused?.["status"] === "True" ? String(message) : undefined,
    isLate: progress?.["reason"] === "ProgressDeadlineExceeded",
  };
}

function availabilityOf(workload: KubeObject): string {
  const status = conditionOf(workload, "Available")?.["status"];
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

/** How many pods may have an older template by the will of whoever wrote the workload. */
function mayBeOld(workload: KubeObject): number {
  const strategy = recordAt(workload, "spec", "updateStrategy");
  if (strategy["type"] === "OnDelete") return Infinity;
  return numberOf(recordAt(strategy, "rollingUpdate")["partition"], 0);
}

/** A Deployment that was complete stays so in this condition whatever becomes of its pods. One that is paused says Unknown. */
function isOnTheWay(progress: Readonly<Record<string, unknown>> | undefined): boolean {
  const { status, reason } = progress ?? {};
  return (status === "True" || status === "False") && reason !== "NewReplicaSetAvailable";
}

function namesOf(keys: readonly ObjectKey[]): readonly string[] {
  return [...new Set(keys.map(({ name }) => name))].toSorted();
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}
