import type { Component } from "../api/component.ts";
import { conditionOf } from "../api/conditions.ts";
import { type FleetSet, setAnnotations, type StandingStatus } from "../api/fleet-set.ts";
import { graceMs, timeOf, updatedAtOf } from "./component-condition.ts";

/** The knowledge about a cluster since its last stamp. Times are ms since the epoch. */
export interface Standing {
  /** It was done when it was last seen to answer, since then without a break. Absent: it was not. */
  readonly doneSince?: number;
  /** From when its deadline counts: its stamp, or so much later as it was done meanwhile. */
  readonly countsFrom: number;
  /** It has failed, and was not done since. */
  readonly hasFailed?: true;
  /** Neither this process nor the status of the set knows the cluster since its stamp. */
  readonly isGuess?: true;
}

/** The times by which deadlines count. */
export interface DeadlineTimes {
  readonly now: number;
  /** Undefined: a cluster never times out. */
  readonly deadlineMs: number | undefined;
}

/**
 * From when the deadline of a cluster counts that is not done now. The time in which it was done does not count. When that was as long as the deadline without a break, the trouble
 * before it is over.
 */
export function countsFromOf(
  { countsFrom, doneSince }: Standing,
  child: Component,
  { now, deadlineMs }: DeadlineTimes,
): number {
  if (doneSince === undefined) return countsFrom;
  const brokeAt = Math.max(doneSince, unreadySince(child, now));
  const doneMs = brokeAt - doneSince;
  return deadlineMs === undefined || doneMs >= deadlineMs ? brokeAt : countsFrom + doneMs;
}

/** Since when a component is not ready. Now when it is: it is not done for another reason. */
function unreadySince(child: Component, now: number): number {
  const ready = conditionOf(child.status?.conditions, "Ready");
  return ready?.status === "True" ? now : timeOf(ready?.lastTransitionTime, now);
}

/** The observations of one cluster. */
export interface Seen extends Standing {
  /** The stamp that it is about. */
  readonly stamp: string;
}

/** The observations of the clusters of a set by this process. */
export interface History {
  /** When this process began to observe the set, in ms since the epoch. */
  readonly since: number;
  /** By `namespace/name` of the ClusterProfile. */
  readonly clusters: ReadonlyMap<string, Seen>;
  /** Since when stages have selected no cluster, in ms since the epoch, by their name. */
  readonly emptySince?: ReadonlyMap<string, number>;
}

/** What is known of the clusters of a set since their stamps. */
export interface Memory {
  readonly history: History | undefined;
  /** From the status of the set, by `namespace/name` of the ClusterProfile. */
  readonly stored: ReadonlyMap<string, Seen>;
  /** The status may lack a cluster that failed. */
  readonly mayLackFailures: boolean;
}

/**
 * The memory of this process, and the one that the status of the set hands on to the next process. The conditions of a component say since when it is ready or not, but
 * nothing about earlier times.
 */
export function memoryOf({ status = {} }: FleetSet, history: History | undefined, now: number) {
  const stored = new Map(
    (status.standings ?? []).map((one): readonly [string, Seen] => [one.cluster, seenOf(one, now)]),
  );
  const listed = [...stored.values()].filter(({ hasFailed }) => hasFailed).length;
  const failed = status.stages?.reduce((sum, stage) => sum + stage.failed, 0);
  return { history, stored, mayLackFailures: failed === undefined || listed < failed };
}

function seenOf({ stampedAt, countsFrom, doneSince, failed }: StandingStatus, now: number): Seen {
  return {
    stamp: stampedAt,
    countsFrom: timeOf(countsFrom ?? stampedAt, now),
    ...(doneSince === undefined ? {} : { doneSince: timeOf(doneSince, now) }),
    ...(failed === true ? { hasFailed: true } : {}),
  };
}

/** Where a cluster stands; undefined: it has no component. */
export function standingOf(
  memory: Memory,
  { key, child }: { readonly key: string; readonly child: Component | undefined },
  times: GuessTimes,
): Standing | undefined {
  if (child === undefined) return undefined;
  const { history, stored, mayLackFailures } = memory;
  const stamp = stampOf(child);
  const known = [history?.clusters.get(key), stored.get(key)].find((one) => one?.stamp === stamp);
  if (known !== undefined) return known;
  const stampedAt = updatedAtOf(child, times.now);
  if (history !== undefined && stampedAt > history.since) return { countsFrom: stampedAt };
  const guess = guessOf(child, times);
  return mayLackFailures ? { ...guess, hasFailed: true } : guess;
}

interface GuessTimes extends DeadlineTimes {
  /** The last decision halted the rollout. A guess ends no halt. */
  readonly isHalted: boolean;
}

/**
 * The standing of a cluster of which only the present conditions are known. Its deadline counts from its stamp. Only a component whose `Ready` has changed within the last minute of the
 * deadline, or later, gets a minute from there: it may have been done until then, with no process that saw it.
 */
export function guessOf(child: Component, { now, deadlineMs, isHalted }: GuessTimes): Standing {
  const stampedAt = updatedAtOf(child, now);
  if (isHalted || deadlineMs === undefined) return { countsFrom: stampedAt, isGuess: true };
  const ready = conditionOf(child.status?.conditions, "Ready");
  const changedAt = timeOf(ready?.lastTransitionTime, now);
  const atLeast = changedAt + Math.min(graceMs, deadlineMs) - deadlineMs;
  return { countsFrom: Math.max(stampedAt, atLeast), isGuess: true };
}

/** Names the last stamp of a component. */
export function stampOf({ metadata }: Component): string {
  return metadata.annotations?.[setAnnotations.updatedAt] ?? "";
}
