import { identityOf, type KubeObject, type Manifest } from "../../api/kubernetes.ts";
import { anchorAnnotations, componentSelector } from "../../installation/anchor.ts";
import type { Desired } from "../../installation/desired.ts";
import { type Inventory, type InventoryEntry, unionOf } from "../../installation/inventory.ts";
import { isSettled } from "../../installation/plan.ts";
import { adopt, entriesOf, obsoleteAmong } from "./adoption/adopt.ts";
import { dropWebhooks } from "./adoption/lost-anchor.ts";
import { unlessSecond } from "./adoption/second-root.ts";
import { isUpstreams } from "./adoption/take-over.ts";
import { mayBeUpstreams, selectedObjects, upstreamObjects } from "./adoption/upstream-objects.ts";
import { type Anchor, anchorSeen } from "./anchor/anchor.ts";
import {
  createNamespaces,
  lookAtNamespaces,
  type Namespaces,
  wantedNamespaces,
} from "./anchor/ensure-namespaces.ts";
import {
  type Housing,
  rewriteAnchor,
  settled,
  strippedAnchor,
  textOf,
  unheld,
  withHoused,
} from "./anchor/housing.ts";
import { carriedOut } from "./carry-out.ts";
import type { ChangeSet } from "./change-set.ts";
import type { Conflict } from "./filters/conflicts.ts";
import { withLeft, withoutOthers } from "./filters/shared-objects.ts";
import {
  begun,
  contestsOf,
  isSecondOwnerThere,
  type InstallDeps,
  type InstallRequest,
  planned,
  ensureSecondOwner2,
  type Work,
  writeAndNoteAnchor,
} from "./install-work.ts";

/**
 * Brings the target to what was rendered: reads the anchor, records the intent, applies what differs, prunes what is obsolete, records the
 * completion. Sends nothing when nothing differs. Can be stopped at any point and begun again.
 *
 * Throws FleetError `AnchorConflict` (nothing was touched), `ClusterBusy`, `ManifestInvalid`, the error of the connection, or ApiError when the
 * server refuses the anchor or a namespace that is missing.
 */
export async function install(
  request: InstallRequest,
  deps: InstallDeps,
  signal: AbortSignal,
): Promise<ChangeSet> {
  const wanted = deps.preparations.of(request.rendered);
  // Far more likely a mistake than a wish; what is installed and its inventory stay.
  if (wanted.objects.length === 0) return untouched(wanted, []);
  const desired = await locatedOn(request, { wanted, deps }, signal);
  request.memory.wanted = desired;
  const whole: Work = { ...request, desired, deps };
  if (await isIntact(whole, signal)) return untouched(desired, contestsOf(whole));
  // At once: it also says that the cluster is resolved.
  deps.onProgress?.({ done: 0, total: desired.objects.length, waiting: [], failed: 0 });
  const found = await foundOn(whole, signal);
  await ensureSecondOwner2(whole, signal);
  const isAnchorLost = found.before === undefined && isLost(whole);
  const { work, left } = await withoutOthers(whole, { isLost: isAnchorLost }, signal);
  return withLeft(await broughtAbout(work, found, signal), left);
}

async function broughtAbout(work: Work, found: Found, signal: AbortSignal): Promise<ChangeSet> {
  const { desired } = work;
  const { before } = found;
  if (mayBeUpstreams(work, before)) return adopted(work, found, signal);
  const plan = await planned(work, signal);
  const isBased = standing(found) !== undefined && isHoused(found) && isRecorded(work);
  const seesAll = work.observation.refused().size === 0;
  if (isBased && isSettled(plan) && seesAll) return untouched(desired, contestsOf(work));
  const housed = await settled(work, found.namespaces, signal);
  const forgotten = await forgottenBy(before, work, signal);
  const mayExist = before !== undefined || isLost(work);
  const make = (): Promise<Anchor> => withIntent({ ...found, forgotten }, work, signal);
  await protectedAhead(found, work, signal);
  const changes = await unlessSecond({ before, work, make }, signal, async (attempt) => {
    // What has come to light may be obsolete.
    const next = forgotten.length === 0 ? plan : await planned(work, signal);
    return carriedOut(next, begun({ ...work, ...attempt, mayExist }), signal);
  });
  return withHoused(changes, housed);
}

/** The set as the target serves it; what is wrong with the target itself is said first. */
async function locatedOn(
  { target, memory }: InstallRequest,
  { wanted, deps }: { readonly wanted: Desired; readonly deps: InstallDeps },
  signal: AbortSignal,
): Promise<Desired> {
  try {
    return await memory.kinds.locate(wanted, target.client, signal);
  } catch (error) {
    await deps.suited;
    throw error;
  }
}

/** Nothing is to be done, as far as this process knows without asking. */
async function isIntact(work: Work, signal: AbortSignal): Promise<boolean> {
  const { memory, observation } = work;
  if (memory.inventory === undefined) return false;
  const plan = await planned(work, signal);
  const isDisturbed = observation.isDisturbed() || memory.groundConflicts.isHolding;
  const isQuiet = isSettled(plan) && !isDisturbed && observation.refused().size === 0;
  return (
    isQuiet && isSecondOwnerThere(work) && isRecorded(work) && memory.namespaces === textOf(work)
  );
}

function isRecorded({ memory, desired }: Work): boolean {
  return memory.isStored(memory.inventoryOf(desired, true));
}

interface Found {
  readonly before: Anchor | undefined;
  readonly namespaces: Housing;
}

/** The anchor that is written only where it is to say something else: its marks are all there, or left alone for a while. */
function standing({ before, namespaces }: Found): Anchor | undefined {
  return namespaces.isAnchorHeld || before?.isMarked === true ? before : undefined;
}

function isHoused({ namespaces }: Found): boolean {
  return namespaces.missing.length + namespaces.outdated.length === 0;
}

/** Looks while it is asked whether the target suits; what is wrong with the target itself is said first. */
async function foundOn(work: Work, signal: AbortSignal): Promise<Found> {
  const looking = looked(work, signal);
  // Awaited below.
  looking.catch(() => undefined);
  await work.deps.suited;
  return looking;
}

/** What there is of anchor and namespaces. */
async function looked(work: Work, signal: AbortSignal): Promise<Found> {
  const { component, target, desired, memory, observation, deps } = work;
  const wanted = wantedNamespaces({ component, target }, desired.namespaces);
  const [before, namespaces] = await Promise.all([
    rootSeen(work, signal),
    housing(work, wanted, signal),
  ]);
  const guarded = [...(before === undefined ? [] : [before.object]), ...namespaces.own];
  for (const object of guarded) observation.noteGuarded(object);
  if (before === undefined) await afterLoss(work, signal);
  else deps.gate?.saw(before.object);
  memory.recall(before);
  const stripped = strippedAnchor(before, work);
  const found = { before, namespaces: unheld({ namespaces, stripped }, work) };
  // What is wrong was noted as it is, and only this tells of it when it cannot be put right now.
  memory.namespaces = isHoused(found) ? textOf(work) : "";
  return found;
}

/** Of what is new the namespaces are probably missing, too: they are looked at only where they cannot be created. */
async function housing(
  work: Work,
  wanted: readonly Manifest[],
  signal: AbortSignal,
): Promise<Namespaces> {
  const created = work.isNew === true ? await createdAhead(work, wanted, signal) : [];
  const names = new Set<string | undefined>(created.map(({ metadata }) => metadata.name));
  const others = wanted.filter(({ metadata }) => !names.has(metadata.name));
  const looks = await lookAtNamespaces(work.target, others, signal);
  return { ...looks, own: [...looks.own, ...created] };
}

async function rootSeen(
  { component, target, deps, isNew = false }: Work,
  signal: AbortSignal,
): Promise<Anchor | undefined> {
  const seen = isNew && deps.seen !== undefined ? await deps.seen : "unknown";
  return anchorSeen(seen, { component, target }, signal);
}

/** Where there is no anchor: there was one, as far as this process or the hub knows. */
function isLost({ memory, component }: Work): boolean {
  return memory.hadAnchor || component.status?.version !== undefined;
}

/** Without its anchor an installation is lost, unless it had a second owner. Another one may not be had for long: that is no other loss. */
async function afterLoss(work: Work, signal: AbortSignal): Promise<void> {
  const { component, target, memory, deps } = work;
  if (!isLost(work) || target.profile === undefined) return;
  const { doneAfterLoss: done } = memory;
  if (!done.has("told")) deps.onAnchorLost?.();
  done.add("told");
  if (memory.secondOwner !== undefined || done.has("droppedWebhooks")) return;
  await deps.suited;
  await dropWebhooks(target, component, signal);
  done.add("droppedWebhooks");
}

async function createdAhead(
  { target, deps }: Work,
  wanted: readonly Manifest[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    await deps.suited;
    await deps.gate?.underWay(signal);
  } catch {
    // Told by who waits for it, too.
    return [];
  }
  return createNamespaces(target, wanted, signal);
}

/** Takes over what upstream's operator installed, and goes on from there. */
async function adopted(work: Work, looks: Found, signal: AbortSignal): Promise<ChangeSet> {
  const { component, target, memory, desired, deps } = work;
  const { before } = looks;
  const found = await upstreamObjects(work, before, signal);
  const housed = await settled(work, looks.namespaces, signal);
  const ours = unionOf(memory.inventoryOf(desired, false), memory.inventory);
  const theirs = { ...ours, entries: entriesOf(obsoleteAmong(found, desired)) };
  // An anchor of ours that was lost and one that never was look the same.
  const forgotten = before === undefined ? await forgottenBy(before, work, signal) : [];
  const obsolete = unionOf(theirs, { ...ours, entries: forgotten });
  const inventory = { ...unionOf(ours, obsolete), adopting: true };
  await protectedAhead(looks, work, signal);
  const make = async (): Promise<Anchor> => {
    const anchor = memory.isStored(inventory) ? standing(looks) : undefined;
    return anchor ?? rewritten({ ...looks, inventory }, work, signal);
  };
  const changes = await unlessSecond({ before, work, make }, signal, async (attempt) => {
    const next = begun({ ...work, ...attempt, mayExist: true });
    const { requests } = next;
    const { client, fieldManager, namespace: installNamespace } = target;
    const componentUid = component.metadata.uid;
    await attempt.first;
    const own = { client, fieldManager, installNamespace };
    const unadopted = await adopt(found, { ...own, componentUid, desired, requests }, signal);
    const objects = found.filter(isUpstreams).length - unadopted.count;
    deps.log.info({ objects }, "Took over what the upstream operator installed");
    if (objects > 0) deps.onAdopted?.(objects);
    return carriedOut(await planned(work, signal), { ...next, unadopted }, signal);
  });
  return withHoused(changes, housed);
}

/** Waits before an anchor is made: what protects it is written first, and proven beside the work. */
async function protectedAhead(found: Found, { deps }: Work, signal: AbortSignal): Promise<void> {
  if (standing(found) === undefined) await deps.gate?.ready(signal);
}

/** What is not wanted any more and only an inventory that is damaged or lost would have named. */
async function forgottenBy(
  before: Anchor | undefined,
  work: Work,
  signal: AbortSignal,
): Promise<readonly InventoryEntry[]> {
  const { component, target, desired } = work;
  const isForgetful = before === undefined ? isLost(work) : before.inventory === undefined;
  if (!isForgetful) return [];
  const selector = componentSelector(component.metadata.uid);
  const found = await selectedObjects(selector, { target, desired }, signal);
  // Anchors and second owners are no part of what they own.
  const others = found.filter(
    ({ metadata }) => metadata.annotations?.[anchorAnnotations.componentUid] === undefined,
  );
  return entriesOf(obsoleteAmong(others, desired));
}

/**
 * Makes the anchor name everything that is about to be written, or that is to go, and forget what it knew of that, so that a crash orphans nothing and nobody
 * takes what was sent before it for what was there before.
 */
async function withIntent(
  { forgotten, ...found }: Found & { readonly forgotten: readonly InventoryEntry[] },
  work: Work,
  signal: AbortSignal,
): Promise<Anchor> {
  const { memory, desired } = work;
  const anchor = standing(found);
  const hashes = new Map(anchor?.inventory?.entries.map((one) => [identityOf(one), one.hash]));
  const isNamed =
    anchor?.inventory?.version === desired.version &&
    desired.objects.every(({ id, hash }) => {
      const stored = hashes.get(id);
      return stored === "" || stored === hash;
    });
  if (isNamed) return anchor;
  const intent = unionOf(memory.inventoryOf(desired, false), memory.inventory);
  const inventory = unionOf(intent, { ...intent, entries: forgotten });
  return rewritten({ ...found, inventory }, work, signal);
}

function rewritten(
  { before, namespaces, inventory }: Found & { readonly inventory: Inventory },
  work: Work,
  signal: AbortSignal,
): Promise<Anchor> {
  const write = (): Promise<Anchor> => writeAndNoteAnchor(work, { before, inventory }, signal);
  return rewriteAnchor(write, { housing: namespaces, work }, signal);
}

function untouched({ objects }: Desired, conflicts: readonly Conflict[]): ChangeSet {
  return {
    applied: [],
    repaired: [],
    unchanged: objects.length,
    parked: [],
    failed: [],
    pruned: [],
    lingering: [],
    conflicts,
  };
}
