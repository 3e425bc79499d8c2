import type { Component } from "../../api/component.ts";
import { identityOf, type KubeObject } from "../../api/kubernetes.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { isJob } from "../../installation/job.ts";
import type { OwnershipQuestion } from "../../installation/sharing.ts";
import { scaledAmong } from "../../installation/stripped.ts";
import type { Rendered } from "../../render/rendered.ts";
import { ensureTwin, twinKeyOf } from "../guard/twin.ts";
import type { Log } from "../log.ts";
import { firstLists } from "../observe/first-lists.ts";
import type { Observation } from "../observe/observation.ts";
import { kindIdOf } from "../observe/sighting.ts";
import type { Awaiting } from "../queue/awaiting.ts";
import type { Clock } from "../queue/clock.ts";
import type { Unadopted } from "./adoption/adopt.ts";
import { type Root, type SeenRoot, writeRoot } from "./anchor/anchor.ts";
import { applyRequests, type EngineRequests } from "./apply-requests.ts";
import type { Progress } from "./change-set.ts";
import type { Contest } from "./filters/contests.ts";
import { withLostJobs } from "./filters/lost-jobs.ts";
import { strayEntries } from "./filters/strays.ts";
import { kindOf } from "./gates.ts";
import type { InstallationMemory } from "./installation-memory.ts";
import { type ApplyPlan, kindsGoingWith, planApply } from "./plan.ts";
import type { Desired, Preparations, Prepared } from "./prepare.ts";
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
  needsTwin(signal: AbortSignal): Promise<boolean>;
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
  /** The root of a new component, from who looked already; see neighbours.ts. Absent: it is read. */
  readonly seen?: Promise<SeenRoot>;
  /**
   * Asked while a root is being made: throws FleetError when another installation had its root before, and what the making throws. Absent: nobody else can
   * come.
   */
  readonly assertFirst?: (making: Promise<Root>, signal: AbortSignal) => Promise<void>;
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
  readonly root: Root;
  /** Something may have been installed before. */
  readonly mayExist: boolean;
  /** Nothing is sent before it resolves; its rejection is thrown. */
  readonly first: Promise<void>;
  /** Nothing was ever accepted under the root, so that `first` is about everything. */
  readonly isNewcomer: boolean;
  readonly requests: EngineRequests;
  /** Of an adoption: what it left undone. */
  readonly unadopted?: Unadopted;
}

/** Adds the requests of one attempt. */
export function begun(work: Omit<Begun, "requests">): Begun {
  const { component, target, root, mayExist, memory, deps } = work;
  const { client, namespace, fieldManager, hubId } = target;
  const installation = {
    owner: root.owner,
    namespace,
    componentUid: component.metadata.uid,
    ...(memory.twin === undefined ? {} : { twin: memory.twin }),
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
export function hasTwin({
  component,
  memory,
  observation,
}: Pick<Work, "component" | "memory" | "observation">): boolean {
  if (memory.twin === undefined) return true;
  const seen = observation.objects().get(identityOf(twinKeyOf(component)));
  return seen?.uid === memory.twin.uid && !seen.deleting;
}

/** Finds or makes the second owner where one is needed. */
export async function withTwin(
  { component, target, memory, observation, deps }: Work,
  signal: AbortSignal,
): Promise<void> {
  if (deps.gate === undefined || !(await deps.gate.needsTwin(signal))) {
    memory.twin = undefined;
    return;
  }
  if (memory.twin !== undefined && hasTwin({ component, memory, observation })) return;
  const { owner, isNew } = await ensureTwin({ ...target, component }, signal);
  memory.twin = owner;
  // What was sent before does not have it.
  if (isNew) memory.isAuditDue = true;
}

/** The contests over objects of the installation that are not over. */
export function contestsOf({ memory, deps }: Work): readonly Contest[] {
  const now = deps.clock.now();
  return [...memory.groundContests.current(now), ...memory.contests.current(now)];
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

/** Leaves contested objects alone for a while; an audit sends again what seems to be right. */
function refined(plan: ApplyPlan, work: Work): ApplyPlan {
  const { memory, deps } = work;
  const held = memory.contests.heldAmong(plan.drifted, deps.clock.now());
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

/** Writes the root and remembers that. */
export async function writtenRoot(
  { component, target, memory, observation, deps }: Work,
  { before, inventory }: { readonly before: Root | undefined; readonly inventory: Inventory },
  signal: AbortSignal,
): Promise<Root> {
  const root = await writeRoot({ component, target, before }, inventory, signal);
  observation.noteGuarded(root.object);
  deps.awaiting?.settled(identityOf(root.key));
  memory.stored(root);
  return root;
}
