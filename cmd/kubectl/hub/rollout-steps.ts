import type { FleetSetKind } from "../../../api/fleet-set.ts";
import { approvalAfter, approvalBefore, hasSentence } from "../../../api/sentences.ts";
import { shortNameOf } from "../output/names.ts";
import { words } from "../output/steps.ts";
import type { RolloutItem } from "./rollout-item.ts";

/** Kind, name and namespace of a set. */
export interface PlacedSet {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  readonly name: string;
}

/** A `rollout` command for a set, for copy and paste. */
export function rolloutCommand(verb: string, set: PlacedSet, ...more: readonly string[]): string {
  return words(
    "kubectl",
    "knfleet",
    "rollout",
    verb,
    shortNameOf(set),
    "-n",
    set.namespace,
    ...more,
  );
}

/** Verbs of `rollout` that get a rollout going again, or say why it does not go on. */
export type NextVerb = "approve" | "resume" | "accept-selection" | "verify" | "retry" | "undo";

/** What a user may do when a rollout does not continue by itself, the most useful first. */
export function nextVerbs(item: RolloutItem): readonly NextVerb[] {
  const { outcome, phase, updateRevision, waitingFor, conditions } = item;
  const isGate =
    phase === "AwaitingApproval" || hasSentence(waitingFor ?? "", [approvalBefore, approvalAfter]);
  if (isGate) return ["approve"];
  if (phase === "Paused") return ["resume"];
  if (conditions.some(({ reason }) => reason === "SuspiciousShrink")) return ["accept-selection"];
  if (outcome !== "failed" || updateRevision === null) return [];
  return phase === "Halted" && isFailedByChecks(item) ? ["verify", "undo"] : ["retry", "undo"];
}

/** Whether checks alone have failed clusters. These are not stamped again by a retry: their answers end the halt. */
function isFailedByChecks({ notable }: RolloutItem): boolean {
  const failed = notable.filter(({ state }) => state === "Failed" || state === "TimedOut");
  const isByCheck = ({ reason }: (typeof failed)[number]): boolean =>
    reason === "WorkloadsBroken" || reason === "CheckFailed";
  return failed.length > 0 && failed.every(isByCheck);
}

const sentences: Readonly<Partial<Record<NextVerb, string>>> = {
  "accept-selection": "If the set may lose these clusters, accept its selection:",
  verify:
    "The rollout goes on when the checks were good for five minutes. Ask them now, or go back to the revision before:",
  retry: "Fix the clusters and retry the revision, or go back to the one before:",
};

/** The same as steps: commands, and sentences before them. */
export function rolloutSteps(item: RolloutItem): readonly string[] {
  const { kind, namespace, name } = item;
  return nextVerbs(item).flatMap((verb) => {
    const sentence = sentences[verb];
    const command = rolloutCommand(verb, { kind, namespace, name });
    return sentence === undefined ? [command] : [sentence, command];
  });
}
