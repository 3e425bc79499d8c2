import { type ClusterState, isThrough } from "./cluster-state.ts";
import type { Stage } from "./facts.ts";
import { type History, type Seen, stampOf, type Standing, standingOf } from "./standing.ts";

/** What is known after the clusters were judged. */
export function historyAfter(history: History, stages: readonly Stage[], now: number): History {
  const clusters = new Map<string, Seen>();
  for (const { members } of stages) {
    for (const { key, child, state } of members) {
      const before = standingOf(history, { key, child }, now);
      const after = standingAfter(before, state, now);
      if (child !== undefined && after !== undefined) {
        clusters.set(key, { ...after, stamp: stampOf(child) });
      }
    }
  }
  return { ...history, clusters };
}

function standingAfter(
  before: Standing | undefined,
  state: ClusterState,
  now: number,
): Standing | undefined {
  if (isThrough(state)) return { isDone: true, doneUntil: now };
  // Nobody can see how the cluster is now.
  if (state.name === "Unreachable" || state.isDark === true || before === undefined) return before;
  return { isDone: false, doneUntil: before.isDone ? now : before.doneUntil };
}
