import { withCondition } from "../api/conditions.ts";
import {
  type FleetSet,
  type NotableCluster,
  type RolloutPhase,
  steering,
} from "../api/fleet-set.ts";
import type { Condition } from "../api/kubernetes.ts";

/** So long is a sentence in the status of a set, in bytes of JSON: with 32 stages and 20 clusters the status stays below 32 KiB. Spec: sets.md R14. */
const maxBytes = 300;

/** A text of people or of other programs, cut after the last whole character that fits. */
export function shortText(text: string, limit: number = maxBytes): string {
  let bytes = 0;
  let short = "";
  for (const character of text) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > limit) return short;
    short += character;
  }
  return short;
}

/** A condition before its time is known. */
export type Entry = Omit<Condition, "lastTransitionTime">;

/** Where a rollout is, in words. */
export interface Outline {
  readonly phase: RolloutPhase;
  /** Why nothing starts, as a sentence; empty: nothing stands in the way. */
  readonly waitingFor: string;
  /** Hash of a selection that is suspiciously small. */
  readonly suspicious: string | undefined;
}

/** The clusters of a set in numbers. */
export interface Summary {
  readonly clusters: Readonly<Record<"selected", number>> & Readonly<Record<string, number>>;
  /** Clusters that are done, or left as they are. */
  readonly through: number;
  /** Worst first. */
  readonly notable: readonly NotableCluster[];
}

/** The conditions of a set with these set anew; a condition that says the same as before keeps its time. */
export function conditionsWith(
  { status }: FleetSet,
  entries: readonly Entry[],
  now: number,
): readonly Condition[] {
  const before: readonly Condition[] = status?.conditions ?? [];
  return entries.reduce((all, entry) => withCondition(all, entry, new Date(now)), before);
}

const movingPhases: readonly RolloutPhase[] = ["Rolling", "Soaking", "RollingBack"];

/** What a set says about its clusters and its rollout. */
export function conditionsOf(outline: Outline, summary: Summary): readonly Entry[] {
  const { phase, waitingFor } = outline;
  const message = waitingFor === "" ? phaseMessages[phase] : waitingFor;
  const isMoving = movingPhases.includes(phase) && waitingFor === "";
  const isComplete = phase === "Complete";
  return [
    selectedOf(outline, summary),
    { type: "Progressing", status: statusOf(isMoving), reason: phase, message },
    { type: "Complete", status: statusOf(isComplete), reason: phase, message },
    healthyOf(summary),
    readyOf(outline, summary),
  ];
}

function statusOf(isTrue: boolean): Condition["status"] {
  return isTrue ? "True" : "False";
}

function selectedOf({ suspicious }: Outline, { clusters }: Summary): Entry {
  const type = "Selected";
  if (suspicious === undefined) {
    return { type, status: "True", reason: "Selected", message: `Clusters: ${clusters.selected}` };
  }
  const message = `The selection lost many clusters at once; nothing is removed until the annotation ${steering.acceptSelection} is ${suspicious}`;
  return { type, status: "False", reason: "SuspiciousShrink", message };
}

function healthyOf({ notable }: Summary): Entry {
  const type = "Healthy";
  const worst = notable.at(0);
  if (worst === undefined) return { type, status: "True", reason: "Healthy", message: "" };
  const message = shortText(`${worst.cluster}: ${worst.message}`);
  return { type, status: "False", reason: worst.state, message };
}

function readyOf({ phase, suspicious }: Outline, { clusters, through }: Summary): Entry {
  const type = "Ready";
  const isWhole = through === clusters.selected && suspicious === undefined;
  if (phase === "Complete" && isWhole) {
    return { type, status: "True", reason: "Ready", message: "" };
  }
  const message = `${through} of ${clusters.selected} clusters are done`;
  const reason = suspicious === undefined ? phase : "SuspiciousShrink";
  return { type, status: "False", reason, message };
}

const phaseMessages: Readonly<Record<RolloutPhase, string>> = {
  Waiting: "The next stage has not begun",
  Rolling: "Clusters are changing",
  Soaking: "A finished stage is watched",
  AwaitingApproval: "A finished stage waits for an approval",
  Complete: "All stages were passed",
  Halted: "Too many clusters failed",
  RollingBack: "Clusters go back to the revision that was completed last",
  RolledBack: "The failed revision was given up",
  Paused: "The set is paused",
  Blocked: "The rollout cannot go on",
};
