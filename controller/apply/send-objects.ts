import { abortable } from "../../access/time/deadline.ts";
import { byText } from "../../api/fields.ts";
import { kindId, objectId } from "../../api/keys.ts";
import { describe, type ObjectKey } from "../../api/kubernetes.ts";
import { outlives, type DesiredObject } from "../../installation/desired.ts";
import { gateObjects } from "../../installation/gates.ts";
import type { Inventory, InventoryEntry } from "../../installation/inventory.ts";
import { type ObservedObject, observedObject } from "../../installation/observed-object.ts";
import type { ApplyPlan } from "../../installation/plan.ts";
import { keptAnnotations } from "./adoption/take-over.ts";
import { replaced } from "./anchor/anchor.ts";
import type { EngineRequests } from "./apply-requests.ts";
import {
  type Applied,
  apply,
  type ApplyDeps,
  type ApplyRequests,
  leavingMessage,
} from "./apply.ts";
import { type Progress, sorted, type Trouble, waitingFor } from "./change-set.ts";
import { isInConflict, withManagers, withoutRepair, withRepair } from "./filters/conflicts.ts";
import { type OwnPlan, ownPlan } from "./filters/shared-objects.ts";
import type { InstallAttempt, RecordedAttempt } from "./install-attempt.ts";
import { entryOf, isToAudit } from "./install-state.ts";
import { watchAnchor } from "./observe-objects.ts";
import { pruneAll } from "./prune-obsolete.ts";
import { keyWithout, type Pruned } from "./prune.ts";
import { unlessRefused } from "./refusals.ts";
import { blockadesAfter, dueAmong, unblock, withCleared } from "./unblock.ts";

/** The objects that were sent, and the results. */
export interface SendResults {
  /** The attempt without the objects that turned out to be another component's. */
  readonly attempt: RecordedAttempt;
  /** The plan without them. */
  readonly plan: ApplyPlan;
  readonly sent: Applied;
  /** The sent objects that another writer had changed or deleted. */
  readonly repaired: readonly ObjectKey[];
  /** Those of `repaired` whose content is not the one that was sent before. */
  readonly renewed: readonly ObjectKey[];
  readonly parked: readonly Trouble[];
  readonly refused: readonly Trouble[];
  readonly pruned: Pruned & { readonly left: readonly InventoryEntry[] };
  /** The objects that turned out to be another component's. */
  readonly left: readonly Trouble[];
}

/**
 * Sends the objects that differ. Prunes the obsolete objects when all sent objects were accepted. Throws FleetError `ClusterBusy` as soon as the
 * watch shows that the anchor is gone.
 */
export async function sendObjects(
  wholePlan: ApplyPlan,
  recorded: RecordedAttempt,
  signal: AbortSignal,
): Promise<SendResults> {
  watchAnchor(recorded);
  const { plan, attempt, left } = await ownOf(wholePlan, recorded, signal);
  const corrected = new Set<string>();
  const { requests, ...others } = applyDeps(plan, attempt, corrected);
  const sent = await countRepairs(plan, { ...attempt, corrected }, async () => {
    await keepNotes(plan, attempt, signal);
    return apply(
      gateObjects(plan.apply),
      { ...others, requests: guarded(requests, attempt) },
      signal,
    );
  });
  await abortable(attempt.beforeFirstObject(), signal);
  const { unadopted } = attempt;
  const leaving = plan.leaving.map(stillLeaving);
  const parked = sorted([...sent.parked, ...leaving, ...(unadopted?.parked ?? [])]);
  const refused = [...sent.failed, ...(unadopted?.failed ?? [])];
  await unblockAmong(parked, attempt, signal);
  const isAccepted = parked.length + refused.length === 0;
  const pruned = await pruneAll({ entries: plan.prune, isAccepted }, attempt, signal);
  const named = await withConfigurations({ parked, refused, pruned }, attempt, signal);
  const repaired = sent.applied.filter((key) => corrected.has(objectId(key)));
  return { attempt, plan, sent, repaired, renewed: renewedAmong(repaired, plan), left, ...named };
}

/** The old content of an object that an installation keeps is not known. */
function renewedAmong(
  repaired: readonly ObjectKey[],
  { apply: planned }: ApplyPlan,
): readonly ObjectKey[] {
  const renewed = new Set(planned.flatMap((one) => (one.sentHash === undefined ? [] : [one.id])));
  return repaired.filter((key) => renewed.has(objectId(key)));
}

type Troubles = Pick<SendResults, "parked" | "refused" | "pruned">;

/** The results with the names of the webhook configurations that hold objects up. */
async function withConfigurations(
  { parked, refused, pruned }: Troubles,
  { target, memory }: RecordedAttempt,
  signal: AbortSignal,
): Promise<Troubles> {
  const { lingering, failed } = pruned;
  const all = [...parked, ...refused, ...lingering, ...failed];
  const named = await memory.webhooks.complete(all, target.client, signal);
  const next = named.values();
  const take = ({ length }: readonly Trouble[]): readonly Trouble[] => [...next.take(length)];
  return {
    parked: take(parked),
    refused: take(refused),
    pruned: { ...pruned, lingering: take(lingering), failed: take(failed) },
  };
}

/** Objects that are sent because they are not as we had sent them. */
function driftedOf({ apply: objects, drifted }: ApplyPlan): readonly DesiredObject[] {
  return objects.filter(({ id }) => drifted.has(id));
}

/** Announces the repairs, and leaves out objects of other components. A repair that is not made is taken back. */
async function ownOf(
  wholePlan: ApplyPlan,
  attempt: RecordedAttempt,
  signal: AbortSignal,
): Promise<OwnPlan> {
  try {
    const fought = await announceRepairs(wholePlan, attempt, signal);
    return await ownPlan({ plan: wholePlan, fought }, attempt, signal);
  } catch (error) {
    takeBackRepairs(
      driftedOf(wholePlan).map(({ key }) => key),
      attempt,
    );
    throw error;
  }
}

/** An audit or a repair raises no generation that an adoption did not raise. */
async function keepNotes(
  plan: ApplyPlan,
  attempt: RecordedAttempt,
  signal: AbortSignal,
): Promise<void> {
  const { memory, observation, requests } = attempt;
  const noted = plan.apply.filter(({ id, hash }) => {
    const live = observation.workloads().get(id);
    return (
      entryOf(memory.state, id)?.hash === hash &&
      live !== undefined &&
      keptAnnotations(live) !== undefined
    );
  });
  await Promise.all(
    noted.map((one) => unlessRefused(() => requests.keepNotes(one, signal), undefined)),
  );
}

/** Sends nothing that names an anchor that is gone as owner, and nothing before it is known that no other installation was first. */
function guarded(
  requests: EngineRequests,
  { observation, anchor, beforeFirstObject }: RecordedAttempt,
): ApplyRequests {
  return {
    send: async (object, signal) => {
      await abortable(beforeFirstObject(), signal);
      if (observation.isLost(anchor)) throw replaced(anchor);
      return requests.send(object, signal);
    },
    clear: (...args) => requests.clear(...args),
  };
}

async function unblockAmong(
  parked: readonly Trouble[],
  { target, desired, memory, deps }: RecordedAttempt,
  signal: AbortSignal,
): Promise<void> {
  const now = deps.clock.now();
  memory.become((state) => ({
    ...state,
    blockades: blockadesAfter(state.blockades, parked, now),
  }));
  await Promise.all(
    dueAmong(memory.state.blockades).map(async (webhook) => {
      const unblocked = await unblock(webhook, { target, desired }, signal);
      if (unblocked === undefined) return;
      memory.become((state) => ({ ...state, blockades: withCleared(state.blockades, webhook) }));
      deps.log.warn(unblocked, "Emptied the rules of a webhook without pods");
      deps.onUnblocked?.(unblocked);
    }),
  );
}

/** Counts the repairs that are about to be made, and asks for the other managers of objects in conflict. Returns the objects for which none is named. */
async function announceRepairs(
  plan: ApplyPlan,
  { memory, deps, requests }: RecordedAttempt,
  signal: AbortSignal,
): Promise<readonly DesiredObject[]> {
  const now = deps.clock.now();
  const drifted = driftedOf(plan);
  memory.become((state) => ({
    ...state,
    conflicts: drifted.reduce((all, { key }) => withRepair(all, key, now), state.conflicts),
  }));
  const inConflict = drifted.filter(({ key }) => isInConflict(memory.state.conflicts, key));
  // The question also covers an object that the watches do not show any more: it may exist without our label.
  const unnamed = await Promise.all(
    inConflict.map(async (object) => {
      const ask = () => requests.conflictingManagers(object, signal);
      const managers = await unlessRefused(ask, []);
      memory.become((state) => ({
        ...state,
        conflicts: withManagers(state.conflicts, object.key, managers),
      }));
      return managers.length === 0 ? [object] : [];
    }),
  );
  return unnamed.flat();
}

/** A write that is refused, that is never sent or that corrects nothing is no repair. Otherwise an object that cannot be written would look like a conflict. */
async function countRepairs(
  plan: ApplyPlan,
  attempt: RecordedAttempt & { readonly corrected: ReadonlySet<string> },
  send: () => Promise<Applied>,
): Promise<Applied> {
  const { corrected } = attempt;
  const announced = new Map(driftedOf(plan).map(({ id, key }) => [id, key]));
  try {
    const sent = await send();
    for (const id of sent.applied.map(objectId)) if (corrected.has(id)) announced.delete(id);
    return sent;
  } finally {
    takeBackRepairs([...announced.values()], attempt);
  }
}

/** Takes back repairs that were counted and not made. */
function takeBackRepairs(keys: readonly ObjectKey[], { memory }: RecordedAttempt): void {
  memory.become((state) => ({ ...state, conflicts: keys.reduce(withoutRepair, state.conflicts) }));
}

/** `corrected` takes the identities of objects that were not as we had sent them. */
function applyDeps(
  plan: ApplyPlan,
  attempt: RecordedAttempt,
  corrected: Set<string>,
): ApplyDeps & { readonly requests: EngineRequests } {
  const { target, memory, observation, requests } = attempt;
  const { clock, log, onProgress, pendingChanges } = attempt.deps;
  const { namespace, fieldManager } = target;
  // As they are now: the watch may be sooner than an answer.
  const { state } = memory;
  const audited = new Map(state.audited && observation.objects());
  return {
    clock,
    installNamespace: namespace,
    onProgress: (progress) => onProgress?.(ofAll(progress, plan)),
    requests,
    ...(pendingChanges === undefined ? {} : { pendingChanges }),
    onApplied: (object, answer) => {
      const { key, id, hash, sentHash = hash } = object;
      const sighting = observedObject(answer, fieldManager);
      const sent = isToAudit(state, id) ? entryOf(state, id) : undefined;
      const isCorrected = sent?.hash === hash && isCorrection(sent, audited.get(id), sighting);
      const isRepaired = plan.drifted.has(id) && !requests.changedNothing(object, answer);
      if (isRepaired || isCorrected) corrected.add(id);
      const { fingerprint, appliedAt } = sighting;
      observation.note([sighting]);
      const entry = { ...key, hash: sentHash, ...(fingerprint !== undefined && { fingerprint }) };
      // Another component may apply a CRD under the same name.
      memory.accept({ entry, appliedAt: outlives(key) ? undefined : appliedAt });
    },
    onRefused: ({ key }, err) => {
      if (err.status === 404 && !err.isStatus) memory.kinds.forget(key);
      log.debug({ object: describe(key), status: err.status, err }, "The target refused an object");
    },
  };
}

/** Whether an audit repaired an object. An apply without a change is no repair. Nor is an apply that adds fields of ours. */
function isCorrection(
  sent: InventoryEntry,
  before: ObservedObject | undefined,
  after: ObservedObject,
): boolean {
  if (before === undefined || sent.fingerprint !== after.fingerprint) return false;
  return before.fingerprint !== after.fingerprint || before.appliedAt !== after.appliedAt;
}

/** Progress of the objects that are sent, as progress of all objects. */
function ofAll({ done, total, waiting, failed }: Progress, plan: ApplyPlan): Progress {
  const unchanged = plan.unchanged.length;
  const leaving = plan.leaving.length;
  return {
    done: done + unchanged,
    total: total + unchanged + leaving,
    waiting:
      leaving === 0
        ? waiting
        : waitingFor([...waiting, { message: leavingMessage, count: leaving }]),
    failed,
  };
}

function stillLeaving({ key }: DesiredObject): Trouble {
  return { key, message: leavingMessage };
}

/** Kinds that may not be watched, each with its first object. The controller does not notice changes and deletions of their objects. */
export function unwatchedKinds(
  { observation }: InstallAttempt,
  { entries }: Inventory,
): readonly Trouble[] {
  return [...observation.refused()].flatMap(([kind, message]) => {
    const [first] = entries.filter((entry) => kindId(entry) === kind).toSorted(byText(objectId));
    if (first === undefined) return [];
    return [{ key: keyWithout(first), message }];
  });
}
