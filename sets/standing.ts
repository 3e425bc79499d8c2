import type { Component } from "../api/component.ts";
import { setAnnotations } from "../api/fleet-set.ts";
import { updatedAtOf } from "./component-said.ts";

/** Whether a cluster has been done since its last stamp. Times are ms since the epoch. */
export interface Standing {
  /** It was done when it was last seen to answer. */
  readonly isDone: boolean;
  /** When it was last done; 0: not since its stamp. */
  readonly doneUntil: number;
}

/** What a process has seen of one cluster. */
export interface Seen extends Standing {
  /** The stamp that it is about. */
  readonly stamp: string;
}

/**
 * What a process has seen of the clusters of a set. Conditions tell since when a cluster is not ready, and not whether it was ready for long enough before. A process that begins knows
 * nothing of earlier stamps: then a cluster that is not ready gets more time, never less.
 */
export interface History {
  /** Since when the set has been looked at, in ms since the epoch. */
  readonly since: number;
  /** By `namespace/name` of the ClusterProfile. */
  readonly clusters: ReadonlyMap<string, Seen>;
  /** Since when stages have selected no cluster, in ms since the epoch, by their name. */
  readonly emptySince?: ReadonlyMap<string, number>;
}

/** Where a cluster stands; undefined: nobody has seen all of it since its stamp. */
export function standingOf(
  history: History | undefined,
  { key, child }: { readonly key: string; readonly child: Component | undefined },
  now: number,
): Standing | undefined {
  if (history === undefined || child === undefined) return undefined;
  const seen = history.clusters.get(key);
  if (seen?.stamp === stampOf(child)) return seen;
  return updatedAtOf(child, now) > history.since ? { isDone: false, doneUntil: 0 } : undefined;
}

/** Names the last stamp of a component. */
export function stampOf({ metadata }: Component): string {
  return metadata.annotations?.[setAnnotations.updatedAt] ?? "";
}
