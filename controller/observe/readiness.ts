import { isRecord } from "../../api/fields.ts";
import { identityOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import { causeOfRefusal, conditionOf } from "./pod-cause.ts";

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
  return {
    available: waiting.length === 0,
    waiting: namesOf(waiting),
    missing: namesOf(missing),
    message: messageOf(waiting, { total: wanted.length, workloads, causes }),
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
  waiting: readonly ObjectKey[],
  {
    total,
    workloads,
    causes,
  }: {
    readonly total: number;
    readonly workloads: ReadonlyMap<string, KubeObject>;
    readonly causes: ReadonlyMap<string, string>;
  },
): string {
  if (waiting.length === 0) return "";
  const texts = waiting
    .map((key) => {
      const id = identityOf(key);
      const workload = workloads.get(id);
      const why = workload === undefined ? "missing" : whyNot(workload, causes.get(id));
      return `${key.name} (${why})`;
    })
    .toSorted();
  const more = texts.length - maxNamed;
  const named = texts.slice(0, maxNamed).join(", ");
  return `${waiting.length} of ${total} not available: ${named}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Why a workload is not available, as far as it says so itself; `found` is what its pods say. */
function whyNot(workload: KubeObject, found: string | undefined): string {
  if (workload.metadata.deletionTimestamp !== undefined) return "being deleted";
  const facts = factsOf(workload);
  if (facts.refusal !== undefined) return causeOfRefusal(facts.refusal);
  if (found !== undefined) return found;
  const late = facts.isLate ? ", ProgressDeadlineExceeded" : "";
  const isRolling = facts.availableCondition === "True" && facts.outdated > 0;
  const progress = isRolling
    ? `rolling out, ${facts.outdated} of ${facts.pods} pods are old`
    : `${facts.available} of ${facts.wanted} pods available`;
  return `${progress}${late}`;
}

/** Equal for two states of a workload between which nothing happened that people want to know of at once. */
export function turnOf(workload: KubeObject): string {
  const { refusal, isLate } = factsOf(workload);
  const cause = refusal === undefined ? "" : causeOfRefusal(refusal);
  return [isAvailable(workload), isLate, cause].join();
}

/**
 * Whether a workload runs what its newest generation says. Deployment: condition Available, and no pod of an older template is left, which
 * keeps the condition True while a new one cannot start; StatefulSet and DaemonSet: as many available pods as wanted. Never while it is being
 * deleted. Spec: engine-facts.md 5, knative-operator.md D-30.
 */
export function isAvailable(workload: KubeObject): boolean {
  if (workload.metadata.deletionTimestamp !== undefined) return false;
  const facts = factsOf(workload);
  if (facts.observedGeneration < (workload.metadata.generation ?? 0)) return false;
  if (workload.kind === "Deployment") {
    return facts.availableCondition === "True" && facts.outdated === 0;
  }
  return facts.available >= facts.wanted;
}

interface WorkloadFacts {
  readonly observedGeneration: number;
  readonly availableCondition: unknown;
  readonly wanted: number;
  readonly available: number;
  /** Of a Deployment: how many there are, and how many of these have an older template. */
  readonly pods: number;
  readonly outdated: number;
  /** What a Deployment says of pods that cannot be created. */
  readonly refusal: string | undefined;
  /** A Deployment made no progress for the time that it may take. */
  readonly isLate: boolean;
}

function factsOf(workload: KubeObject): WorkloadFacts {
  const spec = recordOf(workload["spec"]);
  const status = recordOf(workload["status"]);
  const isDaemonSet = workload.kind === "DaemonSet";
  const refused = conditionOf(workload, "ReplicaFailure");
  const { message = "" } = refused ?? {};
  const pods = numberOf(status["replicas"], 0);
  return {
    observedGeneration: numberOf(status["observedGeneration"], -1),
    availableCondition: conditionOf(workload, "Available")?.["status"],
    refusal: refused?.["status"] === "True" ? String(message) : undefined,
    isLate: conditionOf(workload, "Progressing")?.["reason"] === "ProgressDeadlineExceeded",
    wanted: isDaemonSet
      ? numberOf(status["desiredNumberScheduled"], 0)
      : numberOf(spec["replicas"], 1),
    pods,
    outdated: Math.max(0, pods - numberOf(status["updatedReplicas"], 0)),
    available: numberOf(status[isDaemonSet ? "numberAvailable" : "availableReplicas"], 0),
  };
}

function namesOf(keys: readonly ObjectKey[]): readonly string[] {
  return [...new Set(keys.map(({ name }) => name))].toSorted();
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
