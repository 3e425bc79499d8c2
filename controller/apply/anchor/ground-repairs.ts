import { ApiError } from "../../../access/kube/api-error.ts";
import type { ObjectRef } from "../../../access/kube/kube-client.ts";
import {
  identityOf,
  keyOf,
  type KubeObject,
  type Manifest,
  type ObjectKey,
} from "../../../api/kubernetes.ts";
import {
  anchorManifestOver,
  inventoryTextOf,
  isEndangered,
} from "../../../installation/anchor-object.ts";
import type { Trouble } from "../change-set.ts";
import { type ConflictingManager, findConflictingManagers } from "../filters/conflicts.ts";
import type { InstallAttempt } from "../install-attempt.ts";
import { type Refused, refusedOf, unlessRefused } from "../refusals.ts";
import { type Anchor, anchorRef } from "./anchor.ts";
import {
  changeNamespace,
  createMissing,
  namespaceRef,
  type Namespaces,
  type OutdatedNamespace,
  desiredNamespaces,
} from "./namespaces.ts";

/** Namespaces as an attempt is to leave them. */
export interface NamespacePlan extends Namespaces {
  /** The outdated ones are so because somebody changed them since we saw or made them right. */
  readonly isDrift: boolean;
  /** The anchor when somebody took marks off it since we saw or made them. */
  readonly stripped: Anchor | undefined;
  /** That happens again and again: the conflict is reported, not each repair. */
  readonly isAnchorInConflict: boolean;
  /** The same, and it is left alone for a while: it is written only where it is to say something else. */
  readonly isAnchorHeld: boolean;
}

/** What became of anchor and namespaces. */
export interface GroundResults {
  readonly repaired: readonly ObjectKey[];
  readonly parked: readonly Trouble[];
  readonly failed: readonly Trouble[];
}

/** Equal for equal namespaces, so that they are looked at again when the component says something else. */
export function namespacesText({ component, target, desired }: InstallAttempt): string {
  return JSON.stringify(desiredNamespaces({ component, target }, desired.namespaces));
}

/** The anchor if it lost marks since this process saw them or made them. */
export function strippedAnchor(
  before: Anchor | undefined,
  { memory }: InstallAttempt,
): Anchor | undefined {
  return before?.isMarked === false && memory.wasMarked(before) ? before : undefined;
}

/** The same namespaces without those that somebody else changes again and again, and that are left alone for a while. */
export function withoutHeld(
  { namespaces, stripped }: { readonly namespaces: Namespaces } & Pick<NamespacePlan, "stripped">,
  work: InstallAttempt,
): NamespacePlan {
  const { memory, deps } = work;
  const isDrift = memory.namespaces === namespacesText(work);
  const wrong = isDrift ? namespaces.outdated.map(({ live }) => idOf(live)) : [];
  const anchor = stripped === undefined ? [] : [idOf(stripped.object)];
  const held = memory.groundConflicts.heldAmong(new Set([...wrong, ...anchor]), deps.clock.now());
  const outdated = namespaces.outdated.filter(({ live }) => !held.has(idOf(live)));
  const isAnchorInConflict = anchor.some((id) => held.has(id));
  // What endangers everything under the anchor does not wait.
  const mayWait = stripped !== undefined && !isEndangered(stripped.object, work);
  const isAnchorHeld = isAnchorInConflict && mayWait;
  return { ...namespaces, outdated, isDrift, stripped, isAnchorInConflict, isAnchorHeld };
}

/**
 * Creates what is missing and changes what is outdated. A change that the cluster refuses is no reason to leave the installation alone; a namespace that
 * cannot be created is: throws ApiError.
 */
export async function writeNamespaces(
  work: InstallAttempt,
  namespacePlan: NamespacePlan,
  signal: AbortSignal,
): Promise<GroundResults> {
  const { target, memory, observation, deps } = work;
  const { stripped, isAnchorInConflict } = namespacePlan;
  const [created, changes] = await Promise.all([
    createMissing(target, namespacePlan.missing, signal),
    Promise.all(
      namespacePlan.outdated.map((one) => repairNamespace(one, { work, namespacePlan }, signal)),
    ),
  ]);
  const written = changes.flatMap(({ object }) => object ?? []);
  for (const namespace of [...created, ...written]) {
    observation.noteSingle(namespace);
    deps.pendingChanges?.dropSettled(idOf(namespace));
  }
  const refusals = changes.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length === 0) memory.namespaces = namespacesText(work);
  const having = (isForGood: boolean): readonly Trouble[] =>
    refusals.filter((one) => one.isForGood === isForGood).map(({ trouble }) => trouble);
  return {
    repaired: [
      ...(stripped === undefined || isAnchorInConflict ? [] : [keyOf(stripped.object)]),
      ...(namespacePlan.isDrift ? written.map(keyOf) : []),
    ],
    parked: having(false),
    failed: having(true),
  };
}

/** Writes the anchor; one that was stripped is repaired thereby, which counts unless it is held. */
export function rewriteAnchor(
  write: () => Promise<Anchor>,
  { namespacePlan, work }: { readonly namespacePlan: NamespacePlan; readonly work: InstallAttempt },
  signal: AbortSignal,
): Promise<Anchor> {
  const { stripped, isAnchorHeld } = namespacePlan;
  if (stripped === undefined || isAnchorHeld) return write();
  const live = stripped.object;
  const manifest = anchorManifestOver(live, work, inventoryTextOf(live));
  return countedRepair(write, { drift: { ref: anchorRef(work), live, manifest }, work }, signal);
}

interface Change {
  readonly object?: KubeObject;
  readonly refusal?: Refused;
}

async function repairNamespace(
  outdated: OutdatedNamespace,
  { work, namespacePlan }: { readonly work: InstallAttempt; readonly namespacePlan: NamespacePlan },
  signal: AbortSignal,
): Promise<Change> {
  const { target } = work;
  const { live, manifest } = outdated;
  const key = keyOf(live);
  const change = (): Promise<KubeObject> => changeNamespace(target, outdated, signal);
  try {
    if (!namespacePlan.isDrift) return { object: await change() };
    const drift = { ref: namespaceRef(live), live, manifest };
    return { object: await countedRepair(change, { drift, work }, signal) };
  } catch (error) {
    // Another one by now, or not as it was: to be looked at again.
    if (!(error instanceof ApiError) || [404, 409].includes(error.status)) throw error;
    return { refusal: refusedOf(error, { key, installNamespace: target.namespace }) };
  }
}

interface Drift {
  readonly ref: ObjectRef;
  readonly live: KubeObject;
  /** How it is to be. */
  readonly manifest: Manifest;
}

/** Makes a repair and counts it, and asks for the other managers where there is a conflict. */
async function countedRepair<T>(
  repair: () => Promise<T>,
  { drift, work }: { readonly drift: Drift; readonly work: InstallAttempt },
  signal: AbortSignal,
): Promise<T> {
  const { groundConflicts } = work.memory;
  const { ref, live, manifest } = drift;
  const key = keyOf(live);
  if (groundConflicts.repairing(key, work.deps.clock.now())) {
    const body = { ...manifest, metadata: { ...manifest.metadata, uid: live.metadata.uid } };
    const ask = (): Promise<readonly ConflictingManager[]> =>
      findConflictingManagers({ ref, body }, work.target, signal);
    groundConflicts.named(key, await unlessRefused(ask, []));
  }
  try {
    return await repair();
  } catch (error) {
    groundConflicts.notRepaired(key);
    throw error;
  }
}

function idOf(live: KubeObject): string {
  return identityOf(keyOf(live));
}
