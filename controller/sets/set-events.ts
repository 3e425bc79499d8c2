import { conditionOf } from "../../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetStatus,
  type StageStatus,
  steering,
} from "../../api/fleet-set.ts";
import type { ComponentEvent } from "../events.ts";

/** What is worth an Event between two states of a set's status. Pure. Spec: sets.md R15. */
export function setEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly ComponentEvent[] {
  return [
    ...rolloutEvents(before, after),
    ...(after.stages ?? []).flatMap((stage) =>
      stageEvents(stageBefore(before, after, stage), stage),
    ),
    ...phaseEvents(before, after),
    ...selectionEvents(before, after),
  ];
}

/** What is worth an Event when somebody edits a set: approvals of something else than what is rolled out. Spec: sets.md R9. */
export function editEvents(before: FleetSet, after: FleetSet): readonly ComponentEvent[] {
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

function rolloutEvents(
  before: FleetSetStatus | undefined,
  { updateRevision, rollout }: FleetSetStatus,
): readonly ComponentEvent[] {
  if (updateRevision === undefined || updateRevision === before?.updateRevision) return [];
  const phase = rollout?.phase ?? "";
  return [normal("RolloutStarted", `Revision ${updateRevision} is rolled out (${phase})`)];
}

/** The stage in the same rollout. */
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
): readonly ComponentEvent[] {
  if (before?.state === state) return [];
  if (state === "Passed" && before !== undefined) {
    return [normal("StagePassed", `Stage ${name}: ${done} of ${clusters} clusters are done`)];
  }
  return state === "AwaitingApproval"
    ? [normal("AwaitingApproval", `Stage ${name} waits for an approval`)]
    : [];
}

function phaseEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly ComponentEvent[] {
  const phase = after.rollout?.phase;
  if (before?.rollout?.phase === phase && before?.updateRevision === after.updateRevision) {
    return [];
  }
  const message = after.rollout?.waitingFor ?? "";
  if (phase === "Halted" || phase === "RolledBack") return [warning(phase, message)];
  return phase === "Complete" ? [normal("Complete", completion(after))] : [];
}

function completion({ updateRevision = "", clusters = {} }: FleetSetStatus): string {
  const { done = 0 } = clusters;
  return `Revision ${updateRevision} has passed all stages; clusters that are done: ${done}`;
}

function selectionEvents(
  before: FleetSetStatus | undefined,
  after: FleetSetStatus,
): readonly ComponentEvent[] {
  const [old, now] = [before, after].map((status) => status?.clusters?.["selected"]);
  const isChanged = old !== undefined && now !== undefined && old !== now;
  const changed = isChanged
    ? [normal("SelectionChanged", `Clusters that the set selects: ${now}, before ${old}`)]
    : [];
  const [was, is] = [before, after].map((status) => conditionOf(status?.conditions, "Selected"));
  const isSuspicious = is?.reason === "SuspiciousShrink" && was?.reason !== "SuspiciousShrink";
  return isSuspicious ? [...changed, warning("SuspiciousShrink", is.message ?? "")] : changed;
}

function normal(reason: string, message: string): ComponentEvent {
  return { type: "Normal", reason, message };
}

function warning(reason: string, message: string): ComponentEvent {
  return { type: "Warning", reason, message };
}
