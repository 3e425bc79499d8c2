import { createHash } from "node:crypto";

import type { FleetSetSpec, StageSpec } from "../api/fleet-set.ts";
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
  if (unmatched.length === 0 && stages.length > 0) return named;
  return [...named, { spec: { name: unmatchedStage }, members: unmatched }];
}

/** How many members are changing now: each holds a slot of its stage. Spec: sets.md R5. */
export function countInFlight(members: readonly Member[]): number {
  return members.filter(({ state: { name } }) => name === "Updating" || name === "Settling").length;
}

/** The stamps of the first members, as many as there are slots. */
export function stampsOf(
  members: readonly Member[],
  { stage, revision }: { readonly stage: StageSpec; readonly revision: Revision },
  slots: number,
): readonly Stamp[] {
  return members.slice(0, Math.max(0, slots)).map(({ key, child }) => ({
    cluster: key,
    revision: revision.name,
    stage: stage.name,
    child,
  }));
}

/** Members in the order in which they are admitted. Each revision has another order unless the set names one. Spec: sets.md 5, P12. */
export function inOrder(
  members: readonly Member[],
  order: string,
  revision: string,
): readonly Member[] {
  const sortKey = (member: Member): string => {
    if (order === "Hashed") {
      const uid = member.profile?.metadata.uid ?? member.key;
      return createHash("sha256").update(`${revision}/${uid}`).digest("hex");
    }
    if (!order.startsWith("Label:")) return "";
    return member.profile?.metadata.labels?.[order.slice("Label:".length)] ?? "\uffff";
  };
  return members
    .map((member) => ({ member, by: sortKey(member) }))
    .toSorted((a, b) => compare(a.by, b.by) || compare(a.member.key, b.member.key))
    .map(({ member }) => member);
}

function compare(a: string, b: string): number {
  if (/^\d+$/.test(a) && /^\d+$/.test(b) && a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
