import type { ObjectRef } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { Deadline } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import { kindId, objectId } from "../../api/keys.ts";
import {
  describe,
  isJob,
  type KubeObject,
  type ObjectKey,
  nameFirst,
} from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { anchorKey, type AnchorOwner } from "../../installation/anchor-object.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import type { Desired, DesiredObject } from "../../installation/desired.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { withLiveJob, withVanishedJob } from "../../installation/jobs.ts";
import {
  type ApplyPlan,
  type KnownObjects,
  type ObjectFacts,
  obsoleteEntries,
  planInstall,
  unchangedObjects,
} from "../../installation/plan.ts";
import { stillShown, strayEntries } from "../../installation/strays.ts";
import type { Observation } from "../observe/observation.ts";
import { heldAt, withWrong } from "./filters/conflicts.ts";
import type { InstallAttempt } from "./install-attempt.ts";
import { hasInventory, inventoryOf, isToAudit } from "./install-state.ts";
import type { InventoryKinds } from "./inventory-kinds.ts";
import { unlessRefused } from "./refusals.ts";

/** The facts while there is no inventory: everything is sent, and the first write does not wait for any list. */
const nothingKnown: ObjectFacts = {
  inventory: undefined,
  observed: new Map(),
  strays: [],
  lostJobs: new Set(),
  others: new Map(),
  isToAudit: () => false,
  held: new Set(),
};

/** Reads the state of an installation on its cluster: waits for the first list of each kind, and asks about Jobs that no watch shows. */
export async function observeObjects(
  attempt: InstallAttempt,
  signal: AbortSignal,
): Promise<ObjectFacts> {
  const { desired, observation, target, memory, deps } = attempt;
  const inventory = inventoryOf(memory.state);
  if (inventory === undefined) return nothingKnown;
  await memory.kinds.lookUp({ desired, inventory }, target.client, signal);
  watchAll(attempt, inventory);
  await firstLists(observation, deps.clock, signal);
  const observed = observation.objects();
  memory.become((state) => ({ ...state, dismissed: stillShown(state.dismissed, observed) }));
  const { dismissed, appliedAt } = memory.state;
  const strays = strayEntries({ ...attempt, observed, dismissed }, inventory);
  const entries = [...inventory.entries, ...strays];
  deps.pendingChanges?.dropPlanned([
    ...desired.objects.map(({ id }) => id),
    ...entries.map(objectId),
  ]);
  const known = { inventory, observed, refused: observation.refused(), appliedAt };
  const lostJobs = await findLostJobs(known, attempt, signal);
  return {
    ...known,
    strays,
    lostJobs,
    others: memory.state.left,
    isToAudit: (id) => isToAudit(memory.state, id),
    held: heldAt(memory.state.conflicts, deps.clock.now()),
    isKept: desired.kept !== undefined,
  };
}

/** Observes the objects and plans what to do with them. */
export async function observeAndPlan(
  attempt: InstallAttempt,
  signal: AbortSignal,
): Promise<ApplyPlan> {
  const facts = await observeObjects(attempt, signal);
  const plan = planInstall(attempt.desired.objects, facts);
  noteDrift({ ...plan, ...facts }, attempt);
  return plan;
}

/** Notes which objects are wrong according to a plan: the end of a conflict depends on it. */
export function noteDrift(
  { drifted, held }: Pick<ApplyPlan, "drifted"> & Pick<ObjectFacts, "held">,
  { memory, deps }: InstallAttempt,
): void {
  if (!hasInventory(memory.state)) return;
  const now = deps.clock.now();
  memory.become((state) => ({
    ...state,
    conflicts: withWrong(state.conflicts, drifted, { held, now }),
  }));
}

/** Watches everything that the installation consists of and stands on. */
export function watchAll(attempt: InstallAttempt, inventory: Inventory): void {
  const { desired, observation, memory } = attempt;
  observation.watchKinds(watchedKinds(desired, inventory, memory.kinds));
  watchAnchor(attempt);
}

/** Watches the anchor and the namespaces. */
export function watchAnchor({ component, target, desired, observation }: InstallAttempt): void {
  observation.watchSingles(guardedObjects({ component, target }, desired));
}

/** Objects that an installation stands on and that do not carry its label. */
function guardedObjects(owner: AnchorOwner, { namespaces }: Desired): readonly ObjectRef[] {
  const { namespace, name } = anchorKey(owner);
  const resource = knownResource("v1", "Namespace");
  const names = new Set([namespace, ...namespaces.map(({ metadata }) => metadata.name ?? "")]);
  return [
    { resource: knownResource("v1", "ConfigMap"), namespace, name },
    ...[...names].map((one) => ({ resource, name: one })),
  ];
}

/** Each kind of an installation once: the kinds of the desired objects, and the kinds that only the inventory names and that the cluster serves. */
export function watchedKinds(
  desired: Desired,
  inventory: Inventory,
  known: InventoryKinds,
): readonly ResourceType[] {
  const kinds = new Map<string, ResourceType>();
  for (const { key, resource } of desired.objects) {
    if (!isNamespace(key)) kinds.set(kindId(key), resource);
  }
  for (const entry of obsoleteEntries(desired.objects, inventory.entries)) {
    if (kinds.has(kindId(entry))) continue;
    const resource = known.of(entry, desired);
    if (typeof resource === "object") kinds.set(kindId(entry), resource);
  }
  return [...kinds.values()];
}

function isNamespace({ apiVersion, kind }: ObjectKey): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}

// Far more than a slow cluster takes. The next attempt keeps the lists that came until then.
const patienceMs = 60_000;
const namedKinds = 5;

/**
 * Resolves when an observation has listed its kinds, as `synced` does. Throws FleetError after a minute: `SpokeUnreachable` where no kind is
 * listed, as by a proxy that answers in place of an API server; `ApplyFailed` with the kinds that are not listed, where others are.
 */
export async function firstLists(
  observation: Pick<Observation, "waitForSync" | "live" | "pending">,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  using bounded = new Deadline(clock, patienceMs, signal);
  try {
    await observation.waitForSync(bounded.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!bounded.signal.aborted) throw error;
    if (observation.live().length === 0) {
      const message = "The cluster has listed nothing for a minute, whatever it was asked for";
      throw new FleetError("SpokeUnreachable", message, { code: "Unreachable", cause: error });
    }
    const plurals = observation.pending().map(({ plural }) => plural);
    const named = nameFirst(plurals.toSorted(), namedKinds);
    const message = `The cluster has not said for a minute what there is of ${named}`;
    throw new FleetError("ApplyFailed", message, { cause: error });
  }
}

/**
 * Identities of Jobs that were accepted and have to be sent again. Either they lost their label but are still on the cluster: an apply restores the
 * label and runs nothing. Or they were deleted before they had finished.
 */
async function findLostJobs(
  known: KnownObjects,
  attempt: InstallAttempt,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { desired, memory, observation, deps } = attempt;
  const cutShort = observation.cutShort();
  const jobs = desired.objects.filter(({ key }) => isJob(key));
  const lost = new Map<string, ObjectKey>();
  await Promise.all(
    unchangedObjects(jobs, known).map(async (job) => {
      const { id, key } = job;
      if (observation.objects().has(id)) {
        memory.become((state) => ({ ...state, jobs: withLiveJob(state.jobs, id) }));
      } else if (cutShort.has(id) || (await isStray(job, attempt, signal))) lost.set(id, key);
    }),
  );
  for (const [id, key] of lost) {
    const what = cutShort.has(id) ? "was deleted before it had finished" : "lost its label";
    deps.log.debug({ object: describe(key) }, `A Job ${what}`);
  }
  return new Set(lost.keys());
}

/** Whether a Job that the watch does not show is there without our label. Asks once each time the Job vanishes. */
async function isStray(
  job: DesiredObject,
  attempt: InstallAttempt,
  signal: AbortSignal,
): Promise<boolean> {
  const { memory } = attempt;
  const { id } = job;
  if (memory.state.jobs.get(id) === "live") {
    const isThere = await isUnlabelled(job, attempt, signal);
    memory.become((state) => ({ ...state, jobs: withVanishedJob(state.jobs, id, isThere) }));
  }
  return memory.state.jobs.get(id) === "stray";
}

/** Whether a Job that our anchor or component owns is on the cluster without the label of any component. */
async function isUnlabelled(
  { key: { namespace = "", name }, resource }: DesiredObject,
  { target: { client }, memory, component }: InstallAttempt,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = { resource, namespace, name };
  const ask = () => client.get(ref, { metadataOnly: true }, signal);
  // A refused question must not stop the install.
  const live = await unlessRefused(ask, undefined);
  if (live === undefined) return false;
  const { deletionTimestamp, labels = {} } = live.metadata;
  const isLabelled = labels[componentUidLabel] !== undefined;
  const { anchor } = memory.state;
  const owners = [anchor.kind === "anchored" ? anchor.uid : undefined, component.metadata.uid];
  return deletionTimestamp === undefined && !isLabelled && isOwnedBy(owners, live);
}

function isOwnedBy(
  owners: readonly (string | undefined)[],
  { metadata: { ownerReferences = [] } }: KubeObject,
): boolean {
  return ownerReferences.some(({ uid }) => owners.includes(uid));
}
