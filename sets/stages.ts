import { createHash } from "node:crypto";

import { type FleetSetSpec, setLabels, type StageSpec } from "../api/fleet-set.ts";
import { type ClusterState, isReadyWith } from "./cluster-state.ts";
import type { Member, Revision, SelectedCluster, Stage, Stamp } from "./facts.ts";
import { matchesLabels } from "./select-clusters.ts";

/** Name of the stage of the clusters that no stage selects. */
export const unmatchedStage = "unmatched";

type Rollout = NonNullable<FleetSetSpec["rollout"]>;

/** A cluster before its stage is known. */
export interface Candidate {
  readonly cluster: SelectedCluster;
  readonly labels: Readonly<Record<string, string>>;
}

/** The stage of a cluster: the first that matches. Undefined: none does. Spec: sets.md R7. */
export function stageOf(stages: readonly StageSpec[], { cluster, labels }: Candidate) {
  return stages.find(({ selector, decisionGroup }) =>
    decisionGroup === undefined
      ? selector !== undefined && matchesLabels(selector, labels)
      : decisionGroup === cluster.group,
  )?.name;
}

/** The stages in their order, each with its members, and the stage of the unmatched last. */
export function stagesOf(
  { stages = [] }: Pick<Rollout, "stages">,
  members: ReadonlyMap<string, readonly Member[]>,
): readonly Stage[] {
  const unmatched = members.get(unmatchedStage) ?? [];
  const named = stages.map((spec) => ({ spec, members: members.get(spec.name) ?? [] }));
  // The webhook refuses a stage of that name, but may not have seen it.
  const isNamed = stages.some(({ name }) => name === unmatchedStage);
  if (isNamed || (unmatched.length === 0 && stages.length > 0)) return named;
  return [...named, { spec: { name: unmatchedStage }, members: unmatched }];
}

/** The clusters of no stage for which the rollout does not start; none unless `unmatched` is Refuse. */
export function refusedClusters(
  { unmatched = "Last" }: Partial<Pick<Rollout, "unmatched">>,
  stages: readonly Stage[],
): readonly string[] {
  if (unmatched !== "Refuse") return [];
  const members = stages.find(({ spec }) => spec.name === unmatchedStage)?.members ?? [];
  return members.filter(({ state }) => state.name !== "Excluded").map(({ key }) => key);
}

/** Whether a cluster may get the revision now. */
export function isToBegin({ name, reason }: ClusterState): boolean {
  return name === "Pending" && reason !== "Deleting";
}

/** How many members are changing now: each holds a slot of its stage. Spec: sets.md R5. */
export function countInFlight(members: readonly Member[]): number {
  return members.filter(({ state: { name } }) => name === "Updating" || name === "Settling").length;
}

/**
 * Whether a stamp left a cluster that waits for the next one not ready. It holds a slot against those that are ready, whatever was edited meanwhile; the next
 * stamp of it breaks nothing more.
 */
function isLeftUnready({ child, state }: Member): boolean {
  if (child === undefined || !isToBegin(state)) return false;
  const isStamped = child.metadata.labels?.[setLabels.revision] !== undefined;
  return isStamped && !isReadyWith(child, child.spec?.version);
}

/** How the pending members of a stage follow each other. */
export interface Turn {
  readonly stage: StageSpec;
  readonly revision: Revision;
  readonly order: string | undefined;
  /** Which of them get the revision now; absent: all. */
  readonly isDue?: (member: Member) => boolean;
}

/** The stamps of the next members, as many as there are slots: first those that are not ready anyway, then the others in the order of the set. Spec: sets.md R5. */
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

/** Members in the order in which they are admitted. Each revision has another order unless the set names one. Spec: sets.md 5, P12. */
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

/** Where a member stands in an order: numbers count first. */
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

/** By a label: numbers upwards, then texts, then those without the label. By name: all are equal. */
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
