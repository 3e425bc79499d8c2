import type { Component } from "../../api/component.ts";
import { identityOf, type KubeObject, isJob } from "../../api/kubernetes.ts";
import { secondOwnerKey } from "../../installation/anchor.ts";
import type { Desired, Preparations, Prepared } from "../../installation/desired.ts";
import { kindOf } from "../../installation/gates.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { kindIdOf } from "../../installation/kinds.ts";
import { type ApplyPlan, kindsGoingWith, planApply } from "../../installation/plan.ts";
import type { OwnershipQuestion } from "../../installation/sharing.ts";
import { strayEntries } from "../../installation/strays.ts";
import { scaledAmong } from "../../installation/stripped.ts";
import type { Rendered } from "../../render/release/releases.ts";
import { ensureSecondOwner } from "../guard/second-owner.ts";
import type { Log } from "../log.ts";
import { firstLists } from "../observe/first-lists.ts";
import type { Observation } from "../observe/observation.ts";
import type { Awaiting } from "../queue/awaiting.ts";
import type { Clock } from "../queue/clock.ts";
import type { Unadopted } from "./adoption/adopt.ts";
import { type Anchor, type SeenAnchor, writeAnchor } from "./anchor/anchor.ts";
import { applyRequests, type EngineRequests } from "./apply-requests.ts";
import type { Progress } from "./change-set.ts";
import type { Conflict } from "./filters/conflicts.ts";
import { withLostJobs } from "./filters/lost-jobs.ts";
import type { InstallationMemory } from "./installation-memory.ts";
import type { Target } from "./target.ts";
import type { Unblocked } from "./unblock.ts";
import { guardedObjects, watchedKinds } from "./watched-kinds.ts";

export interface InstallRequest {
  readonly component: Component;
  readonly rendered: Rendered;
  readonly target: Target;
  readonly observation: Observation;
  /** Of this component on this target; a new one costs two reads and the lists of the watches. */
  readonly memory: InstallationMemory;
  /** Nothing was ever installed for the component, as far as the hub knows; saves a round trip. Default false. */
  readonly isNew?: boolean;
}

/** What the protection of anchors on the target has to say about an install; see ../guard/cluster-guard.ts. */
export interface AnchorGate {
  /** Resolves when what protects the anchor is on its way to the target, which comes before anything else that is written there. */
  underWay(signal: AbortSignal): Promise<void>;
  /** Resolves when an anchor may be made; throws FleetError `AnchorUnprotected`. */
  ready(signal: AbortSignal): Promise<void>;
  /** Whether objects are to have a second owner. */
  needsSecondOwner(signal: AbortSignal): Promise<boolean>;
  /** Told of each anchor that was read. */
  saw(anchor: KubeObject): void;
}

export interface InstallDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** One for all components. */
  readonly preparations: Preparations;
  /** Nothing is written before it resolves; its rejection is thrown. Absent: the target suits. */
  readonly suited?: Promise<unknown>;
  /** The anchor of a new component, from who looked already; see neighbours.ts. Absent: it is read. */
  readonly seen?: Promise<SeenAnchor>;
  /**
   * Asked while an anchor is being made: throws FleetError when another installation had its anchor before, and what the making throws. Absent: nobody else can
   * come.
   */
  readonly assertFirst?: (making: Promise<Anchor>, signal: AbortSignal) => Promise<void>;
  /**
   * Asked of objects that are new to an installation, and of those that are fought over: resolves with those that another component of the hub has, by identity,
   * each with words for whose it is, and with undefined where nobody may look. Absent: nobody else has anything.
   */
  readonly holders?: (
    question: OwnershipQuestion,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string> | undefined>;
  /** Told what the attempt knows of, and asked whether something else waits for its end. Absent: nothing does. */
  readonly awaiting?: Pick<Awaiting, "planned" | "settled" | "isBeside">;
  /** Called at once for each object that is done. */
  readonly onProgress?: (progress: Progress) => void;
  /** Called when the rules of a webhook were emptied; see unblock.ts. */
  readonly onUnblocked?: (unblocked: Unblocked) => void;
  /** Absent: anchors are not protected. */
  readonly gate?: AnchorGate | undefined;
  /** Called with the number of objects that were upstream's before; not when an adoption that was begun found none left. */
  readonly onAdopted?: (count: number) => void;
  /** The anchor of an installation that was there is gone. */
  readonly onAnchorLost?: () => void;
  /** CRDs get the label by which they are guarded. */
  readonly guardsCrds?: boolean;
}

/** Work whose intent is recorded. */
export interface Begun extends Work {
  readonly anchor: Anchor;
  /** Something may have been installed before. */
  readonly mayExist: boolean;
  /** Nothing is sent before it resolves; its rejection is thrown. */
  readonly first: Promise<void>;
  /** Nothing was ever accepted under the anchor, so that `first` is about everything. */
  readonly isNewcomer: boolean;
  readonly requests: EngineRequests;
  /** Of an adoption: what it left undone. */
  readonly unadopted?: Unadopted;
}

/** Adds the requests of one attempt. */
export function begun(work: Omit<Begun, "requests">): Begun {
  const { component, target, anchor, mayExist, memory, deps } = work;
  const { client, namespace, fieldManager, hubId } = target;
  const installation = {
    owner: anchor.owner,
    namespace,
    componentUid: component.metadata.uid,
    ...(memory.secondOwner === undefined ? {} : { secondOwner: memory.secondOwner }),
    ...(deps.guardsCrds === true && target.profile !== undefined ? { crdGuard: hubId } : {}),
  };
  const isScaled = scaledAmong(work.rendered.manifests);
  const requests = applyRequests({ client, fieldManager, installation, mayExist, isScaled });
  return { ...work, requests };
}

/** An attempt, with what is wanted. */
export interface Work extends InstallRequest {
  readonly desired: Desired;
  readonly deps: InstallDeps;
}

/** The second owner that was found or made is still there, if there was one. */
export function isSecondOwnerThere({
  component,
  memory,
  observation,
}: Pick<Work, "component" | "memory" | "observation">): boolean {
  if (memory.secondOwner === undefined) return true;
  const seen = observation.objects().get(identityOf(secondOwnerKey(component)));
  return seen?.uid === memory.secondOwner.uid && !seen.deleting;
}

/** Finds or makes the second owner where one is needed. */
export async function ensureSecondOwner2(
  { component, target, memory, observation, deps }: Work,
  signal: AbortSignal,
): Promise<void> {
  if (deps.gate === undefined || !(await deps.gate.needsSecondOwner(signal))) {
    memory.secondOwner = undefined;
    return;
  }
  if (memory.secondOwner !== undefined && isSecondOwnerThere({ component, memory, observation }))
    return;
  const { owner, isNew } = await ensureSecondOwner({ ...target, component }, signal);
  memory.secondOwner = owner;
  // What was sent before does not have it.
  if (isNew) memory.isAuditDue = true;
}

/** The conflicts over objects of the installation that are not over. */
export function contestsOf({ memory, deps }: Work): readonly Conflict[] {
  const now = deps.clock.now();
  return [...memory.groundConflicts.current(now), ...memory.conflicts.current(now)];
}

/** Compares what is wanted with what is there, once that is known. */
export async function planned(work: Work, signal: AbortSignal): Promise<ApplyPlan> {
  const { desired, observation, target, memory } = work;
  const { inventory } = memory;
  // Without an inventory everything is sent anyway, and the first write should not wait for any list.
  if (inventory === undefined) {
    return planApply(desired.objects, { inventory, observed: new Map() });
  }
  await memory.kinds.lookUp({ desired, inventory }, target.client, signal);
  watchAll(work, inventory);
  await firstLists(observation, work.deps.clock, signal);
  const observed = observation.objects();
  const refused = observation.refused();
  const { appliedAt } = memory;
  const named = planApply(desired.objects, { inventory, observed, refused, appliedAt });
  memory.dismissed.retain(observed);
  const strays = strayEntries(work, inventory);
  const plan = { ...named, prune: [...named.prune, ...strays] };
  const entries = [...inventory.entries, ...strays];
  work.deps.awaiting?.planned([...desired.objects.map(({ id }) => id), ...entries.map(identityOf)]);
  return refined(await withLostJobs(plan, work, signal), work);
}

/** Leaves conflicts objects alone for a while; an audit sends again what seems to be right. */
function refined(plan: ApplyPlan, work: Work): ApplyPlan {
  const { memory, deps } = work;
  const held = memory.conflicts.heldAmong(plan.drifted, deps.clock.now());
  const isHeld = ({ id }: Prepared): boolean => held.has(id);
  const maySend = auditable(plan, work);
  const isAudited = (one: Prepared): boolean => memory.isToAudit(one.id) && maySend(one);
  return {
    ...plan,
    // What was ours once and is left to another is that one's to delete.
    prune: plan.prune.filter((entry) => !memory.sharing.left.has(identityOf(entry))),
    apply: [...plan.apply.filter((one) => !isHeld(one)), ...plan.unchanged.filter(isAudited)],
    unchanged: [...plan.unchanged.filter((one) => !isAudited(one)), ...plan.apply.filter(isHeld)],
  };
}

/**
 * What an audit may send: what is there. Of a kind that may not be watched nobody knows, and nothing but an audit finds what was done to it: all but Jobs is sent,
 * whatever was seen before, and the answer tells what is being deleted.
 */
function auditable({ leaving }: ApplyPlan, { observation }: Work): (one: Prepared) => boolean {
  const observed = observation.objects();
  const refused = observation.refused();
  const going = kindsGoingWith(leaving);
  return (one) => {
    if (!refused.has(kindIdOf(one.key))) return observed.get(one.id)?.deleting === false;
    return !isJob(one.key) && !going.has(kindOf(one));
  };
}

/** Watches everything that the installation consists of and stands on. */
export function watchAll(work: Work, inventory: Inventory): void {
  work.observation.watch(watchedKinds(work.desired, inventory, work.memory.kinds));
  guardAll(work);
}

/** Watches what the installation stands on. */
export function guardAll({ component, target, desired, observation }: Work): void {
  observation.guard(guardedObjects({ component, target }, desired));
}

/** Writes the anchor and remembers that. */
export async function writeAndNoteAnchor(
  { component, target, memory, observation, deps }: Work,
  { before, inventory }: { readonly before: Anchor | undefined; readonly inventory: Inventory },
  signal: AbortSignal,
): Promise<Anchor> {
  const anchor = await writeAnchor({ component, target, before }, inventory, signal);
  observation.noteGuarded(anchor.object);
  deps.awaiting?.settled(identityOf(anchor.key));
  memory.stored(anchor);
  return anchor;
}
