import type { ClusterProfile } from "../api/cluster-profile.ts";
import type { Component } from "../api/component.ts";
import { setLabels } from "../api/fleet-set.ts";
import { goneContent } from "./content.ts";
import { DesiredSpecs } from "./desired-spec.ts";
import type { Member, Revision, Stage, Stamp } from "./facts.ts";
import type { StageProgress } from "./stage-progress.ts";
import { countInFlight, isToBegin, stampsOf } from "./stages.ts";
import { refusedStep } from "./version-step.ts";

/** Why the clusters cannot go back from the failed revision to the current one, as a sentence. Undefined when they can. Spec: sets.md R10. */
export function rollbackObstacle(
  members: readonly Member[],
  current: Revision | undefined,
  failed: Revision,
): string | undefined {
  if (current === undefined) return "There is no revision that was completed before";
  if (current.name === failed.name) return "The failed revision is the one that was completed last";
  const gone = goneContent(current.content, failed.content);
  if (gone !== undefined) return `Revision ${current.name} ${gone}`;
  const specs = new DesiredSpecs(current.content);
  for (const member of members) {
    if (member.child === undefined || !isToReturn(member, current)) continue;
    const obstacle = returnObstacle(member.child, member.profile, specs);
    if (obstacle !== undefined) return `${member.key}: ${obstacle}`;
  }
  return undefined;
}

function returnObstacle(
  { kind, status }: Component,
  profile: ClusterProfile | undefined,
  specs: DesiredSpecs,
): string | undefined {
  if (profile === undefined) return undefined;
  const desired = specs.of(profile);
  if ("missing" in desired) return `the ClusterProfile gives no value for $(${desired.missing})`;
  return refusedStep({ kind, installed: status?.version }, desired.spec["version"]);
}

/** The next step of a rollback. */
export interface RollbackStep {
  readonly stamps: readonly Stamp[];
  /** The stage that goes back now; undefined when all stages are back. */
  readonly stage: string | undefined;
}

/**
 * The next clusters that go back to the current revision. The last stage goes first, without gates, and only clusters with another revision change. The
 * states of the members have to be judged by the current revision. Spec: sets.md R10.
 */
export function rollbackStep(
  stages: readonly Stage[],
  current: Revision,
  {
    order,
    progress,
  }: { readonly order: string | undefined; readonly progress: readonly StageProgress[] },
): RollbackStep {
  const isDue = (member: Member): boolean => isToReturn(member, current) && isToBegin(member.state);
  for (const [at, { spec, members }] of [...stages.entries()].toReversed()) {
    const inFlight = countInFlight(members);
    if (inFlight === 0 && !members.some(isDue)) continue;
    const slots = (progress.at(at)?.limits.maxConcurrency ?? 0) - inFlight;
    const turn = { stage: spec, revision: current, order, isDue };
    return { stamps: stampsOf(members, turn, slots), stage: spec.name };
  }
  return { stamps: [], stage: undefined };
}

/** Whether the set stamped a cluster with another revision. An excluded cluster keeps its revision. */
function isToReturn({ child, state }: Member, current: Revision): boolean {
  const stamped = child?.metadata.labels?.[setLabels.revision];
  return stamped !== undefined && stamped !== current.name && state.name !== "Excluded";
}
