import { isThrough, restartsOf, type Timing } from "./cluster-state.ts";
import type { Member, Stage } from "./facts.ts";
import {
  countsFromOf,
  type History,
  type Seen,
  stampOf,
  type Standing,
  standingOf,
} from "./standing.ts";

type Times = Pick<Timing, "now" | "deadlineMs" | "resumedAt">;

/** The history after the clusters were judged. */
export function historyAfter(history: History, stages: readonly Stage[], times: Times): History {
  const clusters = new Map<string, Seen>();
  for (const { members } of stages) {
    for (const { key, child, state } of members) {
      const before = standingOf(history, { key, child }, times.now);
      if (child === undefined || before === undefined) continue;
      clusters.set(key, {
        ...standingAfter(before, { child, state }, times),
        stamp: stampOf(child),
      });
    }
  }
  return { ...history, clusters };
}

function standingAfter(
  before: Standing,
  {
    child,
    state,
  }: { readonly child: NonNullable<Member["child"]>; readonly state: Member["state"] },
  times: Times,
): Standing {
  const { doneSince, countsFrom, isGuess } = before;
  if (isThrough(state)) {
    if (doneSince !== undefined) return before;
    const counts = Math.max(countsFrom, ...restartsOf(child, times));
    // A process that has just begun sees by the condition since when the cluster is ready.
    return { countsFrom: counts, doneSince: isGuess === true ? countsFrom : times.now };
  }
  // The present state of the cluster cannot be read.
  if (state.name === "Unreachable" || state.isDark === true) return before;
  return doneSince === undefined ? before : { countsFrom: countsFromOf(before, times) };
}
