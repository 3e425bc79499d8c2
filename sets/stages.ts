import { createHash } from "node:crypto";

import type { ClusterProfile } from "../api/cluster-profile.ts";
import type { Component } from "../api/component.ts";
import { type FleetSetSpec, setLabels, type StageSpec } from "../api/fleet-set.ts";
import {
  type ClusterState,
  isFailed,
  isReadyWith,
  movingStates,
  waitsForSet,
} from "./cluster-state.ts";
import type { Member, Revision, SelectedCluster, Stage, Stamp } from "./facts.ts";
import { matchesProfile } from "./select-clusters.ts";

/** Name of the last stage, which has the clusters that no other stage selects. */
export const unmatchedStage = "unmatched";

type Rollout = NonNullable<FleetSetSpec["rollout"]>;

/** A cluster and its ClusterProfile, by which its stage is found. */
export interface Candidate {
  readonly cluster: SelectedCluster;
  readonly profile: ClusterProfile | undefined;
}

/** Name of the first stage that matches a cluster; undefined when none does. Spec: sets.md R7. */
export function stageOf(stages: readonly StageSpec[], { cluster, profile }: Candidate) {
  return stages.find(({ selector, decisionGroup }) =>
    decisionGroup === undefined
      ? selector !== undefined && matchesProfile(selector, profile)
      : decisionGroup === cluster.group,
  )?.name;
}

/** The stages in their order with their members; the stage of unmatched clusters is the last. */
export function stagesOf(
  { stages = [] }: Pick<Rollout, "stages">,
  members: ReadonlyMap<string, readonly Member[]>,
): readonly Stage[] {
  const unmatched = members.get(unmatchedStage) ?? [];
  const named = stages.map((spec) => ({ spec, members: members.get(spec.name) ?? [] }));
  // The webhook refuses this name for a stage, but it may not have been running.
  const isNamed = stages.some(({ name }) => name === unmatchedStage);
  if (isNamed || (unmatched.length === 0 && stages.length > 0)) return named;
  return [...named, { spec: { name: unmatchedStage }, members: unmatched }];
}

/** The clusters of no stage that stop the rollout; none unless `unmatched` is Refuse. */
export function refusedClusters(
  { unmatched = "Last" }: Partial<Pick<Rollout, "unmatched">>,
  stages: readonly Stage[],
): readonly string[] {
  if (unmatched !== "Refuse") return [];
  const members = stages.find(({ spec }) => spec.name === unmatchedStage)?.members ?? [];
  return members.filter(({ state }) => state.name !== "Excluded").map(({ key }) => key);
}

/** True when a cluster waits for its revision. */
export function isToBegin({ name, reason }: ClusterState): boolean {
  return name === "Pending" && reason !== "Deleting" && reason !== waitsForSet;
}

/** Number of members that are changing now. Each holds a slot of its stage. Spec: sets.md R5. */
export function countInFlight(members: readonly Member[]): number {
  return members.filter(({ state: { name } }) => movingStates.includes(name)).length;
}

/**
 * The number of further members that may start. A cluster that is blocked and not ready since its last stamp counts as failed. Failed clusters beyond
 * the limit occupy slots. Spec: sets.md R5.
 */
export function freeSlotsOf(
  members: readonly Member[],
  {
    maxConcurrency,
    maxFailures,
  }: { readonly maxConcurrency: number; readonly maxFailures: number },
): number {
  const excess = Math.max(0, members.filter(isBroken).length - maxFailures);
  return Math.max(0, maxConcurrency - countInFlight(members) - excess);
}

/**
 * True for a cluster that waits for the next stamp and is not ready since the last one. It keeps its slot before ready clusters, because another
 * stamp cannot make it worse.
 */
function isLeftUnready({ child, state }: Member): boolean {
  if (child === undefined || !isToBegin(state)) return false;
  return isStamped(child) && !isReadyWith(child, child.spec?.version);
}

function isBroken(member: Member): boolean {
  return isFailed(member.state) || isBlockedUnready(member);
}

/** True for a blocked cluster that is not ready since its last stamp. */
function isBlockedUnready({ child, state: { name } }: Member): boolean {
  if (child === undefined || name !== "Blocked") return false;
  return isStamped(child) && !isReadyWith(child, undefined);
}

function isStamped({ metadata }: Component): boolean {
  return metadata.labels?.[setLabels.revision] !== undefined;
}

/** How the next members of a stage are chosen. */
export interface Turn {
  readonly stage: StageSpec;
  readonly revision: Revision;
  readonly order: string | undefined;
  /** True for members that may get the revision now; absent: all may. */
  readonly isDue?: (member: Member) => boolean;
}

/** The stamps of the next members, one for each free slot. Unready members come first, the others follow in the order of the set. Spec: sets.md R5. */
export function stampsOf(
  members: readonly Member[],
  { stage, revision, order = "Hashed", isDue = () => true }: Turn,
  slots: number,
): readonly Stamp[] {
  const pending = members.filter(({ state }) => isToBegin(state));
  if (slots <= 0 || pending.length === 0) return [];
  const { true: unready = [], false: ready = [] } = Object.groupBy(pending, (member) =>
    isLeftUnready(member) ? "true" : "false",
  );
  const first = (group: readonly Member[], count: number): readonly Member[] =>
    count <= 0 ? [] : inOrder(group.filter(isDue), order, revision.name).slice(0, count);
  const next = [...first(unready, slots), ...first(ready, slots - unready.length)];
  const { name, content } = revision;
  const written = { revision: name, stage: stage.name, template: content.template };
  return next.flatMap(({ key, child, desired }) =>
    "missing" in desired ? [] : [{ cluster: key, ...written, desired, child }],
  );
}

/** Members in the order in which they start. The order `Hashed` differs for each revision. Spec: sets.md 5, P12. */
export function inOrder(
  members: readonly Member[],
  order: string,
  revision: string,
): readonly Member[] {
  const placeOf = order === "Hashed" ? hashedPlace(revision) : labelledPlace(order);
  return members
    .map((member) => ({ member, place: placeOf(member) }))
    .toSorted(
      (a, b) =>
        a.place.number - b.place.number ||
        compare(a.place.text, b.place.text) ||
        compare(a.member.key, b.member.key),
    )
    .map(({ member }) => member);
}

/** The key by which members are sorted: by number, and then by text. */
interface Place {
  readonly number: number;
  readonly text: string;
}

function hashedPlace(revision: string): (member: Member) => Place {
  return ({ key, profile }) => {
    const uid = profile?.metadata.uid ?? key;
    const text = createHash("sha256").update(`${revision}/${uid}`).digest("hex");
    return { number: 0, text };
  };
}

/** Sorts by a label: rising numbers, then texts, then members without the label. For the order by name all keys are equal, and names decide. */
function labelledPlace(order: string): (member: Member) => Place {
  const label = order.startsWith("Label:") ? order.slice("Label:".length) : undefined;
  if (label === undefined) return () => ({ number: 0, text: "" });
  return ({ profile }) => {
    const text = profile?.metadata.labels?.[label];
    if (text === undefined) return { number: Number.MAX_VALUE, text: "" };
    return { number: /^\d{1,15}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER, text };
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
