import { conditionOf } from "../../../../api/conditions.ts";
import { type FleetSet, fleetSetApiVersion, type FleetSetKind } from "../../../../api/fleet-set.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { listSets, readSet } from "../../hub/fleet-sets.ts";
import { objectChanges } from "../../hub/hub-changes.ts";
import { isObserved, outcomeOf } from "../../hub/rollout-item.ts";
import { knfOf } from "../../output/knf-of.ts";
import { ownReasons } from "../../output/own-reasons.ts";
import { fleetSetKindOf, type FleetSetRef, fleetSetRefOf } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { Subject } from "./until-done.ts";
import { goalText, met, type Standing, type WaitItem, withAbsent } from "./wait.ts";

/** Goal of waiting for a set. */
export type SetGoal =
  | { readonly kind: "complete" }
  | { readonly kind: "stage"; readonly stage: string };

/** Reads the value of `--for` about sets. Throws UsageError. */
export function setGoalOf(text: string): SetGoal {
  if (goalText(text) === "complete") return { kind: "complete" };
  const [, stage] = /^stage=([a-z0-9-]{1,40})$/.exec(text) ?? [];
  if (stage !== undefined) return { kind: "stage", stage };
  throw new UsageError(
    `Invalid value "${text}" for --for: of a fleet set want complete or stage=NAME`,
  );
}

/** The sets that a command line names; without names all of the kinds. */
export interface AskedSets {
  readonly kinds: readonly FleetSetKind[];
  readonly names: readonly FleetSetRef[];
}

/** The sets that arguments name, as `kss/NAME …`, `kss` or `kss NAME …`; undefined when they are about installations. Throws UsageError. */
export function askedSets(args: readonly string[]): AskedSets | undefined {
  const [first = "", ...rest] = args;
  const kind = fleetSetKindOf(first);
  if (kind !== undefined) {
    const names = rest.flatMap((name) => fleetSetRefOf(`${kind}/${name}`) ?? []);
    return { kinds: [kind], names };
  }
  const names = args.flatMap((arg) => fleetSetRefOf(arg) ?? []);
  if (names.length === 0) return undefined;
  if (names.length < args.length) {
    throw new UsageError("Wait for fleet sets or for installations, not for both");
  }
  return { kinds: [...new Set(names.map((name) => name.kind))], names };
}

/** Throws UsageError for flags that select installations. */
export function checkSetFlags(
  { cluster, on, reason, failed }: Pick<Flags, "cluster" | "on" | "reason" | "failed">,
  filename: string | undefined,
): void {
  const given = [cluster, on, reason, filename].some((flag) => flag !== undefined);
  if (!given && !failed) return;
  throw new UsageError(
    "--cluster, --on, --failed, --reason and --filename select installations, and no fleet sets",
  );
}

interface Place {
  readonly access: ClusterAccess;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
}

/** What `wait` looks at when it waits for sets. */
export function setSubject(
  goal: SetGoal,
  { kinds, names }: AskedSets,
  { access, namespace, labelSelector }: Place,
): Subject {
  const where = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  };
  return {
    changes: (signal) => {
      const refs = kinds.map((kind) => ({
        resource: knownResource(fleetSetApiVersion, kind),
        ...where,
      }));
      return objectChanges(access, refs, signal);
    },
    read: async (before, signal) => {
      const sets = await listSets(access, { kinds, names, ...where }, signal);
      if (sets.length === 0 && before.length === 0) {
        await checkServed(names, { access, namespace }, signal);
      }
      const present = sets
        .filter((set) => names.length === 0 || names.some((name) => isOf(set, name)))
        .map((set) => itemOf(goal, set));
      return withAbsent(present, { names, ...where, before, isDeletion: false });
    },
    mayBeEmpty: false,
  };
}

function isOf({ kind, metadata }: FleetSet, ref: FleetSetRef): boolean {
  return kind === ref.kind && metadata.name === ref.name;
}

/** A hub without sets would be waited for in vain. Throws NotServedError. */
async function checkServed(
  [name]: readonly FleetSetRef[],
  { access, namespace }: Pick<Place, "access" | "namespace">,
  signal: AbortSignal,
): Promise<void> {
  if (name === undefined || namespace === undefined) return;
  await readSet(access, { ...name, namespace }, signal);
}

function itemOf(goal: SetGoal, set: FleetSet): WaitItem {
  const { kind, metadata } = set;
  const place = { namespace: metadata.namespace, name: metadata.name, kind, cluster: null };
  return { ...place, ...setStandingOf(goal, set) };
}

/** How a set stands to a goal. A rollout that is halted or given up fails it. */
export function setStandingOf(goal: SetGoal, set: FleetSet): Standing {
  const { metadata, status } = set;
  if (metadata.deletionTimestamp !== undefined) return failedAs("Deleting", "It is being deleted");
  if (status?.observedGeneration === undefined) return ownStanding("NoStatus");
  if (!isObserved(set)) return ownStanding("NotObserved");
  return goal.kind === "stage" ? stageStanding(goal.stage, set) : completeStanding(set);
}

function completeStanding(set: FleetSet): Standing {
  const complete = conditionOf(set.status?.conditions, "Complete");
  return complete?.status === "True" ? met : rolloutStanding(set);
}

function stageStanding(name: string, set: FleetSet): Standing {
  const stages = set.status?.stages;
  const stage = stages?.find((one) => one.name === name);
  if (stage?.state === "Passed" || stage?.state === "Empty") return met;
  if (stage === undefined && stages !== undefined) {
    return failedAs("NotFound", `The set has no stage "${name}"`);
  }
  return rolloutStanding(set);
}

function rolloutStanding(set: FleetSet): Standing {
  const { rollout, conditions } = set.status ?? {};
  const message = rollout?.waitingFor ?? conditionOf(conditions, "Complete")?.message ?? "";
  if (outcomeOf(set) === "failed") return failedAs(rollout?.phase ?? "", message);
  return { state: "waiting", reason: rollout?.phase ?? null, code: null, message };
}

function failedAs(reason: string, message: string): Standing {
  return { state: "failed", reason, code: null, message };
}

function ownStanding(reason: "NoStatus" | "NotObserved"): Standing {
  return { state: "waiting", reason, code: knfOf(reason), message: ownReasons[reason] };
}
