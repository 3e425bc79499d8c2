import type { Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetStatus,
  setAnnotations,
  setLabels,
  type StageStatus,
  steering,
} from "../../api/fleet-set.ts";
import { describe, nameFirst } from "../../api/kubernetes.ts";
import { approvalAfter } from "../../api/sentences.ts";
import type { Stamp } from "../../sets/facts.ts";
import { type Deed, deeds, type RecordEntry } from "../../sets/status/record-entry.ts";
import type { NewEvent } from "../events.ts";

/** The Events for what changed between two states of a set's status. Pure. Spec: sets.md R15. */
export function setEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly NewEvent[] {
  return [
    ...rolloutEvents(before, after),
    ...(after.stages ?? []).flatMap((stage) =>
      stageEvents(stageBefore(before, after, stage), stage),
    ),
    ...phaseEvents(before, after),
    ...approvalEvents(before, after),
    ...selectionEvents(before, after),
  ];
}

/** Events for approvals of another revision than the current one. Spec: sets.md R9. */
export function editEvents(before: FleetSet, after: FleetSet): readonly NewEvent[] {
  const { annotations = {} } = after.metadata;
  const known = before.metadata.annotations ?? {};
  const { updateRevision } = after.status ?? {};
  return Object.entries(annotations)
    .filter(([name, value]) => name.startsWith(steering.approve) && known[name] !== value)
    .filter(([, value]) => value.split(" ")[0] !== updateRevision)
    .map(([name, value]) =>
      warning(
        "ApprovalIgnored",
        `${name} approves ${value.split(" ")[0] ?? ""}, and ${updateRevision ?? "nothing"} is rolled out`,
      ),
    );
}

const deedReasons: Readonly<Record<Deed, string>> = {
  approve: "Approved",
  pause: "Paused",
  resume: "Resumed",
  retry: "Retried",
  undo: "Undone",
  skip: "Skipped",
  abort: "Aborted",
};

/** The Events for actions of users on a rollout. The steps of a revision have Events of their own. Spec: sets.md R15. */
export function recordEvents(entries: readonly RecordEntry[]): readonly NewEvent[] {
  return entries.flatMap(({ what, user, stage, subject, reason }) => {
    const deed = deeds.find((one) => one === what);
    if (deed === undefined) return [];
    const who = user ?? "Somebody";
    const about = [
      ...(subject === undefined ? [] : [subject]),
      ...(stage === undefined ? [] : [`in stage ${stage}`]),
    ];
    const why = reason === undefined ? "" : `: ${reason}`;
    return [normal(deedReasons[deed], `${[`${who}: ${deed}`, ...about].join(" ")}${why}`)];
  });
}

/** The Event for components that are stamped again because values of their ClusterProfiles changed. Spec: sets.md 8. */
export function stampEvents(stamps: readonly Stamp[]): readonly NewEvent[] {
  const clusters = stamps.filter(hasChangedValues).map(({ cluster }) => cluster);
  if (clusters.length === 0) return [];
  const named = nameFirst(clusters, 3);
  return [normal("ValuesChanged", `Values of ${named} changed; they get them now`)];
}

function hasChangedValues({ child, revision, desired }: Stamp): boolean {
  const { labels = {}, annotations = {} } = child?.metadata ?? {};
  const isSameRevision = labels[setLabels.revision] === revision;
  return isSameRevision && annotations[setAnnotations.spec] !== desired.hash;
}

/** The Event for a component that was deleted although the set wants it. Spec: sets.md R8. */
export function deletionEvents(set: FleetSet, { kind, metadata }: Component): readonly NewEvent[] {
  const isLeaving = metadata.annotations?.[setAnnotations.unselectedAt] !== undefined;
  if (isLeaving || set.metadata.deletionTimestamp !== undefined) return [];
  const { namespace, name } = metadata;
  const subject = describe({ kind, namespace, name });
  return [
    warning("ComponentDeleted", `${subject} was deleted by somebody; its cluster gets another one`),
  ];
}

/** The Event for a deleted set whose components stay, because its spec was changed while no controller saw it. Spec: sets.md R13. */
export const ignoredPolicyEvent: NewEvent = {
  type: "Warning",
  reason: "DeletionPolicyIgnored",
  message:
    "The spec was changed while no controller saw it, before the deletion or after it: the components stay. To remove them, delete them",
};

function rolloutEvents(
  before: FleetSetStatus | undefined,
  { updateRevision, rollout }: FleetSetStatus,
): readonly NewEvent[] {
  if (updateRevision === undefined || updateRevision === before?.updateRevision) return [];
  const phase = rollout?.phase ?? "";
  return [normal("RolloutStarted", `Revision ${updateRevision} is rolled out (${phase})`)];
}

/** The stored stage, if it belongs to this rollout. */
function stageBefore(
  before: FleetSetStatus | undefined,
  { updateRevision }: FleetSetStatus,
  { name }: StageStatus,
): StageStatus | undefined {
  if (before?.updateRevision !== updateRevision) return undefined;
  return before?.stages?.find((stage) => stage.name === name);
}

function stageEvents(
  before: StageStatus | undefined,
  { name, state, done, clusters }: StageStatus,
): readonly NewEvent[] {
  if (state !== "Passed" || before === undefined || before.state === state) return [];
  return [normal("StagePassed", `Stage ${name}: ${done} of ${clusters} clusters are done`)];
}

function phaseEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly NewEvent[] {
  const phase = after.rollout?.phase;
  if (before?.rollout?.phase === phase && before?.updateRevision === after.updateRevision) {
    return [];
  }
  const message = after.rollout?.waitingFor ?? "";
  if (phase === "Halted" || phase === "RolledBack") return [warning(phase, message)];
  return phase === "Complete" ? [normal("Complete", completion(after))] : [];
}

/** For each stage that waits for an approval, before it begins or after it is done. */
function approvalEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly NewEvent[] {
  const { phase, stage = "", waitingFor } = after.rollout ?? {};
  if (phase !== "AwaitingApproval") return [];
  const isSame =
    before?.rollout?.phase === phase &&
    before.rollout.stage === stage &&
    before.updateRevision === after.updateRevision;
  const message = waitingFor ?? approvalAfter.of(stage);
  return isSame ? [] : [normal("AwaitingApproval", message)];
}

function completion({ updateRevision = "", clusters = {} }: FleetSetStatus): string {
  const { done = 0 } = clusters;
  return `Revision ${updateRevision} has passed all stages; clusters that are done: ${done}`;
}

function selectionEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly NewEvent[] {
  const [old, now] = [before, after].map((status) => status?.clusters?.["selected"]);
  const isChanged = old !== undefined && now !== undefined && old !== now;
  const changed = isChanged
    ? [normal("SelectionChanged", `Clusters that the set selects: ${now}, before ${old}`)]
    : [];
  const [was, is] = [before, after].map((status) => conditionOf(status?.conditions, "Selected"));
  const isSuspicious = is?.reason === "SuspiciousShrink" && was?.reason !== "SuspiciousShrink";
  return isSuspicious ? [...changed, warning("SuspiciousShrink", is.message ?? "")] : changed;
}

function normal(reason: string, message: string): NewEvent {
  return { type: "Normal", reason, message };
}

function warning(reason: string, message: string): NewEvent {
  return { type: "Warning", reason, message };
}
