import { ApiError } from "../../../access/kube/api-error.ts";
import type { Component, ComponentKind } from "../../../api/component.ts";
import { conditionOf } from "../../../api/conditions.ts";
import { byText } from "../../../api/fields.ts";
import {
  type FleetSet,
  type FleetSetKind,
  fleetSetKinds,
  type FleetSetStatus,
  type RolloutPhase,
  setLabels,
} from "../../../api/fleet-set.ts";
import { approvalAfter } from "../../../api/sentences.ts";
import { nameKey } from "../output/names.ts";
import { allSetKinds } from "../selection/set-ref.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { listSets } from "./fleet-sets.ts";

/** A fleet set in one row. */
export interface SetItem {
  readonly namespace: string;
  readonly name: string;
  readonly kind: FleetSetKind;
  /** `spec.template.spec.version`; null when the controller chooses. */
  readonly version: string | null;
  /** Null: no controller has written a status yet. */
  readonly phase: RolloutPhase | null;
  readonly stage: string | null;
  /** Clusters. */
  readonly selected: number;
  readonly done: number;
  readonly failed: number;
  /** What is rolled out. */
  readonly revision: string | null;
  /** Why the rollout does not go on; null while it does, and when it is complete. */
  readonly message: string | null;
}

/** The row of a set, from its status alone. */
export function setItemOf(set: FleetSet): SetItem {
  const { kind, metadata, spec, status } = set;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    kind,
    version: spec.template.spec?.version ?? null,
    ...placeOf(status?.rollout),
    ...countsOf(status?.clusters),
    revision: status?.updateRevision ?? null,
    message: messageOf(set),
  };
}

function placeOf(rollout: FleetSetStatus["rollout"]): Pick<SetItem, "phase" | "stage"> {
  return { phase: rollout?.phase ?? null, stage: rollout?.stage ?? null };
}

function countsOf(
  clusters: FleetSetStatus["clusters"],
): Pick<SetItem, "selected" | "done" | "failed"> {
  const { selected = 0, done = 0, failed = 0 } = clusters ?? {};
  return { selected, done, failed };
}

function isOutdated({ metadata, status }: FleetSet): boolean {
  return (status?.observedGeneration ?? 0) < (metadata.generation ?? 0);
}

/** For which clusters a set that is being deleted waits, as far as its controller says so. */
export function deletionText({ status }: FleetSet): string {
  const progressing = conditionOf(status?.conditions, "Progressing");
  const said = progressing?.reason === "Deleting" ? progressing.message : undefined;
  return said ?? "The set is being deleted";
}

function messageOf(set: FleetSet): string | null {
  if (set.metadata.deletionTimestamp !== undefined) return deletionText(set);
  if (isOutdated(set)) return notObserved;
  const { phase, stage = "", waitingFor } = set.status?.rollout ?? {};
  const approval = approvalAfter.of(stage);
  return waitingFor ?? (phase === "AwaitingApproval" ? approval : null);
}

const notObserved = "The controller has not seen the latest change of the set";

/** A set in one line: phase, stage, counts, revision, and what it waits for. */
export function setText(item: SetItem): string {
  const { phase, stage, done, selected, failed, revision, message } = item;
  const parts = [
    phase ?? "no status",
    ...(stage === null ? [] : [`stage ${stage}`]),
    `${done}/${selected} done`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(revision === null ? [] : [`revision ${revision}`]),
    ...(message === null ? [] : [message]),
  ];
  return parts.join(", ");
}

/** The kinds of sets that stamp components of these kinds. */
function setKindsOf(kinds: readonly ComponentKind[]): readonly FleetSetKind[] {
  return allSetKinds.filter((kind) => kinds.includes(fleetSetKinds[kind].component));
}

/**
 * The sets of a namespace, or of all, by namespace and name, for commands that are about components: none where the hub does not serve sets, null where
 * they cannot be read. Throws what KubeClient throws when the hub does not answer.
 */
export async function setsBeside(
  access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  { kinds, namespace }: { readonly kinds: readonly ComponentKind[]; readonly namespace?: string },
  signal: AbortSignal,
): Promise<readonly FleetSet[] | null> {
  const place = namespace === undefined ? {} : { namespace };
  try {
    const sets = await listSets(access, { ...place, kinds: setKindsOf(kinds) }, signal);
    return sets.toSorted(byText(({ kind, metadata }) => nameKey({ ...metadata, kind })));
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

/** A set by what the labels of its components say. */
export interface OwnerSet {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  readonly name: string;
}

/** The set that has stamped a component; undefined: no set has. */
export function ownerSetOf({ metadata: { namespace, labels } }: Component): OwnerSet | undefined {
  const name = labels?.[setLabels.set];
  const kind = allSetKinds.find((each) => each === labels?.[setLabels.kind]);
  return name === undefined || kind === undefined ? undefined : { kind, namespace, name };
}
