import { identityOf, type Manifest } from "../../api/kubernetes.ts";
import { adopt, entriesOf, obsoleteAmong } from "./adopt.ts";
import { readRoot, type Root } from "./anchor.ts";
import { carriedOut } from "./carry-out.ts";
import type { ChangeSet } from "./change-set.ts";
import type { Contest } from "./contests.ts";
import { createNamespaces, missingNamespaces } from "./ensure-namespaces.ts";
import {
  begun,
  contestsOf,
  type InstallDeps,
  type InstallRequest,
  planned,
  type Work,
  writtenRoot,
} from "./install-work.ts";
import { unionOf } from "./inventory.ts";
import { isSettled } from "./plan.ts";
import type { Desired } from "./prepare.ts";
import { mayBeUpstreams, upstreamObjects } from "./upstream-objects.ts";

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
  const { target, memory } = request;
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
  const { before, missing } = await looked(work, signal);
  if (mayBeUpstreams(work, before)) return adopted(work, { before, missing }, signal);
  const plan = await planned(work, signal);
  const isRooted = before?.isMarked === true && missing.length === 0 && isRecorded();
  if (isRooted && isSettled(plan)) return untouched(desired, contestsOf(work));
  await createNamespaces(target, missing, signal);
  const root = await withIntent(before, work, signal);
  return carriedOut(plan, begun({ ...work, root, mayExist: before !== undefined }), signal);
}

interface Found {
  readonly before: Root | undefined;
  readonly missing: readonly Manifest[];
}

/** What there is of root and namespaces. */
async function looked(
  { component, target, desired, memory, observation }: Work,
  signal: AbortSignal,
): Promise<Found> {
  const [before, missing] = await Promise.all([
    readRoot(component, target, signal),
    missingNamespaces(target, desired.namespaces, signal),
  ]);
  if (before !== undefined) observation.noteGuarded(before.object);
  memory.recall(before);
  return { before, missing };
}

/** Takes over what upstream's operator installed, and goes on from there. */
async function adopted(
  work: Work,
  { before, missing }: Found,
  signal: AbortSignal,
): Promise<ChangeSet> {
  const { component, target, memory, desired } = work;
  const found = await upstreamObjects(work, before, signal);
  await createNamespaces(target, missing, signal);
  const ours = unionOf(memory.inventoryOf(desired, false), memory.inventory);
  const theirs = { ...ours, entries: entriesOf(obsoleteAmong(found, desired)) };
  const inventory = { ...unionOf(ours, theirs), adopting: true };
  const root = await writtenRoot(work, { before, inventory }, signal);
  const next = begun({ ...work, root, mayExist: true });
  const { requests } = next;
  const { client, fieldManager } = target;
  const componentUid = component.metadata.uid;
  await adopt(found, { client, fieldManager, componentUid, desired, requests }, signal);
  work.deps.log.info({ objects: found.length }, "Took over what the upstream operator installed");
  return carriedOut(await planned(work, signal), next, signal);
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
