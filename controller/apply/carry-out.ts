import { abortable } from "../../access/deadline.ts";
import { describe, identityOf } from "../../api/kubernetes.ts";
import { outlives, type Prepared } from "../../installation/desired.ts";
import { gated } from "../../installation/gates.ts";
import { type Inventory, type InventoryEntry, unionOf } from "../../installation/inventory.ts";
import { kindIdOf } from "../../installation/kinds.ts";
import { type ObservedObject, sightingOf } from "../../installation/observed-object.ts";
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
import { type ChangeSet, type Progress, sorted, type Trouble, waitingFor } from "./change-set.ts";
import type { ConflictingManager } from "./filters/conflicts.ts";
import { type OwnPlan, ownPlan, withLeft } from "./filters/shared-objects.ts";
import { type Begun, contestsOf, guardAll, watchAll, writeAndNoteAnchor } from "./install-work.ts";
import { pruneAll } from "./prune-obsolete.ts";
import { unlessRefused } from "./refusals.ts";
import { unblock } from "./unblock.ts";

/**
 * Sends what differs, prunes what is obsolete when all of it was accepted, and records how far that came. Throws FleetError `ClusterBusy` as soon as it is
 * seen that the anchor went meanwhile.
 */
export async function carriedOut(
  whole: ApplyPlan,
  begun: Begun,
  signal: AbortSignal,
): Promise<ChangeSet> {
  guardAll(begun);
  const { plan, work, left: others } = await ownOf(whole, begun, signal);
  return withLeft(await carriedOutAlone(plan, work, signal), others);
}

/** What is to be sent because it is not as we had sent it. */
function driftedOf({ apply: objects, drifted }: ApplyPlan): readonly Prepared[] {
  return objects.filter(({ id }) => drifted.has(id));
}

/** Counts repairs, and leaves out what another component has. What is not come to is no repair. */
async function ownOf(whole: ApplyPlan, begun: Begun, signal: AbortSignal): Promise<OwnPlan> {
  try {
    const fought = await reckoned(whole, begun, (one) =>
      unlessRefused(() => begun.requests.conflictingManagers(one, signal), []),
    );
    return await ownPlan({ plan: whole, fought }, begun, signal);
  } catch (error) {
    for (const { key } of driftedOf(whole)) begun.memory.conflicts.notRepaired(key);
    throw error;
  }
}

/** The same of what no other component has. */
async function carriedOutAlone(
  plan: ApplyPlan,
  work: Begun,
  signal: AbortSignal,
): Promise<ChangeSet> {
  const { desired, memory, unadopted } = work;
  const corrected = new Set<string>();
  const { requests, ...others } = applyDeps(plan, work, corrected);
  const sent = await repairing(plan, { ...work, corrected }, async () => {
    await keepNotes(plan, work, signal);
    return apply(gated(plan.apply), { ...others, requests: rooted(requests, work) }, signal);
  });
  await abortable(work.first, signal);
  const leaving = plan.leaving.map(stillLeaving);
  const parked = sorted([...sent.parked, ...leaving, ...(unadopted?.parked ?? [])]);
  const refused = [...sent.failed, ...(unadopted?.failed ?? [])];
  await unblockAmong(parked, work, signal);
  const accepted = parked.length + refused.length === 0;
  const { pruned, failed, lingering, left } = await pruneAll(
    { entries: plan.prune, isAccepted: accepted },
    work,
    signal,
  );
  const complete = memory.inventoryOf(desired, accepted && left.length === 0);
  const adopting = unadopted?.isUnfinished([...parked, ...refused]) === true;
  const inventory = { ...unionOf(complete, { ...complete, entries: left }), adopting };
  watchAll(work, inventory);
  await record(inventory, work, signal);
  if (accepted) memory.isAuditDue = false;
  return {
    applied: sent.applied,
    repaired: sent.applied.filter((key) => corrected.has(identityOf(key))),
    unchanged: plan.unchanged.length,
    parked,
    failed: sorted([...refused, ...failed, ...unwatched(work, inventory)]),
    pruned,
    lingering: sorted(lingering),
    conflicts: contestsOf(work),
  };
}

/** An audit or a repair raises no generation that an adoption did not raise. */
async function keepNotes(plan: ApplyPlan, work: Begun, signal: AbortSignal): Promise<void> {
  const { memory, observation, requests } = work;
  const entries = memory.inventory?.entries ?? [];
  const sent = new Map(entries.map((entry) => [identityOf(entry), entry.hash]));
  const noted = plan.apply.filter(({ id, hash }) => {
    const live = observation.workloads().get(id);
    return sent.get(id) === hash && live !== undefined && keptAnnotations(live) !== undefined;
  });
  await Promise.all(
    noted.map((one) => unlessRefused(() => requests.keepNotes(one, signal), undefined)),
  );
}

/** Sends nothing that names the uid of an anchor that is gone as its owner, and nothing before it is known that nobody else was first. */
function rooted(requests: EngineRequests, { observation, anchor, first }: Begun): ApplyRequests {
  return {
    send: async (object, signal) => {
      await abortable(first, signal);
      if (observation.isLost(anchor)) throw replaced(anchor);
      return requests.send(object, signal);
    },
    clear: (...args) => requests.clear(...args),
  };
}

async function unblockAmong(
  parked: readonly Trouble[],
  { target, desired, memory, deps }: Begun,
  signal: AbortSignal,
): Promise<void> {
  const { blockades } = memory;
  const now = deps.clock.now();
  const unblocked = await unblock(parked, { target, desired, blockades, now }, signal);
  for (const one of unblocked) {
    deps.log.warn(one, "Emptied the rules of a webhook without pods");
    deps.onUnblocked?.(one);
  }
}

/** Counts the repairs that are about to be made, and asks who makes them necessary where there is a conflict. Returns those for which nobody is named. */
async function reckoned(
  plan: ApplyPlan,
  { memory, deps }: Begun,
  ask: (object: Prepared) => Promise<readonly ConflictingManager[]>,
): Promise<readonly Prepared[]> {
  const now = deps.clock.now();
  const conflicts = driftedOf(plan).filter(({ key }) => memory.conflicts.repairing(key, now));
  // Also of what is not seen any more: somebody may have put an object there that lacks our label.
  const unnamed = await Promise.all(
    conflicts.map(async (one) => {
      const managers = await ask(one);
      memory.conflicts.named(one.key, managers);
      return managers.length === 0 ? [one] : [];
    }),
  );
  return unnamed.flat();
}

/** A write that is refused, never sent or puts nothing right is no repair: an object that cannot be written must not look like one that is fought over. */
async function repairing(
  plan: ApplyPlan,
  { memory: { conflicts }, corrected }: Begun & { readonly corrected: ReadonlySet<string> },
  work: () => Promise<Applied>,
): Promise<Applied> {
  const announced = new Map(driftedOf(plan).map(({ id, key }) => [id, key]));
  try {
    const sent = await work();
    for (const id of sent.applied.map(identityOf)) if (corrected.has(id)) announced.delete(id);
    return sent;
  } finally {
    for (const key of announced.values()) conflicts.notRepaired(key);
  }
}

async function record(inventory: Inventory, work: Begun, signal: AbortSignal): Promise<void> {
  if (work.memory.isStored(inventory)) return;
  await writeAndNoteAnchor(work, { before: work.anchor, inventory }, signal);
}

/** `corrected` takes the identities of objects that were not as we had sent them. */
function applyDeps(
  plan: ApplyPlan,
  work: Begun,
  corrected: Set<string>,
): ApplyDeps & { readonly requests: EngineRequests } {
  const { target, memory, observation, requests } = work;
  const { clock, log, onProgress, awaiting } = work.deps;
  const { namespace, fieldManager } = target;
  // As they are now: the watch may be sooner than an answer.
  const audited = new Map(memory.isAuditDue ? observation.objects() : []);
  return {
    clock,
    installNamespace: namespace,
    onProgress: (progress) => onProgress?.(ofAll(progress, plan)),
    requests,
    ...(awaiting === undefined ? {} : { awaiting }),
    onApplied: (object, answer) => {
      const { key, id, hash } = object;
      const sighting = sightingOf(answer, fieldManager);
      const sent = memory.isToAudit(id) ? memory.entryOf(id) : undefined;
      const isCorrected = sent?.hash === hash && isPutRight(sent, audited.get(id), sighting);
      const isRepaired = plan.drifted.has(id) && !requests.changedNothing(object, answer);
      if (isRepaired || isCorrected) corrected.add(id);
      const { fingerprint, appliedAt } = sighting;
      observation.note([sighting]);
      // A CRD may be another component's, too, which applies it under the same name.
      if (appliedAt !== undefined && !outlives(key)) memory.appliedAt.set(id, appliedAt);
      memory.record({ ...key, hash, ...(fingerprint === undefined ? {} : { fingerprint }) });
    },
    onRefused: ({ key }, err) => {
      if (err.status === 404 && !err.isStatus) memory.kinds.forget(key);
      log.debug({ object: describe(key), status: err.status, err }, "The target refused an object");
    },
  };
}

/** An audit found something wrong: an apply that changes nothing is no write. One that gives an object other fields than were sent last is an addition of ours. */
function isPutRight(
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

function stillLeaving({ key }: Prepared): Trouble {
  return { key, message: leavingMessage };
}

/** Kinds that may not be watched, each with the first of its objects: nobody sees when they are changed or deleted. */
function unwatched({ observation }: Begun, { entries }: Inventory): readonly Trouble[] {
  return [...observation.refused()].flatMap(([kind, message]) => {
    const [first] = entries
      .filter((entry) => kindIdOf(entry) === kind)
      .toSorted((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1));
    if (first === undefined) return [];
    const { apiVersion, namespace, name } = first;
    const where = namespace === undefined ? {} : { namespace };
    return [{ key: { apiVersion, kind: first.kind, ...where, name }, message }];
  });
}
