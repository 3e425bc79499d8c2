import { ApiError } from "../../../access/kube/api-error.ts";
import type { ObjectRef } from "../../../access/kube/kube-client.ts";
import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import {
  anchorManifestOver,
  inventoryTextOf,
  isEndangered,
} from "../../../installation/anchor-object.ts";
import type { Trouble } from "../change-set.ts";
import {
  type ConflictingManager,
  type Conflicts,
  findConflictingManagers,
  heldAt,
  isInConflict,
  withManagers,
  withoutRepair,
  withRepair,
  withWrong,
} from "../filters/conflicts.ts";
import type { InstallAttempt } from "../install-attempt.ts";
import { wasAnchorMarked } from "../install-state.ts";
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
  /** The outdated namespaces were right before, and another writer changed them since. */
  readonly isDrift: boolean;
  /** The anchor, when another writer removed marks from it since this process saw or wrote them. */
  readonly stripped: Anchor | undefined;
  /** Another writer removes the marks again and again. The conflict is reported, and not each repair. */
  readonly isAnchorInConflict: boolean;
  /** The anchor is in conflict and is not repaired for a while. It is written only for a new inventory. */
  readonly isAnchorHeld: boolean;
}

/** The results for the anchor and the namespaces. */
export interface AnchorRepairs {
  readonly repaired: readonly ObjectKey[];
  readonly parked: readonly Trouble[];
  readonly failed: readonly Trouble[];
}

/** Equal texts for equal namespaces. The namespaces are read again when the text changes with the component. */
export function namespacesText({ component, target, desired }: InstallAttempt): string {
  return JSON.stringify(desiredNamespaces({ component, target }, desired.namespaces));
}

/** The anchor if it lost marks since this process saw them or made them. */
export function strippedAnchor(
  before: Anchor | undefined,
  { memory }: InstallAttempt,
): Anchor | undefined {
  return before?.isMarked === false && wasAnchorMarked(memory.state, before) ? before : undefined;
}

/** The plan without the namespaces in conflict, which are not repaired for a while. */
export function withoutHeld(
  { namespaces, stripped }: { readonly namespaces: Namespaces } & Pick<NamespacePlan, "stripped">,
  attempt: InstallAttempt,
): NamespacePlan {
  const { memory, deps } = attempt;
  const isDrift = memory.state.namespaces === namespacesText(attempt);
  const wrong = isDrift ? namespaces.outdated.map(({ live }) => idOf(live)) : [];
  const anchor = stripped === undefined ? [] : [idOf(stripped.object)];
  const now = deps.clock.now();
  const held = heldAt(memory.state.anchorConflicts, now);
  memory.become((state) => ({
    ...state,
    anchorConflicts: withWrong(state.anchorConflicts, new Set([...wrong, ...anchor]), {
      held,
      now,
    }),
  }));
  const outdated = namespaces.outdated.filter(({ live }) => !held.has(idOf(live)));
  const isAnchorInConflict = anchor.some((id) => held.has(id));
  // A change that endangers everything under the anchor does not wait.
  const mayWait = stripped !== undefined && !isEndangered(stripped.object, attempt);
  const isAnchorHeld = isAnchorInConflict && mayWait;
  return { ...namespaces, outdated, isDrift, stripped, isAnchorInConflict, isAnchorHeld };
}

/**
 * Creates the missing namespaces and changes the outdated ones. When the cluster refuses a change, the installation goes on. Throws ApiError when a
 * namespace cannot be created.
 */
export async function writeNamespaces(
  attempt: InstallAttempt,
  namespacePlan: NamespacePlan,
  signal: AbortSignal,
): Promise<AnchorRepairs> {
  const { target, memory, observation, deps } = attempt;
  const { stripped, isAnchorInConflict } = namespacePlan;
  const [created, changes] = await Promise.all([
    createMissing(target, namespacePlan.missing, signal),
    Promise.all(
      namespacePlan.outdated.map((one) => repairNamespace(one, { attempt, namespacePlan }, signal)),
    ),
  ]);
  const written = changes.flatMap(({ object }) => object ?? []);
  for (const namespace of [...created, ...written]) {
    observation.noteSingle(namespace);
    deps.pendingChanges?.dropSettled(idOf(namespace));
  }
  const refusals = changes.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length === 0) {
    memory.become((state) => ({ ...state, namespaces: namespacesText(attempt) }));
  }
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

/** Writes the anchor. When the anchor had lost marks, the write is a repair. A repair counts unless the anchor is in conflict. */
export function rewriteAnchor(
  write: () => Promise<Anchor>,
  {
    namespacePlan,
    attempt,
  }: { readonly namespacePlan: NamespacePlan; readonly attempt: InstallAttempt },
  signal: AbortSignal,
): Promise<Anchor> {
  const { stripped, isAnchorHeld } = namespacePlan;
  if (stripped === undefined || isAnchorHeld) return write();
  const live = stripped.object;
  const manifest = anchorManifestOver(live, attempt, inventoryTextOf(live));
  return countedRepair(
    write,
    { drift: { ref: anchorRef(attempt), live, manifest }, attempt },
    signal,
  );
}

interface Change {
  readonly object?: KubeObject;
  readonly refusal?: Refused;
}

async function repairNamespace(
  outdated: OutdatedNamespace,
  {
    attempt,
    namespacePlan,
  }: { readonly attempt: InstallAttempt; readonly namespacePlan: NamespacePlan },
  signal: AbortSignal,
): Promise<Change> {
  const { target } = attempt;
  const { live, manifest } = outdated;
  const key = keyOf(live);
  const change = (): Promise<KubeObject> => changeNamespace(target, outdated, signal);
  try {
    if (!namespacePlan.isDrift) return { object: await change() };
    const drift = { ref: namespaceRef(live), live, manifest };
    return { object: await countedRepair(change, { drift, attempt }, signal) };
  } catch (error) {
    // The namespace was replaced or changed meanwhile. The next attempt reads it again.
    if (!(error instanceof ApiError) || [404, 409].includes(error.status)) throw error;
    return { refusal: refusedOf(error, { key, installNamespace: target.namespace }) };
  }
}

interface Drift {
  readonly ref: ObjectRef;
  readonly live: KubeObject;
  /** The desired namespace. */
  readonly manifest: Manifest;
}

/** Makes a repair and counts it, and asks for the other managers where there is a conflict. */
async function countedRepair<T>(
  repair: () => Promise<T>,
  { drift, attempt }: { readonly drift: Drift; readonly attempt: InstallAttempt },
  signal: AbortSignal,
): Promise<T> {
  const { memory, deps } = attempt;
  const { ref, live, manifest } = drift;
  const key = keyOf(live);
  const change = (next: (conflicts: Conflicts) => Conflicts): void =>
    memory.become((state) => ({ ...state, anchorConflicts: next(state.anchorConflicts) }));
  const now = deps.clock.now();
  change((conflicts) => withRepair(conflicts, key, now));
  if (isInConflict(memory.state.anchorConflicts, key)) {
    const body = { ...manifest, metadata: { ...manifest.metadata, uid: live.metadata.uid } };
    const ask = (): Promise<readonly ConflictingManager[]> =>
      findConflictingManagers({ ref, body }, attempt.target, signal);
    const managers = await unlessRefused(ask, []);
    change((conflicts) => withManagers(conflicts, key, managers));
  }
  try {
    return await repair();
  } catch (error) {
    change((conflicts) => withoutRepair(conflicts, key));
    throw error;
  }
}

function idOf(live: KubeObject): string {
  return objectId(keyOf(live));
}
