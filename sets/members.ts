import type { Component } from "../api/component.ts";
import { byText } from "../api/fields.ts";
import { type FleetSet, holdLabel } from "../api/fleet-set.ts";
import { targetId, nameId } from "../api/keys.ts";
import { clusterState, type Timing } from "./cluster-state.ts";
import { componentCondition, timeOf } from "./component-condition.ts";
import { DesiredSpecs } from "./desired-spec.ts";
import type { Member, Revision, SelectedCluster, SetFacts, Stage } from "./facts.ts";
import { durationOf } from "./limits.ts";
import { isExcluded, isHeld } from "./select-clusters.ts";
import { skipOf } from "./skips.ts";
import { type Candidate, stageOf, stagesOf, unmatchedStage } from "./stages.ts";
import { memoryOf, standingOf } from "./standing.ts";
import { isPaused, resumedAtOf, wasFailed, wasFailedByCheck } from "./status/set-status.ts";
import { verificationOf, verifiedState, verifyOf } from "./verify.ts";

const usualDeadlineMs = 900_000;

/** The revision and the time by which the states of clusters are judged. */
export interface JudgeFacts extends Pick<Timing, "now"> {
  readonly revision: Revision;
  /** When a user asked to try the revision again, RFC 3339. */
  readonly retriedAt: string | undefined;
  /** True when clusters wait for no other set, as in a rollback. */
  readonly ignoresOrder?: boolean;
}

/** The stages of a set with their clusters and the states of these. Pure. */
export function stagesWith(
  facts: SetFacts,
  selected: readonly SelectedCluster[],
  judgeFacts: JudgeFacts,
): readonly Stage[] {
  const { spec } = facts.set;
  const judge = judgeOf(facts, judgeFacts);
  const verified = verifierOf(facts, judgeFacts);
  // The oldest of several components for a cluster counts. A Map keeps the last value of a key.
  const byAge = facts.children.toSorted(byText(ageOf)).toReversed();
  const children = new Map(byAge.map((child) => [targetId(child), child]));
  const members = new Map<string, Member[]>();
  for (const cluster of selected) {
    const key = nameId(cluster);
    const profile = facts.profiles.get(key);
    const stage = stageOf(spec.rollout?.stages ?? [], { cluster, profile });
    const member = { key, profile, child: children.get(key) };
    const name = stage ?? unmatchedStage;
    const excluded =
      exclusionOf(facts.set, { cluster, profile }, stage) ??
      skipOf(facts.set, judgeFacts.revision.name, { key, stage: name });
    const list = members.get(name) ?? [];
    list.push(verified(judge(member, excluded), name));
    members.set(name, list);
  }
  return stagesOf(spec.rollout ?? {}, members);
}

/** Returns a function that judges clusters that are ready by the checks of their stage. */
function verifierOf(
  { set, answers }: SetFacts,
  judgeFacts: JudgeFacts,
): (member: Member, stage: string) => Member {
  const { revision, retriedAt, now, ignoresOrder } = judgeFacts;
  if (answers === undefined || ignoresOrder === true) return (member) => member;
  const { updateRevision, stages = [] } = set.status ?? {};
  const known = updateRevision === revision.name ? stages : [];
  const isComplete = revision.completedNumber === revision.number;
  // The mark of a revision that completes is written before the status says when its last stage was done.
  const completedAt = isComplete
    ? revision.record?.findLast(({ what }) => what === "complete")?.at
    : undefined;
  const { deadlineMs } = deadlineTimes(set, now);
  const shared = { answers, now, deadlineMs, isPaused: isPaused(set) };
  const { kind } = set;
  const { namespace, name, uid: setUid } = set.metadata;
  const common = {
    set: { kind, namespace, name },
    setUid,
    revision: revision.name,
    ...(retriedAt !== undefined && { retriedAt }),
  };
  return (member, stage) => {
    const verify = verifyOf(set, stage);
    const stored = known.find((one) => one.name === stage);
    const before =
      completedAt === undefined
        ? stored
        : { state: "Passed" as const, doneAt: completedAt, ...stored };
    // What a complete revision has passed is not asked again.
    if (verify === undefined || (isComplete && before?.doneAt === undefined)) return member;
    const about = { ...common, stage };
    const hasFailed = wasFailed(set, member.key);
    const hasFailedCheck = wasFailedByCheck(set, member.key);
    const context = { ...shared, about, verify, before, hasFailed, hasFailedCheck };
    const verification = verificationOf(member, context);
    if (verification === undefined) return member;
    return { ...member, state: verifiedState(member, verification, context), verification };
  };
}

/** Sorts the components for one cluster as their controller does: a refused component comes last. */
function ageOf(child: Component): string {
  const { creationTimestamp = "", name, uid } = child.metadata;
  const isRefused = componentCondition(child, "InstallSucceeded").reason === "DuplicateComponent";
  return [isRefused ? "1" : "0", creationTimestamp, name, uid].join("|");
}

/** The members, judged by another revision. */
export function judgedAnew(
  members: readonly Member[],
  facts: SetFacts,
  judgeFacts: JudgeFacts,
): readonly Member[] {
  const judge = judgeOf(facts, judgeFacts);
  return members.map((member) => {
    const { name, message } = member.state;
    return judge(member, name === "Excluded" ? message : undefined);
  });
}

type Judge = (
  member: Pick<Member, "key" | "profile" | "child">,
  excluded: string | undefined,
) => Member;

/** Returns a function that judges clusters by one revision. Clusters with equal overrides and values share one spec. */
function judgeOf({ set, obstacles, history, waits }: SetFacts, judgeFacts: JudgeFacts): Judge {
  const { content, name: revision } = judgeFacts.revision;
  const specs = new DesiredSpecs(content);
  const hasDigest = content.digest !== undefined;
  const timing = timingOf(set, judgeFacts);
  const memory = memoryOf(set, history, judgeFacts.now);
  return ({ key, profile, child }, excluded) => {
    const desired = profile === undefined ? { spec: {}, hash: "" } : specs.of(profile);
    const obstacle = obstacles.get(key);
    const known = { profile, child, desired };
    const waitsFor = judgeFacts.ignoresOrder === true ? undefined : waits?.get(key);
    const standing = standingOf(memory, { key, child }, timing);
    return {
      key,
      ...known,
      standing,
      state: clusterState(
        { ...known, revision, hasDigest, excluded, obstacle, standing, waitsFor },
        timing,
      ),
    };
  };
}

/** True when the rollout of a revision was halted at the last decision. */
function wasHalted({ status }: FleetSet, { name }: Revision): boolean {
  const isSame = status?.updateRevision === name;
  return isSame && status.stages?.some(({ state }) => state === "Halted") === true;
}

/** The times of a set by which the deadlines of its clusters count. */
export function deadlineTimes(
  set: FleetSet,
  now: number,
): Pick<Timing, "now" | "deadlineMs" | "resumedAt" | "minReadyMs"> {
  const { progressDeadline, minReadySeconds = 0 } = set.spec.rollout ?? {};
  const isEndless = progressDeadline === "None";
  return {
    now,
    deadlineMs: isEndless ? undefined : durationOf(progressDeadline, usualDeadlineMs),
    resumedAt: timeOf(resumedAtOf(set, now), now),
    minReadyMs: minReadySeconds * 1_000,
  };
}

function timingOf(set: FleetSet, { now, retriedAt, revision }: JudgeFacts): Timing {
  return {
    ...deadlineTimes(set, now),
    retriedAt: retriedAt === undefined ? 0 : Date.parse(retriedAt),
    isPaused: isPaused(set),
    isHalted: wasHalted(set, revision),
    mayBeHalted: set.status?.stages === undefined,
  };
}

/** Why a set excludes a cluster that it selects, as a sentence; undefined when it does not. Pure. */
export function exclusionOf(
  { spec, metadata }: FleetSet,
  { cluster, profile }: Candidate,
  stage: string | undefined,
): string | undefined {
  if (isExcluded(spec.clusters.exclude ?? [], cluster, metadata.namespace)) {
    return "spec.clusters.exclude names the cluster";
  }
  if (isHeld(profile)) return `The ClusterProfile has the label ${holdLabel}`;
  if (stage === undefined && spec.rollout?.unmatched === "Exclude") return "No stage selects it";
  return undefined;
}
