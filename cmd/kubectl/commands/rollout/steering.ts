import type { ClusterProfileRef } from "../../../../api/component.ts";
import { type FleetSet, type StageSpec, steering } from "../../../../api/fleet-set.ts";
import { nameId } from "../../../../api/keys.ts";
import { selectionShrank } from "../../../../api/sentences.ts";
import { unmatchedStage } from "../../../../sets/stages.ts";
import type { Deed } from "../../../../sets/status/record-entry.ts";
import { UsageError } from "../../errors.ts";
import { failedPhases, isObserved, pauseOf } from "../../hub/rollout-item.ts";
import { rolloutCommand } from "../../hub/rollout-steps.ts";
import { placedSetOf } from "./named-set.ts";

/** The result of a command that steers a rollout: annotations to write, nothing to do, or a refusal. */
export type Steering =
  | {
      readonly kind: "write";
      /** Annotations to set; null removes one. */
      readonly annotations: Readonly<Record<string, string | null>>;
      readonly said: string;
      /** For the record of the revision; absent: an annotation tells it already. */
      readonly deed?: { readonly what: Deed; readonly subject?: string; readonly reason?: string };
      /** What still stops the rollout, if anything. */
      readonly warning?: string;
    }
  | { readonly kind: "unchanged"; readonly said: string }
  | { readonly kind: "refused"; readonly why: string; readonly next: readonly string[] };

type Gate = "before" | "after";

/** The gate to approve. Absent flags mean the gate for which the rollout waits. */
export interface GateFlags {
  readonly stage?: string;
  readonly before?: boolean;
  readonly after?: boolean;
}

/** Approves a gate for the revision that is rolled out. Throws UsageError. Spec: sets.md R9. */
export function approval(set: FleetSet, flags: GateFlags, user: string): Steering {
  const flag = gateFlag(flags);
  const revision = observedRevision(set);
  if (revision === undefined) return notObserved(set);
  const gate = flags.stage === undefined ? gateNow(set, flag) : namedGate(set, flags.stage, flag);
  return "kind" in gate ? gate : approved(set, gate, { revision, user });
}

/** The revision that is rolled out; undefined while the status does not describe the latest spec. */
function observedRevision(set: FleetSet): string | undefined {
  return isObserved(set) ? set.status?.updateRevision : undefined;
}

function gateNow(set: FleetSet, flag: Gate | undefined): StageGate | Steering {
  const waiting = waitingGate(set);
  const isMatch = waiting !== undefined && (flag ?? waiting.gate) === waiting.gate;
  return isMatch ? waiting : refused(set, "No stage waits for this approval now");
}

function namedGate(set: FleetSet, name: string, flag: Gate | undefined): StageGate | Steering {
  const stages = set.spec.rollout?.stages ?? [];
  const stage = stages.find((one) => one.name === name);
  if (stage === undefined) {
    const names = stages.length === 0 ? "none" : stages.map((one) => one.name).join(", ");
    return refused(set, `There is no stage "${name}"; there are: ${names}`);
  }
  const gate = flag ?? gateOf(stage, waitingGate(set));
  if (!gatesOf(stage).includes(gate)) {
    return refused(set, `Stage ${name} needs no approval ${gate} it`);
  }
  const passed = passedGate(set, name, gate);
  return passed === undefined ? { stage: name, gate } : { kind: "unchanged", said: passed };
}

function gateFlag({ before = false, after = false }: GateFlags): Gate | undefined {
  if (before && after) throw new UsageError("Give --before or --after, not both");
  if (before) return "before";
  return after ? "after" : undefined;
}

function gatesOf({ before, after }: StageSpec): readonly Gate[] {
  return [
    ...(before?.approval === true ? (["before"] as const) : []),
    ...(after?.approval === true ? (["after"] as const) : []),
  ];
}

interface StageGate {
  readonly stage: string;
  readonly gate: Gate;
}

/** The gate that stops the rollout now. */
function waitingGate({ spec, status }: FleetSet): StageGate | undefined {
  const { rollout, stages = [] } = status ?? {};
  const stage = spec.rollout?.stages?.find(({ name }) => name === rollout?.stage);
  if (stage === undefined) return undefined;
  const state = stages.find(({ name }) => name === stage.name)?.state;
  if (state === "AwaitingApproval") return { stage: stage.name, gate: "after" };
  const isBefore = state === "Waiting" && stage.before?.approval === true;
  return isBefore ? { stage: stage.name, gate: "before" } : undefined;
}

/** The gate of a stage that waits, or its only gate. Throws UsageError for two gates of which none waits. */
function gateOf(stage: StageSpec, waiting: StageGate | undefined): Gate {
  if (waiting?.stage === stage.name) return waiting.gate;
  const [first, second] = gatesOf(stage);
  if (second !== undefined) {
    throw new UsageError(`Stage ${stage.name} needs two approvals: use --before or --after`);
  }
  return first ?? "after";
}

/** Why the rollout has passed a gate already; undefined when it has not. */
function passedGate({ status }: FleetSet, name: string, gate: Gate): string | undefined {
  const stage = status?.stages?.find((one) => one.name === name);
  if (stage?.state === "Passed" || stage?.state === "Empty")
    return `stage ${name} was passed already`;
  if (gate === "before" && stage?.startedAt !== undefined) return `stage ${name} has begun already`;
  return undefined;
}

function approved(
  { metadata }: FleetSet,
  { stage, gate }: StageGate,
  { revision, user }: { readonly revision: string; readonly user: string },
): Steering {
  const key = `${steering.approve}${stage}-${gate}`;
  const [present, ...by] = (metadata.annotations?.[key] ?? "").split(" ");
  const what = gate === "before" ? `the beginning of stage ${stage}` : `the end of stage ${stage}`;
  if (present === revision) {
    return { kind: "unchanged", said: `${what} was approved already by ${by.join(" ")}` };
  }
  return {
    kind: "write",
    annotations: { [key]: `${revision} ${user}` },
    said: `approved ${what} for revision ${revision} as ${user}`,
  };
}

/** Pauses a rollout until `resume`. */
export function pause({ metadata }: FleetSet, reason: string): Steering {
  const present = metadata.annotations?.[steering.pause];
  if (present === reason) return { kind: "unchanged", said: `is paused already: ${reason}` };
  const annotations = { [steering.pause]: reason };
  return { kind: "write", annotations, said: `paused: ${reason}`, deed: { what: "pause", reason } };
}

/** Removes the annotation of `pause`. */
export function resume(set: FleetSet): Steering {
  const { metadata, spec } = set;
  const isAnnotated = metadata.annotations?.[steering.pause] !== undefined;
  const bySpec = spec.rollout?.paused === true;
  const warning = "spec.rollout.paused is true and keeps it paused: set it to false in the set";
  if (!isAnnotated && bySpec) return { kind: "refused", why: warning, next: [] };
  if (!isAnnotated) return { kind: "unchanged", said: "is not paused" };
  const change = {
    kind: "write",
    annotations: { [steering.pause]: null },
    said: "resumed",
    deed: { what: "resume" },
  } as const;
  return bySpec ? { ...change, warning } : change;
}

/** Tries the revision again on failed clusters. Spec: sets.md R10. */
export function retry(set: FleetSet): Steering {
  const revision = observedRevision(set);
  if (revision === undefined) return notObserved(set);
  const { rollout, clusters = {} } = set.status ?? {};
  if (!failedPhases.includes(rollout?.phase) && (clusters["failed"] ?? 0) === 0) {
    return refused(set, `No cluster failed with revision ${revision}`);
  }
  const paused = pauseOf(set);
  const change = {
    kind: "write",
    annotations: { [steering.retry]: revision },
    said: `tries revision ${revision} again`,
    deed: { what: "retry" },
  } as const;
  return paused === undefined ? change : { ...change, warning: paused };
}

/** What `rollout skip` leaves out of the rollout. */
export interface SkipFlags {
  readonly cluster?: string | undefined;
  readonly stage?: string | undefined;
  readonly reason?: string | undefined;
}

/** Leaves a cluster or a stage out of the rollout of the revision. Throws UsageError. */
export function skip(set: FleetSet, { cluster, stage, reason }: SkipFlags): Steering {
  if (reason === undefined || reason.trim() === "") throw noReason("skip");
  if ((cluster === undefined) === (stage === undefined)) {
    throw new UsageError("Give one of --cluster and --stage");
  }
  const revision = unfinishedRevision(set);
  if (typeof revision !== "string") return revision;
  const stages = [...(set.spec.rollout?.stages ?? []).map((one) => one.name), unmatchedStage];
  if (stage !== undefined && !stages.includes(stage)) {
    return refused(set, `There is no stage "${stage}"; there are: ${stages.join(", ")}`);
  }
  const skipped =
    stage === undefined
      ? {
          key: steering.skipClusters,
          kind: "cluster",
          name: nameId(clusterRefOf(set, cluster ?? "")),
        }
      : { key: steering.skipStages, kind: "stage", name: stage };
  return skipping(set, { ...skipped, revision, reason });
}

interface Skipped {
  /** The annotation. */
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  readonly revision: string;
  readonly reason: string;
}

function skipping(
  { metadata }: FleetSet,
  { key, kind, name, revision, reason }: Skipped,
): Steering {
  const [named, ...names] = (metadata.annotations?.[key] ?? "").split(" ");
  const present = named === revision ? names : [];
  const subject = `${kind} ${name}`;
  if (present.includes(name)) return { kind: "unchanged", said: `skips ${subject} already` };
  return {
    kind: "write",
    annotations: { [key]: [revision, ...present, name].join(" ") },
    said: `skips ${subject} in revision ${revision}: ${reason}`,
    deed: { what: "skip", subject, reason },
  };
}

/** Ends the rollout of the revision. Throws UsageError. */
export function abort(set: FleetSet, { reason }: Pick<SkipFlags, "reason">): Steering {
  if (reason === undefined || reason.trim() === "") throw noReason("abort");
  const revision = unfinishedRevision(set);
  if (typeof revision !== "string") return revision;
  const present = set.metadata.annotations?.[steering.abort] ?? "";
  if (present.split(" ")[0] === revision) return { kind: "unchanged", said: "is aborted already" };
  const isBack = set.spec.rollout?.onFailure === "Rollback";
  const then = isBack ? "it goes back to the last completed revision" : "no further cluster starts";
  return {
    kind: "write",
    annotations: { [steering.abort]: `${revision} ${reason}` },
    said: `aborted revision ${revision}: ${reason}; ${then}`,
    deed: { what: "abort", reason },
  };
}

function noReason(verb: string): UsageError {
  return new UsageError("Give --reason: the record of the revision says why", [
    `kubectl knfleet rollout ${verb} --help`,
  ]);
}

/** The revision that is being rolled out, or why there is none. */
function unfinishedRevision(set: FleetSet): string | Steering {
  const revision = observedRevision(set);
  if (revision === undefined) return notObserved(set);
  const { phase } = set.status?.rollout ?? {};
  const isOver = phase === "Complete" || phase === "RolledBack";
  return isOver ? refused(set, `The rollout of revision ${revision} is over`) : revision;
}

/** The cluster that `[NAMESPACE/]NAME` means; without a namespace it is in the first one that the set selects from. Throws UsageError. */
export function clusterRefOf({ spec, metadata }: FleetSet, text: string): ClusterProfileRef {
  const [, named, name] = /^(?:([\w.-]+)\/)?([\w.-]+)$/.exec(text) ?? [];
  if (name === undefined) throw new UsageError("--cluster is [NAMESPACE/]NAME");
  const home = spec.clusters.selector?.namespaces?.[0] ?? metadata.namespace;
  return { namespace: named ?? home, name };
}

/** Accepts a selection that lost many clusters at once. Spec: sets.md R11. */
export function acceptSelection(set: FleetSet): Steering {
  const selected = set.status?.conditions?.find(({ type }) => type === "Selected");
  if (selected?.reason !== "SuspiciousShrink" || !isObserved(set)) {
    return refused(set, "The selection of the set is not suspicious and needs no acceptance");
  }
  const [, hash] = selectionShrank.wordsIn(selected.message ?? "") ?? [];
  if (hash === undefined) return refused(set, "Condition Selected names no selection to accept");
  return {
    kind: "write",
    annotations: { [steering.acceptSelection]: hash },
    said: `accepted the selection ${hash}: spec.whenUnselected applies to the clusters that it lost`,
  };
}

function notObserved(set: FleetSet): Steering {
  return refused(set, "The controller has not seen the latest change of the set yet");
}

function refused(set: FleetSet, why: string): Steering {
  return { kind: "refused", why, next: [rolloutCommand("status", placedSetOf(set))] };
}
