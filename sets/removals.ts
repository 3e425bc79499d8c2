import { type Component, componentKeyOf } from "../api/component.ts";
import {
  type FleetSet,
  setAnnotations,
  setLabels,
  type StageSpec,
  steering,
} from "../api/fleet-set.ts";
import { targetId, nameId } from "../api/keys.ts";
import { timeOf } from "./component-condition.ts";
import { shortHashOf } from "./desired-spec.ts";
import { noRemovals, type Removals, type SelectedCluster, type SetFacts } from "./facts.ts";
import { concurrencyOf, durationOf, shareOf } from "./limits.ts";
import { isExcluded, isHeld, matchesProfile } from "./select-clusters.ts";
import { unmatchedStage } from "./stages.ts";

const usualAfterMs = 600_000;
/** A selection is suspicious when it loses more than this many clusters at once and more than a fifth of them. Spec: sets.md R11. */
const fewClusters = 5;
const largestShare = "20%";

export interface RemovalPlan {
  /** The components of clusters that the set does not select, without those of excluded and held clusters. */
  readonly left: readonly Component[];
  readonly removals: Removals;
  readonly nextDecisionAt: number | undefined;
  /** Hash of a suspicious selection. Nothing is removed until a user accepts it. */
  readonly suspicious: string | undefined;
  /** True when an acceptance is no longer needed, because the selection is not suspicious now. */
  readonly isAcceptanceOver: boolean;
}

/** Plans the removal of components whose clusters the set no longer selects. Pure. Spec: sets.md R11. */
export function planRemovals(
  { set, children, profiles }: Pick<SetFacts, "set" | "children" | "profiles">,
  selected: readonly SelectedCluster[],
  now: number,
): RemovalPlan {
  const keys = new Set(selected.map(nameId));
  const left = children.filter(
    (child) => !keys.has(targetId(child)) && !isKept(set, child, profiles),
  );
  const marked = children.filter(
    (child) => keys.has(targetId(child)) && unselectedAtOf(child) !== undefined,
  );
  const unmark = marked.map(componentKeyOf);
  const staying = left.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const allowed = Math.max(fewClusters, shareOf(largestShare, children.length, 0));
  const [last, ...others] = staying;
  const isLastRelabelled =
    last !== undefined && others.length === 0 && isRelabelled(set, last, profiles);
  const isEmptied = keys.size === 0 && staying.length > 0 && !isLastRelabelled;
  const isShrunk = staying.length > allowed || isEmptied;
  if (isShrunk) {
    const hash = shortHashOf([...keys].toSorted());
    const isAccepted = set.metadata.annotations?.[steering.acceptSelection] === hash;
    const removals = { ...noRemovals, unmark };
    if (!isAccepted) {
      return {
        left,
        removals,
        nextDecisionAt: undefined,
        suspicious: hash,
        isAcceptanceOver: false,
      };
    }
  }
  const { removals, nextDecisionAt } = dueRemovals(set, left, now);
  const isAcceptanceOver =
    !isShrunk && set.metadata.annotations?.[steering.acceptSelection] !== undefined;
  const all = { ...removals, unmark };
  return { left, removals: all, nextDecisionAt, suspicious: undefined, isAcceptanceOver };
}

/**
 * True for a component whose cluster left the set because its ClusterProfile changed: the profile exists and does not match, and the set's selection
 * is unchanged since it was sound. So a set whose last cluster moves to another set is empty on purpose. A set with a changed selector is not.
 */
function isRelabelled(
  { spec, metadata, status }: FleetSet,
  child: Component,
  profiles: SetFacts["profiles"],
): boolean {
  const profile = profiles.get(targetId(child));
  const isSound = status?.conditions?.some(
    (condition) => condition.type === "Selected" && condition.status === "True",
  );
  return (
    spec.clusters.from === "Selector" &&
    isSound === true &&
    status?.observedGeneration === metadata.generation &&
    profile !== undefined &&
    profile.metadata.deletionTimestamp === undefined &&
    // A cluster or its manager reports properties, and they may be missing for a moment.
    spec.clusters.selector?.matchProperties === undefined &&
    !matchesProfile(spec.clusters.selector ?? {}, profile)
  );
}

/** Number of components of a stage whose clusters are no longer selected, and that are not deleted yet. */
export function countLeaving({ left }: RemovalPlan, stage: string): number {
  return left.filter(
    ({ metadata: { labels, deletionTimestamp } }) =>
      deletionTimestamp === undefined && labels?.[setLabels.stage] === stage,
  ).length;
}

/** Of the components that were unselected for long enough, as many as may be removed at once. */
function dueRemovals(
  { spec }: FleetSet,
  left: readonly Component[],
  now: number,
): Pick<RemovalPlan, "removals" | "nextDecisionAt"> {
  const { policy = "Orphan", after, maxAtOnce = 5 } = spec.whenUnselected ?? {};
  const staying = left.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const markUnselected = staying
    .filter((child) => unselectedAtOf(child) === undefined)
    .map(componentKeyOf);
  const dueAt = (child: Component): number =>
    timeOf(unselectedAtOf(child), now) + durationOf(after, usualAfterMs);
  const marked = staying.filter((child) => unselectedAtOf(child) !== undefined);
  const due = marked
    .filter((child) => dueAt(child) <= now)
    .toSorted((a, b) => dueAt(a) - dueAt(b) || (targetId(a) < targetId(b) ? -1 : 1))
    .slice(0, Math.max(0, maxAtOnce - (left.length - staying.length)))
    .map(componentKeyOf);
  const later = marked.map(dueAt).filter((at) => at > now);
  const [orphan, remove] = policy === "Delete" ? [[], due] : [due, []];
  return {
    removals: { markUnselected, unmark: [], orphan, remove },
    nextDecisionAt: later.length === 0 ? undefined : Math.min(...later),
  };
}

/**
 * Plans the removal of the components of a deleted set. They become orphans, or are deleted stage by stage from the last one. Excluded and held
 * clusters keep their components. Pure.
 */
export function planDeletion(
  set: FleetSet,
  { children: all, profiles }: Pick<SetFacts, "children" | "profiles">,
): Removals {
  if (set.spec.deletionPolicy !== "Delete") {
    return { ...noRemovals, orphan: all.map(componentKeyOf) };
  }
  const { true: kept = [], false: children = [] } = Object.groupBy(all, (child) =>
    isKept(set, child, profiles) ? "true" : "false",
  );
  const stages: readonly StageSpec[] = [
    { name: unmatchedStage },
    ...(set.spec.rollout?.stages ?? []).toReversed(),
  ];
  const groups = Map.groupBy(children, ({ metadata }) =>
    stages.find(({ name }) => name === metadata.labels?.[setLabels.stage]),
  );
  // Components of a stage that was removed from the set are deleted first.
  const stage = [undefined, ...stages].find((one) => groups.has(one));
  const members = groups.get(stage) ?? [];
  const staying = members.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const limit = concurrencyOf(stage?.maxConcurrency, members.length);
  const slots = Math.max(0, limit - (members.length - staying.length));
  const remove = staying.slice(0, slots).map(componentKeyOf);
  return { ...noRemovals, orphan: kept.map(componentKeyOf), remove };
}

/** True for a component on an excluded or held cluster, which is not removed. */
function isKept(
  { spec, metadata }: FleetSet,
  child: Component,
  profiles: SetFacts["profiles"],
): boolean {
  const ref = child.spec?.clusterProfileRef;
  if (ref === undefined) return false;
  return (
    isHeld(profiles.get(targetId(child))) ||
    isExcluded(spec.clusters.exclude ?? [], ref, metadata.namespace)
  );
}

function unselectedAtOf({ metadata }: Component): string | undefined {
  return metadata.annotations?.[setAnnotations.unselectedAt];
}
