import type { Component } from "../api/component.ts";
import { setAnnotations } from "../api/fleet-set.ts";
import { componentCondition, timeOf, updatedAtOf } from "./component-condition.ts";

/** The knowledge about a cluster since its last stamp. Times are ms since the epoch. */
export interface Standing {
  /** It was done when it was last seen to answer, since then without a break. Absent: it was not. */
  readonly doneSince?: number;
  /** From when its deadline counts: its stamp, or so much later as it was done meanwhile. */
  readonly countsFrom: number;
  /** The process began after the stamp: it may have been done before. */
  readonly isGuess?: true;
}

/**
 * From when the deadline of a cluster counts that is not done now. The time in which it was done does not count. When that was as long as the deadline without a break, the trouble
 * before it is over.
 */
export function countsFromOf(
  { countsFrom, doneSince }: Standing,
  { now, deadlineMs }: { readonly now: number; readonly deadlineMs: number | undefined },
): number {
  if (doneSince === undefined) return countsFrom;
  const doneMs = now - doneSince;
  return deadlineMs === undefined || doneMs >= deadlineMs ? now : countsFrom + doneMs;
}

/** The observations of one cluster by this process. */
export interface Seen extends Standing {
  /** The stamp that it is about. */
  readonly stamp: string;
}

/**
 * The observations of the clusters of a set by this process. Conditions show since when a cluster is ready or not, but no earlier state. A new
 * process has no observations of earlier stamps: it gives an unready cluster at least a minute.
 */
export interface History {
  /** When this process began to observe the set, in ms since the epoch. */
  readonly since: number;
  /** By `namespace/name` of the ClusterProfile. */
  readonly clusters: ReadonlyMap<string, Seen>;
  /** Since when stages have selected no cluster, in ms since the epoch, by their name. */
  readonly emptySince?: ReadonlyMap<string, number>;
}

/** Where a cluster stands; undefined: it has no component. */
export function standingOf(
  history: History | undefined,
  { key, child }: { readonly key: string; readonly child: Component | undefined },
  now: number,
): Standing | undefined {
  if (child === undefined) return undefined;
  const seen = history?.clusters.get(key);
  if (seen?.stamp === stampOf(child)) return seen;
  const stampedAt = updatedAtOf(child, now);
  const isSeen = history !== undefined && stampedAt > history.since;
  return isSeen ? { countsFrom: stampedAt } : guessOf(child, now);
}

/** The standing of a cluster whose stamp this process did not see, from its conditions alone. */
export function guessOf(child: Component, now: number): Standing {
  const { since } = componentCondition(child, "Ready");
  return { countsFrom: Math.max(updatedAtOf(child, now), timeOf(since, now)), isGuess: true };
}

/** Names the last stamp of a component. */
export function stampOf({ metadata }: Component): string {
  return metadata.annotations?.[setAnnotations.updatedAt] ?? "";
}
