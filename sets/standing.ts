import type { Component } from "../api/component.ts";
import { setAnnotations } from "../api/fleet-set.ts";
import { saidBy, timeOf, updatedAtOf } from "./component-said.ts";

/** What is known of a cluster since its last stamp. Times are ms since the epoch. */
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

/** What a process has seen of one cluster. */
export interface Seen extends Standing {
  /** The stamp that it is about. */
  readonly stamp: string;
}

/**
 * What a process has seen of the clusters of a set. Conditions tell since when a cluster is ready or not, and not what it was before. A process that begins knows nothing of earlier
 * stamps: then a cluster that is not ready gets a minute at least.
 */
export interface History {
  /** Since when the set has been looked at, in ms since the epoch. */
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

/** Where a cluster stands whose stamp nobody here has seen, by its conditions alone. */
export function guessOf(child: Component, now: number): Standing {
  const { since } = saidBy(child, "Ready");
  return { countsFrom: Math.max(updatedAtOf(child, now), timeOf(since, now)), isGuess: true };
}

/** Names the last stamp of a component. */
export function stampOf({ metadata }: Component): string {
  return metadata.annotations?.[setAnnotations.updatedAt] ?? "";
}
