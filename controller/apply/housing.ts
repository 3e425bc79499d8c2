import { ApiError } from "../../access/api-error.ts";
import { identityOf, keyOf, type KubeObject, type ObjectKey } from "../../api/kubernetes.ts";
import { type Refused, refusedOf, unlessRefused } from "./apply-error.ts";
import { type ChangeSet, sorted, type Trouble } from "./change-set.ts";
import { contestantsOf } from "./contestants.ts";
import {
  changeNamespace,
  createMissing,
  namespaceRef,
  type Namespaces,
  type OutdatedNamespace,
  wantedNamespaces,
} from "./ensure-namespaces.ts";
import type { Work } from "./install-work.ts";

/** Namespaces as an attempt is to leave them. */
export interface Housing extends Namespaces {
  /** The outdated ones are so because somebody changed them since we saw or made them right. */
  readonly isDrift: boolean;
}

/** What became of the namespaces. */
export interface Housed {
  readonly repaired: readonly ObjectKey[];
  readonly parked: readonly Trouble[];
  readonly failed: readonly Trouble[];
}

/** Equal for equal namespaces, so that they are looked at again when the component says something else. */
export function textOf({ component, target, desired }: Work): string {
  return JSON.stringify(wantedNamespaces({ component, target }, desired.namespaces));
}

/** The same namespaces without those that somebody else changes again and again, and that are left alone for a while. */
export function unheld(namespaces: Namespaces, work: Work): Housing {
  const { memory, deps } = work;
  const isDrift = memory.namespaces === textOf(work);
  const wrong = new Set(isDrift ? namespaces.outdated.map(({ live }) => idOf(live)) : []);
  const held = memory.namespaceContests.heldAmong(wrong, deps.clock.now());
  const outdated = namespaces.outdated.filter(({ live }) => !held.has(idOf(live)));
  return { ...namespaces, outdated, isDrift };
}

/**
 * Creates what is missing and changes what is outdated. A change that the cluster refuses is no reason to leave the installation alone; a namespace that
 * cannot be created is: throws ApiError.
 */
export async function settled(work: Work, housing: Housing, signal: AbortSignal): Promise<Housed> {
  const { target, memory, observation } = work;
  const [created, changes] = await Promise.all([
    createMissing(target, housing.missing, signal),
    Promise.all(housing.outdated.map((one) => changed(one, { work, housing }, signal))),
  ]);
  const written = changes.flatMap(({ object }) => object ?? []);
  for (const namespace of [...created, ...written]) observation.noteGuarded(namespace);
  const refusals = changes.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length === 0) memory.namespaces = textOf(work);
  const having = (isForGood: boolean): readonly Trouble[] =>
    refusals.filter((one) => one.isForGood === isForGood).map(({ trouble }) => trouble);
  return {
    repaired: housing.isDrift ? written.map(keyOf) : [],
    parked: having(false),
    failed: having(true),
  };
}

/** A change set that also tells of the namespaces. */
export function withHoused(changes: ChangeSet, housed: Housed): ChangeSet {
  return {
    ...changes,
    repaired: [...housed.repaired, ...changes.repaired],
    parked: sorted([...housed.parked, ...changes.parked]),
    failed: sorted([...housed.failed, ...changes.failed]),
  };
}

interface Change {
  readonly object?: KubeObject;
  readonly refusal?: Refused;
}

async function changed(
  outdated: OutdatedNamespace,
  { work, housing }: { readonly work: Work; readonly housing: Housing },
  signal: AbortSignal,
): Promise<Change> {
  const { target, memory } = work;
  const key = keyOf(outdated.live);
  if (housing.isDrift) await reckoned(outdated, work, signal);
  try {
    return { object: await changeNamespace(target, outdated, signal) };
  } catch (error) {
    if (housing.isDrift) memory.namespaceContests.notRepaired(key);
    // Another one by now, or not as it was: to be looked at again.
    if (!(error instanceof ApiError) || [404, 409].includes(error.status)) throw error;
    return { refusal: refusedOf(error, { key, installNamespace: target.namespace }) };
  }
}

/** Counts a repair that is about to be made, and asks who makes it necessary where that is contested. */
async function reckoned(
  { manifest, live }: OutdatedNamespace,
  { target, memory, deps }: Work,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(live);
  if (!memory.namespaceContests.repairing(key, deps.clock.now())) return;
  const ref = namespaceRef(live);
  const body = { ...manifest, metadata: { ...manifest.metadata, uid: live.metadata.uid } };
  const contestants = await unlessRefused(() => contestantsOf({ ref, body }, target, signal), []);
  memory.namespaceContests.named(key, contestants);
}

function idOf(live: KubeObject): string {
  return identityOf(keyOf(live));
}
