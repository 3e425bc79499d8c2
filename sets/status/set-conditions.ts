import { conditionOf, withCondition } from "../../api/conditions.ts";
import {
  type FleetSet,
  type NotableCluster,
  type RolloutPhase,
  steering,
} from "../../api/fleet-set.ts";
import { foreignText, wholeWords } from "../../api/foreign-text.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { scaledToZero } from "../../api/reasons.ts";
import { selectionShrank } from "../../api/sentences.ts";

/** Longest sentence in the status of a set, in bytes of JSON. It keeps a status with 32 stages and 20 clusters below 32 KiB. Spec: sets.md R14. */
const maxBytes = 300;

/** A sentence from users or other programs, as plain text. A long one ends after a whole word, and with `…`. */
export function shortText(cause: string): string {
  // One character more than fits, so that a cut is seen.
  const text = foreignText(cause, maxBytes + 1);
  if (fitting(text, maxBytes) === text) return text;
  return `${wholeWords(text, fitting(text, maxBytes - Buffer.byteLength("…")))}…`;
}

/** A text from users or other programs, as plain text, cut after the last whole character that fits. */
export function cutText(cause: string, limit: number): string {
  return fitting(foreignText(cause), limit).trimEnd();
}

function fitting(text: string, limit: number): string {
  let bytes = 0;
  let short = "";
  for (const character of text) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > limit) return short;
    short += character;
  }
  return short;
}

/** A condition without its time. */
export type Entry = Omit<Condition, "lastTransitionTime">;

/** Phase of a rollout, and why it waits or failed. */
export interface Outline {
  readonly phase: RolloutPhase;
  /** Why no cluster starts, as a sentence; empty when nothing stops it. */
  readonly waitingFor: string;
  /** Hash of a suspicious selection. */
  readonly suspicious: string | undefined;
}

/** The clusters of a set in numbers. */
export interface Summary {
  readonly clusters: Readonly<Record<"selected", number>> & Readonly<Record<string, number>>;
  /** Number of clusters that are done or excluded. */
  readonly through: number;
  /** Worst first. */
  readonly notable: readonly NotableCluster[];
}

/** The conditions of a set, with `entries` replaced or added. A condition that does not change keeps its time. */
export function conditionsWith(
  { status }: FleetSet,
  entries: readonly Entry[],
  now: number,
): readonly Condition[] {
  const before: readonly Condition[] = status?.conditions ?? [];
  return entries.reduce((all, entry) => withCondition(all, entry, new Date(now)), before);
}

/** Phases in which a failure stops every change until a user acts. */
const stalledPhases: readonly RolloutPhase[] = ["Halted", "RolledBack", "Blocked"];
/** Phases in which nothing is under way, and nothing has failed. */
const restingPhases: readonly RolloutPhase[] = ["Complete", "Paused"];

/**
 * The conditions with the one that kstatus reads: `Stalled` for a failure, `Reconciling` for work in progress. Each exists only while it is True.
 * Other phases have none.
 */
export function withKstatus(
  set: FleetSet,
  conditions: readonly Condition[],
  {
    phase,
    cause,
    now,
  }: {
    readonly phase: RolloutPhase | undefined;
    readonly cause: Pick<Entry, "reason" | "message">;
    readonly now: number;
  },
): readonly Condition[] {
  const others = conditions.filter(({ type }) => type !== "Stalled" && type !== "Reconciling");
  if (phase === undefined || restingPhases.includes(phase)) return others;
  const type = stalledPhases.includes(phase) ? "Stalled" : "Reconciling";
  const before = conditionOf(set.status?.conditions, type);
  const known = before === undefined ? others : [...others, before];
  return withCondition(known, { type, status: "True", ...cause }, new Date(now));
}

const movingPhases: readonly RolloutPhase[] = ["Rolling", "Soaking", "RollingBack"];

/** The conditions of a set, from its clusters and its rollout. */
export function conditionsOf(outline: Outline, summary: Summary): readonly Entry[] {
  const { phase, waitingFor } = outline;
  const message = phaseMessage(outline);
  const isMoving = movingPhases.includes(phase) && waitingFor === "";
  const isComplete = phase === "Complete";
  return [
    selectedOf(outline, summary),
    { type: "Progressing", status: conditionStatus(isMoving), reason: phase, message },
    { type: "Complete", status: conditionStatus(isComplete), reason: phase, message },
    healthyOf(summary),
    readyOf(outline, summary),
  ];
}

/** The obstacle that a rollout waits for, or else the meaning of its phase. */
export function phaseMessage({ phase, waitingFor }: Pick<Outline, "phase" | "waitingFor">): string {
  return waitingFor === "" ? phaseMessages[phase] : waitingFor;
}

function conditionStatus(isTrue: boolean): Condition["status"] {
  return isTrue ? "True" : "False";
}

function selectedOf({ suspicious }: Outline, { clusters }: Summary): Entry {
  const type = "Selected";
  if (suspicious === undefined) {
    return { type, status: "True", reason: "Selected", message: `Clusters: ${clusters.selected}` };
  }
  const message = selectionShrank.of(steering.acceptSelection, suspicious);
  return { type, status: "False", reason: "SuspiciousShrink", message };
}

function healthyOf({ notable }: Summary): Entry {
  const type = "Healthy";
  const worst = notable.at(0);
  if (worst === undefined) return { type, status: "True", reason: "Healthy", message: "" };
  const message = shortText(`${worst.cluster}: ${worst.message}`);
  // As the component itself says it: a warning, and still ready.
  if (worst.reason === scaledToZero) return { type, status: "True", reason: scaledToZero, message };
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
  AwaitingApproval: "A stage waits for an approval",
  Complete: "All stages were passed",
  Halted: "Too many clusters failed",
  RollingBack: "Clusters go back to the revision that was completed last",
  RolledBack: "The failed revision was given up",
  Paused: "The set is paused",
  Blocked: "The rollout cannot go on",
};
