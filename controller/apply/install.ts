import { objectId } from "../../api/keys.ts";
import { type KubeObject } from "../../api/kubernetes.ts";
import type { Desired } from "../../installation/desired.ts";
import { type Inventory, type InventoryEntry, unionOf } from "../../installation/inventory.ts";
import { keptBy } from "../../installation/kept.ts";
import {
  type ApplyPlan,
  isSettled,
  type ObjectFacts,
  planInstall,
} from "../../installation/plan.ts";
import { adoptUpstream, inventoryEntriesOf, obsoleteAmong } from "./adoption/adopt.ts";
import { mayBeUpstreams, labelledObjects, upstreamObjects } from "./adoption/upstream-objects.ts";
import {
  type AnchorRepairs,
  namespacesText,
  rewriteAnchor,
  writeNamespaces,
} from "./anchor/anchor-repairs.ts";
import type { Anchor } from "./anchor/anchor.ts";
import { askWhetherFirst, type FirstAnswer, withdrawIfSecond } from "./anchor/first-anchor.ts";
import {
  areNamespacesIntact,
  type AnchorFacts,
  observeAnchor,
  intactAnchor,
  wasAnchored,
} from "./anchor/observe-anchor.ts";
import { isSecondOwnerThere, keepSecondOwner } from "./anchor/second-owner.ts";
import { type ChangeSet, sorted, type Trouble } from "./change-set.ts";
import { isHolding } from "./filters/conflicts.ts";
import { withoutOthers } from "./filters/shared-objects.ts";
import {
  type InstallAttempt,
  settleConflicts,
  type InstallDeps,
  type InstallInput,
  recordedAttempt,
  writeInventory,
} from "./install-attempt.ts";
import { inventoryFor, hasInventory, inventoryOf, isStored } from "./install-state.ts";
import { noteDrift, observeAndPlan, observeObjects, watchAll } from "./observe-objects.ts";
import { sendObjects, type SendResults, unwatchedKinds } from "./send-objects.ts";

/**
 * Makes the target equal to the rendered objects, in five steps: observe, plan, record the intent, send, record the result. Sends nothing when
 * nothing differs. Can be stopped at any point and begun again.
 *
 * Throws FleetError `AnchorConflict` (nothing was touched), `ClusterBusy`, `ManifestInvalid`, the error of the connection, or ApiError when the
 * server refuses the anchor or a missing namespace.
 */
export async function install(
  input: InstallInput,
  deps: InstallDeps,
  signal: AbortSignal,
): Promise<ChangeSet> {
  const prepared = deps.preparations.of(input.rendered);
  // Far more likely a mistake than a wish: the installation and its inventory stay.
  if (prepared.objects.length === 0) return nothingSent(prepared);
  const desired = await locate(prepared, { ...input, deps }, signal);
  const attempt = keeping({ ...input, desired, deps });
  input.memory.become((state) => ({ ...state, desired: attempt.desired }));
  if (await isIntact(attempt, signal)) return nothingSent(desired, attempt);
  // Reported at once: the report also says that the cluster is resolved.
  deps.onProgress?.({ done: 0, total: desired.objects.length, waiting: [], failed: 0 });

  const facts = await observe(attempt, signal);
  const plan = makePlan(facts);
  if (plan.kind !== "adopt") noteDrift({ ...plan.objects, held: plan.held }, facts.attempt);
  if (plan.kind === "nothing") return nothingSent(facts.attempt.desired, facts.attempt, facts.left);
  const intent = await recordIntent(plan, facts, signal);
  try {
    const results = await send(plan, { facts, intent }, signal);
    return await recordResult(results, { facts, intent }, signal);
  } catch (error) {
    await withdrawIfSecond(error, { ...intent, attempt: facts.attempt }, signal);
    throw error;
  }
}

/** The attempt of an installation that keeps the objects of its inventory, as far as the inventory is known. */
function keeping(attempt: InstallAttempt): InstallAttempt {
  const { isHeld = false, desired, memory } = attempt;
  return isHeld && desired.kept === undefined
    ? { ...attempt, desired: keptBy(desired, inventoryOf(memory.state)) }
    : attempt;
}

/** The facts about the target before the first write, except that a second owner may have been created. */
interface Facts extends AnchorFacts {
  /** The attempt without the objects of other components. */
  readonly attempt: InstallAttempt;
  /** Objects that are left to other components. */
  readonly left: readonly Trouble[];
  /** There is no anchor, but there was one. */
  readonly isAnchorLost: boolean;
  /** In an adoption: the objects of upstream's operator. Otherwise: the objects of the installation on the cluster. */
  readonly live: { readonly upstream: readonly KubeObject[] } | { readonly objects: ObjectFacts };
}

/** Step 1. Reads the anchor, the namespaces and the objects, and asks which objects belong to other components. */
async function observe(started: InstallAttempt, signal: AbortSignal): Promise<Facts> {
  const anchorFacts = await observeAnchor(started, signal);
  // Now its inventory is known.
  const full = keeping(started);
  full.memory.become((state) => ({ ...state, desired: full.desired }));
  await keepSecondOwner(full, signal);
  const isAnchorLost = anchorFacts.anchor === undefined && wasAnchored(full);
  const { attempt, left } = await withoutOthers(full, { isLost: isAnchorLost }, signal);
  const live = mayBeUpstreams(attempt, anchorFacts.anchor)
    ? { upstream: await upstreamObjects(attempt, anchorFacts.anchor, signal) }
    : { objects: await observeObjects(attempt, signal) };
  return { ...anchorFacts, attempt, left, isAnchorLost, live };
}

interface ObjectPlan {
  readonly objects: ApplyPlan;
  readonly held: ObjectFacts["held"];
}

/** A plan with something to do. */
type WorkPlan =
  /** Take over the objects of upstream's operator first. What is to be sent depends on what could be taken over, and is planned after that. */
  | { readonly kind: "adopt"; readonly upstream: readonly KubeObject[] }
  | ({ readonly kind: "apply" } & ObjectPlan);

type Plan = WorkPlan | ({ readonly kind: "nothing" } & ObjectPlan);

/** Step 2, pure; see planInstall. */
function makePlan(facts: Facts): Plan {
  const { attempt, live } = facts;
  if ("upstream" in live) return { kind: "adopt", upstream: live.upstream };
  const { held } = live.objects;
  const objects = planInstall(attempt.desired.objects, live.objects);
  return { kind: isDone(objects, facts) ? "nothing" : "apply", objects, held };
}

/** An anchor whose inventory names every object that will be sent or deleted. */
interface Intent extends FirstAnswer {
  readonly anchor: Anchor;
  /** The results for namespaces and anchor. */
  readonly repairs: AnchorRepairs;
  /** Obsolete objects that only a damaged or lost inventory named. */
  readonly forgotten: readonly InventoryEntry[];
}

/**
 * Step 3. Writes the inventory, with hashes cleared, before the first object is sent. So a crash orphans nothing, and no object counts as accepted
 * before its answer. Repairs the namespaces first, because the anchor is in one of them.
 */
async function recordIntent(plan: WorkPlan, facts: Facts, signal: AbortSignal): Promise<Intent> {
  const { attempt, namespaces, anchor: before } = facts;
  const { memory, desired, deps } = attempt;
  const repairs = await writeNamespaces(attempt, namespaces, signal);
  const forgotten = await findForgotten(plan, facts, signal);
  const intact = intactAnchor(facts);
  // The policies that protect an anchor are written before the anchor, and proven later.
  if (intact === undefined) await deps.gate?.waitUntilOpen(signal);
  const upstream =
    plan.kind === "adopt" ? inventoryEntriesOf(obsoleteAmong(plan.upstream, desired)) : [];
  const { state } = memory;
  const ours = unionOf(inventoryFor(state, desired, false), inventoryOf(state));
  const named = unionOf(unionOf(ours, { ...ours, entries: upstream }), {
    ...ours,
    entries: forgotten,
  });
  const inventory = plan.kind === "adopt" ? { ...named, adopting: true } : named;
  const isRecorded = plan.kind === "adopt" ? isStored(state, inventory) : namesAll(intact, desired);
  const write = (): Promise<Anchor> => writeInventory(attempt, { before, inventory }, signal);
  const making =
    intact !== undefined && isRecorded
      ? Promise.resolve(intact)
      : rewriteAnchor(write, { namespacePlan: namespaces, attempt }, signal);
  const answer = askWhetherFirst(making, { before, attempt }, signal);
  return { ...answer, anchor: await making, repairs, forgotten };
}

interface Recorded {
  readonly facts: Facts;
  readonly intent: Intent;
}

/** Step 4. Sends, repairs and deletes objects. An adoption takes over the objects of upstream's operator first. */
async function send(
  plan: WorkPlan,
  { facts, intent }: Recorded,
  signal: AbortSignal,
): Promise<SendResults> {
  const { attempt } = facts;
  if (plan.kind === "adopt") {
    const recorded = recordedAttempt({ ...attempt, ...intent, mayExist: true });
    await intent.beforeFirstObject();
    const unadopted = await adoptUpstream(plan.upstream, recorded, signal);
    return sendObjects(await observeAndPlan(attempt, signal), { ...recorded, unadopted }, signal);
  }
  const mayExist = facts.anchor !== undefined || facts.isAnchorLost;
  const recorded = recordedAttempt({ ...attempt, ...intent, mayExist });
  // Forgotten objects may have to be deleted. The watches of their kinds are opened only by this plan.
  const objects =
    intent.forgotten.length === 0 ? plan.objects : await observeAndPlan(attempt, signal);
  return sendObjects(objects, recorded, signal);
}

/** Step 5. Writes the inventory with the answers, and returns the results. */
async function recordResult(
  results: SendResults,
  { facts, intent }: Recorded,
  signal: AbortSignal,
): Promise<ChangeSet> {
  const { attempt, plan, sent, parked, refused, pruned, left } = results;
  const { memory, desired, anchor, unadopted } = attempt;
  const isAccepted = parked.length + refused.length === 0;
  const complete = inventoryFor(memory.state, desired, isAccepted && pruned.left.length === 0);
  const adopting = unadopted?.isUnfinished([...parked, ...refused]) === true;
  const inventory = { ...unionOf(complete, { ...complete, entries: pruned.left }), adopting };
  watchAll(attempt, inventory);
  if (!isStored(memory.state, inventory)) {
    await writeInventory(attempt, { before: anchor, inventory }, signal);
  }
  if (isAccepted) memory.become((state) => ({ ...state, audited: undefined }));
  const unwatched = unwatchedKinds(attempt, inventory);
  const { repairs } = intent;
  return {
    applied: sent.applied,
    repaired: [...repairs.repaired, ...results.repaired],
    renewed: results.renewed,
    unchanged: plan.unchanged.length,
    parked: sorted([...repairs.parked, ...parked]),
    failed: sorted([
      ...repairs.failed,
      ...refused,
      ...pruned.failed,
      ...unwatched,
      ...left,
      ...facts.left,
    ]),
    pruned: pruned.pruned,
    lingering: sorted(pruned.lingering),
    conflicts: settleConflicts(attempt),
  };
}

/** The set as the target serves it. An error of the target itself is thrown first. */
async function locate(
  prepared: Desired,
  { target, memory, deps }: InstallInput & Pick<InstallAttempt, "deps">,
  signal: AbortSignal,
): Promise<Desired> {
  try {
    return await memory.kinds.locate(prepared, target.client, signal);
  } catch (error) {
    await deps.beforeFirstWrite?.();
    throw error;
  }
}

/** Whether nothing is to be done, as far as this process knows from its watches. */
async function isIntact(attempt: InstallAttempt, signal: AbortSignal): Promise<boolean> {
  const { memory, observation } = attempt;
  if (!hasInventory(memory.state)) return false;
  const plan = await observeAndPlan(attempt, signal);
  const isDisturbed = observation.isDisturbed() || isHolding(memory.state.anchorConflicts);
  const isQuiet = isSettled(plan) && !isDisturbed && observation.refused().size === 0;
  return (
    isQuiet &&
    isSecondOwnerThere(attempt) &&
    isInventoryStored(attempt) &&
    memory.state.namespaces === namespacesText(attempt)
  );
}

/** Whether nothing is to be done, now that the anchor and the namespaces were read. */
function isDone(objects: ApplyPlan, facts: Facts): boolean {
  const { attempt } = facts;
  const isAnchored = intactAnchor(facts) !== undefined && areNamespacesIntact(facts);
  const seesAll = attempt.observation.refused().size === 0;
  return isAnchored && isInventoryStored(attempt) && isSettled(objects) && seesAll;
}

function isInventoryStored({ memory, desired }: InstallAttempt): boolean {
  return isStored(memory.state, inventoryFor(memory.state, desired, true));
}

/**
 * Obsolete objects that an inventory named which is damaged or lost. They are asked for only now: a plan that names them needs the lists of their kinds, for which the first writes over a
 * lost anchor must not wait.
 */
async function findForgotten(
  plan: WorkPlan,
  { attempt, anchor, isAnchorLost }: Facts,
  signal: AbortSignal,
): Promise<readonly InventoryEntry[]> {
  const isDamaged = plan.kind === "apply" && anchor !== undefined && anchor.inventory === undefined;
  if (!isAnchorLost && !isDamaged) return [];
  const found = await labelledObjects(attempt.component.metadata.uid, attempt, signal);
  return inventoryEntriesOf(obsoleteAmong(found, attempt.desired));
}

/** Whether an inventory names all desired objects, with the hash that is to be sent or none. */
function namesAll(anchor: Anchor | undefined, { version, objects }: Desired): boolean {
  const inventory: Inventory | undefined = anchor?.inventory;
  if (inventory?.version !== version) return false;
  const hashes = new Map(inventory.entries.map((entry) => [objectId(entry), entry.hash]));
  return objects.every(({ id, hash }) => {
    const stored = hashes.get(id);
    return stored === "" || stored === hash;
  });
}

function nothingSent(
  { objects }: Desired,
  attempt?: InstallAttempt,
  left: readonly Trouble[] = [],
): ChangeSet {
  return {
    applied: [],
    repaired: [],
    unchanged: objects.length,
    parked: [],
    failed: sorted(left),
    pruned: [],
    lingering: [],
    conflicts: attempt === undefined ? [] : settleConflicts(attempt),
  };
}
