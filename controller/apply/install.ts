import { ApiError } from "../../access/api-error.ts";
import type { Component } from "../../api/component.ts";
import { describe, identityOf } from "../../api/kubernetes.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Observation, ObservedObject } from "../observe/observation.ts";
import { sightingOf } from "../observe/sighting.ts";
import type { Rendered } from "../render/rendered.ts";
import { readRoot, type Root, writeRoot } from "./anchor.ts";
import { applyRequests, type EngineRequests } from "./apply-requests.ts";
import { apply, type ApplyDeps, leavingMessage } from "./apply.ts";
import { type ChangeSet, type Progress, type Trouble, waitingFor } from "./change-set.ts";
import type { Contestant } from "./contestants.ts";
import type { Contest } from "./contests.ts";
import { createNamespaces, missingNamespaces } from "./ensure-namespaces.ts";
import { gated } from "./gates.ts";
import type { InstallationMemory } from "./installation-memory.ts";
import { type Inventory, unionOf } from "./inventory.ts";
import { type ApplyPlan, isSettled, planApply } from "./plan.ts";
import type { Desired, Preparations, Prepared } from "./prepare.ts";
import { prune } from "./prune.ts";
import { scaledAmong } from "./stripped.ts";
import type { Target } from "./target.ts";
import { guardedObjects, watchedKinds } from "./watched-kinds.ts";

export interface InstallRequest {
  readonly component: Component;
  readonly rendered: Rendered;
  readonly target: Target;
  readonly observation: Observation;
  /** Of this component on this target; a new one costs two reads and the lists of the watches. */
  readonly memory: InstallationMemory;
}

export interface InstallDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** One for all components. */
  readonly preparations: Preparations;
  /** Called at once for each object that is done. */
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * Brings the target to what was rendered: reads the root, records the intent, applies what differs, prunes what is obsolete, records the
 * completion. Sends nothing when nothing differs. Can be stopped at any point and begun again.
 *
 * Throws FleetError `AnchorConflict` (nothing was touched), `ClusterBusy`, `ManifestInvalid`, the error of the connection, or ApiError when the
 * server refuses the root or the namespace.
 */
export async function install(
  request: InstallRequest,
  deps: InstallDeps,
  signal: AbortSignal,
): Promise<ChangeSet> {
  const { component, target, memory } = request;
  const desired = deps.preparations.of(request.rendered);
  // Far more likely a mistake than a wish; what is installed and its inventory stay.
  if (desired.objects.length === 0) return untouched(desired, []);
  const work: Work = { ...request, desired, deps };
  const isRecorded = (): boolean => memory.isStored(memory.inventoryOf(desired, true));
  if (memory.inventory !== undefined) {
    const plan = await planned(work, signal);
    const isIntact = isSettled(plan) && !request.observation.isDisturbed();
    if (isIntact && isRecorded()) return untouched(desired, contestsOf(work));
  }
  const [before, missing] = await Promise.all([
    readRoot(component, target, signal),
    missingNamespaces(target, desired.namespaces, signal),
  ]);
  if (before !== undefined) request.observation.noteGuarded(before.object);
  memory.recall(before);
  const plan = await planned(work, signal);
  const isMarked = before?.isMarked === true && missing.length === 0;
  if (isMarked && isSettled(plan) && isRecorded()) return untouched(desired, contestsOf(work));
  await createNamespaces(target, missing, signal);
  const root = await withIntent(before, work, signal);
  return carriedOut(plan, { ...work, root, mayExist: before !== undefined }, signal);
}

/** Work whose intent is recorded. */
interface Begun extends Work {
  readonly root: Root;
  /** Something may have been installed before. */
  readonly mayExist: boolean;
}

interface Work extends InstallRequest {
  readonly desired: Desired;
  readonly deps: InstallDeps;
}

function contestsOf({ memory, deps }: Work): readonly Contest[] {
  return memory.contests.current(deps.clock.now());
}

function untouched({ objects }: Desired, contested: readonly Contest[]): ChangeSet {
  return {
    applied: [],
    repaired: [],
    unchanged: objects.length,
    parked: [],
    failed: [],
    pruned: [],
    contested,
  };
}

async function planned(work: Work, signal: AbortSignal): Promise<ApplyPlan> {
  const { desired, observation } = work;
  const { inventory } = work.memory;
  // Without an inventory everything is sent anyway, and the first write should not wait for any list.
  if (inventory === undefined) {
    return planApply(desired.objects, { inventory, observed: new Map() });
  }
  watchAll(work, inventory);
  await observation.synced(signal);
  const observed = observation.objects();
  return refined(planApply(desired.objects, { inventory, observed }), work);
}

/** Leaves contested objects alone for a while; an audit sends again what is there and seems to be right. */
function refined(plan: ApplyPlan, { memory, observation, deps }: Work): ApplyPlan {
  const held = memory.contests.heldAmong(plan.drifted, deps.clock.now());
  const isHeld = ({ id }: Prepared): boolean => held.has(id);
  const isAudited = ({ id }: Prepared): boolean =>
    memory.isAuditDue && observation.objects().get(id)?.deleting === false;
  return {
    ...plan,
    apply: [...plan.apply.filter((one) => !isHeld(one)), ...plan.unchanged.filter(isAudited)],
    unchanged: [...plan.unchanged.filter((one) => !isAudited(one)), ...plan.apply.filter(isHeld)],
  };
}

/** Counts the repairs that are about to be made, and asks who makes them necessary where that is contested. */
async function reckoned(
  plan: ApplyPlan,
  { memory, deps, observation }: Begun,
  ask: (object: Prepared) => Promise<readonly Contestant[]>,
): Promise<void> {
  const now = deps.clock.now();
  const wrong = plan.apply.filter(({ id }) => plan.drifted.has(id));
  const contested = wrong.filter(({ key }) => memory.contests.repairing(key, now));
  // What is gone was deleted by somebody who cannot be named.
  const there = contested.filter(({ id }) => observation.objects().has(id));
  await Promise.all(there.map(async (one) => memory.contests.named(one.key, await ask(one))));
}

function watchAll({ component, target, desired, observation }: Work, inventory: Inventory): void {
  observation.watch(watchedKinds(desired, inventory));
  observation.guard(guardedObjects({ component, target }, desired));
}

async function writtenRoot(
  { component, target, memory, observation }: Work,
  { before, inventory }: { readonly before: Root | undefined; readonly inventory: Inventory },
  signal: AbortSignal,
): Promise<Root> {
  const root = await writeRoot({ component, target, before }, inventory, signal);
  observation.noteGuarded(root.object);
  memory.stored(root);
  return root;
}

/** Makes the root name everything that is about to be written, so that a crash orphans nothing. */
async function withIntent(
  before: Root | undefined,
  work: Work,
  signal: AbortSignal,
): Promise<Root> {
  const { memory, desired } = work;
  const named = new Set(before?.inventory?.entries.map(identityOf));
  const isNamed =
    before?.isMarked === true &&
    before.inventory?.version === desired.version &&
    desired.objects.every(({ id }) => named.has(id));
  if (isNamed) return before;
  const intent = unionOf(memory.inventoryOf(desired, false), memory.inventory);
  return writtenRoot(work, { before, inventory: intent }, signal);
}

async function carriedOut(plan: ApplyPlan, work: Begun, signal: AbortSignal): Promise<ChangeSet> {
  const { desired, observation, memory, target } = work;
  const corrected = new Set<string>();
  const { requests, ...others } = applyDeps(plan, work, corrected);
  await reckoned(plan, work, (one) => contestantsOrNone(requests, one, signal));
  const sent = await apply(gated(plan.apply), { ...others, requests }, signal);
  const parked = sorted([...sent.parked, ...plan.leaving.map(stillLeaving)]);
  const accepted = parked.length + sent.failed.length === 0;
  const { resourceOf } = desired;
  const cleanup = { client: target.client, resourceOf, observed: observation.objects() };
  const { pruned, failed } = await prune(accepted ? plan.prune : [], cleanup, signal);
  const stuck = new Set(failed.map(({ key }) => identityOf(key)));
  const left = plan.prune.filter((entry) => !accepted || stuck.has(identityOf(entry)));
  const complete = memory.inventoryOf(desired, accepted && left.length === 0);
  const inventory = unionOf(complete, { ...complete, entries: left });
  watchAll(work, inventory);
  await record(inventory, work, signal);
  if (accepted) memory.isAuditDue = false;
  return {
    applied: sent.applied,
    repaired: sent.applied.filter((key) => corrected.has(identityOf(key))),
    unchanged: plan.unchanged.length,
    parked,
    failed: sorted([...sent.failed, ...failed]),
    pruned,
    contested: contestsOf(work),
  };
}

/** A question that is refused is not worth the repair. */
async function contestantsOrNone(
  requests: EngineRequests,
  object: Prepared,
  signal: AbortSignal,
): Promise<readonly Contestant[]> {
  try {
    return await requests.contestants(object, signal);
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

async function record(inventory: Inventory, work: Begun, signal: AbortSignal): Promise<void> {
  if (work.memory.isStored(inventory)) return;
  await writtenRoot(work, { before: work.root, inventory }, signal);
}

/** `corrected` takes the identities of objects that were not as we had sent them. */
function applyDeps(
  plan: ApplyPlan,
  work: Begun,
  corrected: Set<string>,
): ApplyDeps & { readonly requests: EngineRequests } {
  const { component, target, root, memory, observation, mayExist } = work;
  const { clock, log, onProgress } = work.deps;
  const { client, namespace, fieldManager } = target;
  const installation = { owner: root.owner, namespace, componentUid: component.metadata.uid };
  const isScaled = scaledAmong(work.rendered.manifests);
  return {
    clock,
    installNamespace: namespace,
    onProgress: (progress) => onProgress?.(ofAll(progress, plan)),
    requests: applyRequests({ client, fieldManager, installation, mayExist, isScaled }),
    onApplied: ({ key, id, hash }, answer) => {
      const sighting = sightingOf(answer, fieldManager);
      if (plan.drifted.has(id) || isCorrected(work, sighting)) corrected.add(id);
      const { fingerprint } = sighting;
      observation.note([sighting]);
      memory.record({ ...key, hash, ...(fingerprint === undefined ? {} : { fingerprint }) });
    },
    onRefused: ({ key }, err) =>
      log.debug({ object: describe(key), status: err.status, err }, "The target refused an object"),
  };
}

/** An audit found something wrong: an apply that changes nothing is no write. */
function isCorrected(
  { memory, observation }: Work,
  { key, resourceVersion }: ObservedObject,
): boolean {
  const before = observation.objects().get(identityOf(key));
  return memory.isAuditDue && before !== undefined && before.resourceVersion !== resourceVersion;
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

// Answers come in any order, but equal outcomes have to read equal.
function sorted(troubles: readonly Trouble[]): readonly Trouble[] {
  return troubles.toSorted((a, b) => (identityOf(a.key) < identityOf(b.key) ? -1 : 1));
}
