import type { StageSpec, StageStatus } from "../api/fleet-set.ts";
import {
  type ClusterState,
  type ClusterStateName,
  isFailed,
  isThrough,
  movingStates,
  waitsForSet,
} from "./cluster-state.ts";
import { timeOf, updatedAtOf } from "./component-condition.ts";
import type { Member, Stage } from "./facts.ts";
import { concurrencyOf, type Share, shareOf, usualShare } from "./limits.ts";
import { countInFlight, freeSlotsOf, isToBegin } from "./stages.ts";

/** The facts for the counts of a stage, besides its clusters. */
export interface TallyContext {
  readonly now: number;
  /** The stored progress of the stage in this rollout. */
  readonly before: Pick<StageStatus, "startSize" | "doneAt"> | undefined;
  /** `rollout.maxUnreachable` of the set. */
  readonly maxUnreachable: Share;
}

/** The limits of a stage in numbers. */
export interface StageLimits {
  readonly maxConcurrency: number;
  readonly maxFailures: number;
  readonly hasTooManyUnreachable: boolean;
}

/** Counts of a stage, and the remaining room in its limits. */
export interface Tally extends StageLimits {
  readonly size: number;
  readonly done: number;
  readonly failed: number;
  readonly inFlight: number;
  /** How many more clusters the limits let start. */
  readonly free: number;
  /** Clusters that could start now. */
  readonly pending: number;
  readonly unreachable: number;
  readonly maxUnreachable: number;
  readonly blocked: number;
  /** The obstacle of the first cluster that waits for another set. Undefined: no cluster waits. */
  readonly waitsFor: string | undefined;
  /** Clusters that the stage has to wait for. */
  readonly unfinished: number;
  /** Clusters that were stamped before the stage was done and stopped being done: they change again, or have failed since. */
  readonly relapsed: number;
  readonly isBlocked: boolean;
}

/** Counts the clusters of a stage. Pure. */
export function tallyOf({ spec, members }: Stage, context: TallyContext): Tally {
  const states = members.map(({ state }) => state).filter(({ name }) => name !== "Excluded");
  const count = (...names: readonly ClusterStateName[]): number =>
    states.filter(({ name }) => names.includes(name)).length;
  const size = states.length;
  // Limits do not shrink below the limits at the start.
  const base = Math.max(size, context.before?.startSize ?? 0);
  const maxFailures = shareOf(spec.maxFailures ?? 0, base, 0);
  const maxUnreachable = shareOf(
    unreachableShare(spec, context),
    base,
    // The only cluster of a stage has to answer: nothing is proven without it.
    base > 1 ? 1 : 0,
  );
  const failed = states.filter(isFailed).length;
  const maxConcurrency = concurrencyOf(spec.maxConcurrency, base);
  const unreachable = states.filter(({ name, isDark }) => isDark ?? name === "Unreachable").length;
  return {
    size,
    failed,
    unreachable,
    done: states.filter(isThrough).length,
    inFlight: countInFlight(members),
    pending: states.filter(isToBegin).length,
    unfinished: states.filter(isUnfinished).length,
    relapsed: members.filter((member) => isRelapsed(member, context)).length,
    free: freeSlotsOf(members, { maxConcurrency, maxFailures }),
    maxConcurrency,
    maxFailures,
    maxUnreachable,
    hasTooManyUnreachable: unreachable > maxUnreachable,
    blocked: count("Blocked"),
    waitsFor: states.find(({ reason }) => reason === waitsForSet)?.message,
    isBlocked: count("Blocked") > maxFailures,
  };
}

function isUnfinished(state: ClusterState): boolean {
  const open: readonly ClusterStateName[] = ["Pending", ...movingStates];
  return open.includes(state.name);
}

function isRelapsed({ child, state, standing }: Member, { before, now }: TallyContext): boolean {
  if (before?.doneAt === undefined || child === undefined) return false;
  const isChanging = movingStates.includes(state.name);
  const hasJustFailed = isFailed(state) && standing?.hasFailed !== true;
  return (isChanging || hasJustFailed) && updatedAtOf(child, now) <= timeOf(before.doneAt, now);
}

/** That too many clusters of a stage are unreachable. */
export function unreachableSentence(
  { spec }: Stage,
  { unreachable, maxUnreachable: number }: Tally,
  context: TallyContext,
): string {
  const share = unreachableShare(spec, context);
  const are = unreachable === 1 ? "is" : "are";
  const limit = limitText({ name: "maxUnreachable", share, number });
  return `Stage ${spec.name} waits: ${clustersText(unreachable)} ${are} unreachable, ${limit}`;
}

function unreachableShare(spec: StageSpec, { maxUnreachable }: TallyContext): Share {
  return spec.maxUnreachable ?? maxUnreachable ?? usualShare;
}

/** How many clusters of a stage may fail. */
export function failuresText({ maxFailures: share }: StageSpec, number: number): string {
  return limitText({ name: "maxFailures", share, number });
}

/** `1 cluster`, `3 clusters`. */
export function clustersText(count: number): string {
  return count === 1 ? "1 cluster" : `${count} clusters`;
}

/** A limit of a stage, from the spec of the set. */
interface NamedLimit {
  readonly name: "maxFailures" | "maxUnreachable";
  readonly share: Share;
  /** The number of clusters that the share is. */
  readonly number: number;
}

/** `maxFailures is 2 (10%)`: a limit of a stage, for people. */
function limitText({ name, share, number }: NamedLimit): string {
  const percentage = typeof share === "string" ? ` (${share})` : "";
  return `${name} is ${number}${percentage}`;
}
