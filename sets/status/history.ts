import { timestampOf } from "../../api/conditions.ts";
import type { RolloutPhase, StandingStatus } from "../../api/fleet-set.ts";
import { isFailed, isThrough, readySince, restartsOf, type Timing } from "../cluster-state.ts";
import { graceMs, hasRevision, updatedAtOf } from "../component-condition.ts";
import type { Member, Stage } from "../facts.ts";
import { countsFromOf, type Seen, stampOf, type Standing } from "../standing.ts";

type Times = Pick<Timing, "now" | "deadlineMs" | "resumedAt" | "minReadyMs">;

/** Bytes of the standings in the status of a set. */
const maxStoredBytes = 5_000;

/** What is known of each cluster after it was judged, by `namespace/name` of the ClusterProfile. */
export function seenAfter(stages: readonly Stage[], times: Times): ReadonlyMap<string, Seen> {
  const clusters = new Map<string, Seen>();
  for (const { members } of stages) {
    for (const { key, child, state, standing } of members) {
      if (child === undefined || standing === undefined) continue;
      const after = standingAfter(standing, { child, state }, times);
      clusters.set(key, { ...after, stamp: stampOf(child) });
    }
  }
  return clusters;
}

interface Judged {
  readonly child: NonNullable<Member["child"]>;
  readonly state: Member["state"];
}

function standingAfter(before: Standing, { child, state }: Judged, times: Times): Standing {
  const { doneSince, countsFrom, isGuess, hasFailed } = before;
  if (isThrough(state)) {
    if (doneSince !== undefined) return before;
    const counts = Math.max(countsFrom, ...restartsOf(child, times));
    // A process that has just begun sees by the condition since when the cluster is ready.
    const readyAt = Math.min(times.now, readySince(child, times.now) + times.minReadyMs);
    return { countsFrom: counts, doneSince: isGuess === true ? readyAt : times.now };
  }
  // The present state of the cluster cannot be read, or does not tell whether it has failed.
  if (state.name === "Unreachable" || state.isDark === true || state.isUncertain === true) {
    return before;
  }
  const isKnown = hasFailed === true && isGuess !== true;
  const counts = { countsFrom: countsFromOf(before, child, times) };
  return isKnown || isFailed(state) ? { ...counts, hasFailed: true } : counts;
}

interface JudgedStages {
  readonly stages: readonly Stage[];
  readonly seen: ReadonlyMap<string, Seen>;
  readonly phase: RolloutPhase;
}

/**
 * What the status hands on to the next process: the clusters that failed, and those whose deadline counts from another time than their conditions show. Without an entry a cluster counts
 * from its stamp, so that what has no room makes the next process careful.
 */
export function standingsAfter(
  { stages, seen, phase }: JudgedStages,
  revision: string,
  times: Times,
): readonly StandingStatus[] {
  const entries = stages
    .flatMap(({ members }) => members)
    .filter(({ child }) => child !== undefined && hasRevision(child, revision))
    .flatMap((member) => storedOf(member, seen.get(member.key), times))
    // A complete rollout has no deadline to hand on, and a new leader writes nothing about it.
    .filter(({ failed }) => failed === true || phase !== "Complete")
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (a.cluster < b.cluster ? -1 : 1));
  let bytes = 0;
  return entries.filter((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return bytes <= maxStoredBytes;
  });
}

function rankOf({ failed }: StandingStatus): number {
  return failed === true ? 0 : 1;
}

function storedOf(
  { key, child, state }: Member,
  after: Seen | undefined,
  times: Times,
): readonly StandingStatus[] {
  if (child === undefined || after === undefined) return [];
  if (state.name === "Pending" || state.name === "Excluded") return [];
  if (!isToBeStored(after, { child, state }, times)) return [];
  const { countsFrom, doneSince, hasFailed } = after;
  const stampedAt = updatedAtOf(child, times.now);
  return [
    {
      cluster: key,
      stampedAt: after.stamp,
      ...(countsFrom > stampedAt ? { countsFrom: timestampOf(new Date(countsFrom)) } : {}),
      ...(doneSince === undefined ? {} : { doneSince: timestampOf(new Date(doneSince)) }),
      ...(hasFailed === true ? { failed: true } : {}),
    },
  ];
}

function isToBeStored(
  { countsFrom, doneSince, hasFailed, isGuess }: Standing,
  { child, state }: Judged,
  times: Times,
): boolean {
  const { now, deadlineMs } = times;
  if (hasFailed === true) return isGuess !== true;
  if (doneSince !== undefined) {
    if (!isThrough(state)) return true;
    // The trouble before is over.
    if (deadlineMs === undefined || now - doneSince >= deadlineMs) return false;
    // By the conditions alone the next process would give it more time, see `guessOf`.
    if (doneSince - countsFrom > deadlineMs - graceMs) return true;
  }
  return countsFrom > Math.max(updatedAtOf(child, now), ...restartsOf(child, times));
}
