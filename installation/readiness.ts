import { byText } from "../api/fields.ts";
import { objectId } from "../api/keys.ts";
import { type KubeObject, lastWriteAt, type ObjectKey } from "../api/kubernetes.ts";
import { latenessWords } from "../api/reasons.ts";
import { causeOfRefusal, unready } from "./pod-cause.ts";
import { isScaledToZero } from "./scale.ts";
import { factsOf, isWorkloadKind, type WorkloadFacts, workloadName } from "./workload-facts.ts";

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

/**
 * How a workload is doing. The controller, the command line and the page all use this. `found`: the cause that its pods show. Without `now` a StatefulSet or
 * DaemonSet is never late.
 */
export function workloadReadinessOf(
  workload: KubeObject,
  found?: string,
  now?: Date,
): WorkloadReadiness {
  if (isAvailable(workload)) {
    const isScaled = isScaledToZero(workload);
    return {
      state: isScaled ? "scaledToZero" : "available",
      text: isScaled ? "scaled to zero" : "",
      isStuck: false,
    };
  }
  const cause = lastingCauseOf(workload, found);
  const late = latenessOf(workload, now);
  const isStuck = cause !== undefined || late !== undefined;
  return {
    state: !isStuck && isRolling(workload) ? "rollingOut" : "notAvailable",
    text: cause ?? [progressOf(workload, found), late ?? []].flat().join(", "),
    isStuck,
  };
}

/** Whether an object is of a kind whose readiness counts. These kinds are watched as whole objects. */
export function isWorkload(key: Pick<ObjectKey, "apiVersion" | "kind">): boolean {
  return key.apiVersion.startsWith("apps/") && isWorkloadKind(key.kind);
}

/**
 * Readiness of the desired workloads. `workloads` and `causes` are by `objectId(key)`; `causes` holds the causes
 * found in pods. `now`: see workloadReadinessOf.
 */
export function readinessOf(
  desired: readonly ObjectKey[],
  workloads: ReadonlyMap<string, KubeObject>,
  causes: ReadonlyMap<string, string> = new Map(),
  now?: Date,
): Readiness {
  const all = desired.filter(isWorkload).map((key) => {
    const id = objectId(key);
    return reportOf(key, { workload: workloads.get(id), found: causes.get(id), now });
  });
  const waiting = all.filter(({ state }) => !availableStates.includes(state));
  const missing = waiting.filter(({ state }) => state === "missing");
  const named = namedAmong(waiting);
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

/** The reports that the message names, in its order. Those that are stuck come before others: an Event and the sets go by the message. */
function namedAmong(waiting: readonly Report[]): readonly Report[] {
  const inOrder = byText(({ text }: Report) => text);
  return waiting
    .toSorted((a, b) => Number(b.isStuck) - Number(a.isStuck) || inOrder(a, b))
    .slice(0, maxNamed)
    .toSorted(inOrder);
}

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
  key: ObjectKey,
  {
    workload,
    found,
    now,
  }: {
    readonly workload: KubeObject | undefined;
    readonly found: string | undefined;
    readonly now: Date | undefined;
  },
): Report {
  const name = workloadName(key);
  if (workload === undefined) {
    return { name, state: "missing", text: `${name} (missing)`, isStuck: false };
  }
  const { state, text, isStuck } = workloadReadinessOf(workload, found, now);
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
  return found ?? countOf(factsOf(workload), workload.metadata.generation);
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

/** The deadline of workloads whose kind has none, as in `latenessWords`. A Deployment has this one by default. */
const deadlineMs = 600_000;

/** Why a workload that is not available is late. Undefined when it is not. */
function latenessOf(workload: KubeObject, now: Date | undefined): string | undefined {
  const { deletionTimestamp, generation = 0 } = workload.metadata;
  if (deletionTimestamp !== undefined) return undefined;
  const { isLate, observedGeneration } = factsOf(workload);
  const [ofDeployment, ofOthers] = latenessWords;
  if (isLate) return ofDeployment;
  if (workload.kind === "Deployment" || observedGeneration < generation) return undefined;
  const isOver =
    Date.parse(lastWriteAt(workload, "status") ?? "") + deadlineMs <= (now?.getTime() ?? 0);
  return isOver ? ofOthers : undefined;
}

/** Whether a change is being rolled out. A paused Deployment does not go on by itself. */
function isRolling(workload: KubeObject): boolean {
  const { deletionTimestamp, generation = 0 } = workload.metadata;
  const { observedGeneration, isStarting, isBetweenRevisions, isPaused, outdated } =
    factsOf(workload);
  if (deletionTimestamp !== undefined || isPaused) return false;
  return isStarting || isBetweenRevisions || outdated > 0 || observedGeneration < generation;
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

function namesOf(keys: readonly Pick<ObjectKey, "name">[]): readonly string[] {
  return [...new Set(keys.map(({ name }) => name))].toSorted();
}
