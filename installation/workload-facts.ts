import { recordAt } from "../api/fields.ts";
import type { KubeObject, ObjectKey } from "../api/kubernetes.ts";
import { conditionFieldsOf } from "./pod-cause.ts";

/** The kinds of workloads whose readiness counts. */
export const workloadKinds = ["Deployment", "StatefulSet", "DaemonSet"] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

/** Whether a kind is one of workloads. */
export function isWorkloadKind(kind: string): kind is WorkloadKind {
  return workloadKinds.some((one) => one === kind);
}

/** What the status of a Deployment, StatefulSet or DaemonSet says. */
export interface WorkloadFacts {
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
  /** A StatefulSet has not completed the rollout of its current template. With a partition, or pods that a user replaces, it never does. */
  readonly isBetweenRevisions: boolean;
  /** Message of a Deployment about pods that cannot be created. */
  readonly refusal: string | undefined;
  /** A Deployment exceeded its progress deadline. */
  readonly isLate: boolean;
  /** A user paused a Deployment. */
  readonly isPaused: boolean;
}

/** The facts of a workload, as `kubectl rollout status` reads them. */
export function factsOf(workload: KubeObject): WorkloadFacts {
  const status = recordAt(workload, "status");
  const refused = conditionFieldsOf(workload, "ReplicaFailure");
  const { message = "" } = refused ?? {};
  const progress = conditionFieldsOf(workload, "Progressing");
  const counts = countsOf(workload);
  const keptOld = mayBeOld(workload);
  return {
    ...counts,
    observedGeneration: numberOf(status["observedGeneration"], -1),
    condition: workload.kind === "Deployment" ? availabilityOf(workload) : undefined,
    outdated: Math.max(0, counts.pods - counts.updated - keptOld),
    isStarting: isOnTheWay(progress),
    isBetweenRevisions: keptOld === 0 && status["currentRevision"] !== status["updateRevision"],
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

function numberOf(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

/** The name of a workload in a message: most are Deployments, so that only other kinds are named. */
export function workloadName({ kind, name }: Pick<ObjectKey, "kind" | "name">): string {
  return kind === "Deployment" ? name : `${kind} ${name}`;
}
