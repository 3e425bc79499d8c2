import { isRecord } from "../../access/json.ts";
import { identityOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";

/** How the workloads of an installation are doing. Names are sorted and unique; equal input gives equal output. */
export interface Readiness {
  /** Every desired workload exists and is available. */
  readonly available: boolean;
  /** Names of the workloads that are not available, missing ones included. */
  readonly waiting: readonly string[];
  /** Names of the workloads that do not exist. */
  readonly missing: readonly string[];
  /** For example `2 of 9 not available`; empty when all are. */
  readonly details: string;
}

const workloadKinds: readonly string[] = ["Deployment", "StatefulSet", "DaemonSet"];

/** Whether an object is of a kind whose readiness counts; those are watched as whole objects. */
export function isWorkload(key: Pick<ObjectKey, "apiVersion" | "kind">): boolean {
  return key.apiVersion.startsWith("apps/") && workloadKinds.includes(key.kind);
}

/** Readiness of the workloads among the desired keys. `workloads` is by `identityOf(key)`, as an observation has them. */
export function readinessOf(
  desired: readonly ObjectKey[],
  workloads: ReadonlyMap<string, KubeObject>,
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
    details: waiting.length === 0 ? "" : `${waiting.length} of ${wanted.length} not available`,
  };
}

/** The condition message of upstream. Spec: knative-operator.md 4.5. */
export function waitingMessage(readiness: Pick<Readiness, "waiting">): string {
  return `Waiting on deployments: ${readiness.waiting.join(", ")}`;
}

/**
 * Whether a workload runs what its newest generation says. Deployment: condition Available; StatefulSet and DaemonSet: as
 * many available pods as wanted. Never while it is being deleted. Spec: engine-facts.md 5.
 */
export function isAvailable(workload: KubeObject): boolean {
  if (workload.metadata.deletionTimestamp !== undefined) return false;
  const facts = factsOf(workload);
  if (facts.observedGeneration < (workload.metadata.generation ?? 0)) return false;
  if (workload.kind === "Deployment") return facts.availableCondition === "True";
  return facts.available >= facts.wanted;
}

interface WorkloadFacts {
  readonly observedGeneration: number;
  readonly availableCondition: string;
  readonly wanted: number;
  readonly available: number;
}

function factsOf(workload: KubeObject): WorkloadFacts {
  const spec = recordOf(workload["spec"]);
  const status = recordOf(workload["status"]);
  const isDaemonSet = workload.kind === "DaemonSet";
  return {
    observedGeneration: numberOf(status["observedGeneration"], -1),
    availableCondition: conditionStatus(status["conditions"], "Available"),
    wanted: isDaemonSet
      ? numberOf(status["desiredNumberScheduled"], 0)
      : numberOf(spec["replicas"], 1),
    available: numberOf(status[isDaemonSet ? "numberAvailable" : "availableReplicas"], 0),
  };
}

function conditionStatus(conditions: unknown, type: string): string {
  if (!Array.isArray(conditions)) return "";
  const found = conditions.map(recordOf).find((condition) => condition["type"] === type);
  const status = found?.["status"];
  return typeof status === "string" ? status : "";
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
