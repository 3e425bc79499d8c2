import { ApiError } from "../../access/kube/api-error.ts";
import { kindId, objectId } from "../../api/keys.ts";
import { wasAnswered } from "../../api/sentences.ts";
import type { InventoryEntry } from "../../installation/inventory.ts";
import { isWorkload, readinessOf } from "../../installation/readiness.ts";
import { withDismissed } from "../../installation/strays.ts";
import { belongingOf } from "./belonging.ts";
import type { Trouble } from "./change-set.ts";
import { heldByOthers } from "./filters/shared-objects.ts";
import type { RecordedAttempt } from "./install-attempt.ts";
import { entryOf } from "./install-state.ts";
import { keyWithout, prune, type Pruned } from "./prune.ts";
import { askedIn } from "./refusals.ts";

type Result = Pruned & { readonly left: readonly InventoryEntry[] };

interface ObsoleteEntries {
  readonly entries: readonly InventoryEntry[];
  /** All desired objects were accepted. */
  readonly isAccepted: boolean;
}

/**
 * Prunes obsolete objects once all desired objects were accepted. Objects that patches of the component delete stay in the inventory until all
 * workloads are available, so that a restart of the controller forgets none. They are deleted one after the other, in the reverse order of the
 * patches. Spec: parity.md 1.
 */
export async function pruneAll(
  { entries, isAccepted }: ObsoleteEntries,
  attempt: RecordedAttempt,
  signal: AbortSignal,
): Promise<Result> {
  const deletions = deletionsAmong(entries, attempt);
  const others = entries.filter((entry) => !deletions.includes(entry));
  const results = [await pruneObsolete({ entries: others, isDue: isAccepted }, attempt, signal)];
  const isDue = isAccepted && deletions.length > 0 && areWorkloadsAvailable(attempt);
  for (const entry of deletions) {
    results.push(await pruneObsolete({ entries: [entry], isDue }, attempt, signal));
  }
  return {
    pruned: results.flatMap(({ pruned }) => pruned),
    failed: results.flatMap(({ failed }) => failed),
    lingering: results.flatMap(({ lingering }) => lingering),
    left: results.flatMap(({ left }) => left),
  };
}

/** In the order in which they are deleted. */
function deletionsAmong(
  entries: readonly InventoryEntry[],
  { rendered }: Pick<RecordedAttempt, "rendered">,
): readonly InventoryEntry[] {
  if (rendered.deletions.length === 0) return [];
  const byId = new Map(entries.map((entry) => [objectId(entry), entry]));
  return rendered.deletions.flatMap(({ namespace, ...key }) => {
    // A kind that only the cluster knows may turn out to have no namespaces.
    const ids = [objectId(namespace === undefined ? key : { ...key, namespace }), objectId(key)];
    return ids.map((id) => byId.get(id)).find((entry) => entry !== undefined) ?? [];
  });
}

/** Never while some workloads cannot be seen. */
function areWorkloadsAvailable({ desired, observation }: RecordedAttempt): boolean {
  const workloads = desired.objects.map(({ key }) => key).filter(isWorkload);
  const refused = observation.refused();
  if (workloads.some((key) => refused.has(kindId(key)))) return false;
  return readinessOf(workloads, observation.workloads()).available;
}

interface Obsolete {
  readonly entries: readonly InventoryEntry[];
  /** All desired objects were accepted. */
  readonly isDue: boolean;
}

const nothing: Pruned = { pruned: [], failed: [], lingering: [] };

/**
 * Prunes obsolete objects when that is due. Returns the entries that have to stay in the inventory. Objects that no inventory names are never added
 * to it: they may belong to another component, and the watches show them again.
 */
async function pruneObsolete(
  { entries, isDue }: Obsolete,
  attempt: RecordedAttempt,
  signal: AbortSignal,
): Promise<Pruned & { readonly left: readonly InventoryEntry[] }> {
  const { memory, observation } = attempt;
  const named = entries.filter((entry) => entryOf(memory.state, objectId(entry)) !== undefined);
  if (!isDue) return { ...nothing, left: named };
  const found = entries.filter((entry) => !named.includes(entry));
  const strays = new Set(found.map(objectId));
  const ids = new Set(entries.map(objectId));
  const theirs = await heldByOthers(strays, attempt, signal).catch(unlessAnswered);
  const before = new Map([...observation.objects()].filter(([id]) => ids.has(id)));
  // A failed search for other objects must not lose the results of the apply.
  const own = theirs instanceof ApiError ? named : entries.filter(isNotAmong(theirs));
  const waiting = theirs instanceof ApiError ? found.map((entry) => unasked(entry, theirs)) : [];
  const pruned = await prune(own, { ...pruneDepsOf(attempt), strays }, signal);
  const result = { ...pruned, lingering: [...pruned.lingering, ...waiting] };
  const stuck = new Set([...result.failed, ...result.lingering].map(({ key }) => objectId(key)));
  for (const id of stuck) before.delete(id);
  memory.become((state) => ({ ...state, dismissed: withDismissed(state.dismissed, before) }));
  return { ...result, left: named.filter((entry) => stuck.has(objectId(entry))) };
}

function unlessAnswered(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

function isNotAmong(ids: ReadonlyMap<string, unknown>): (entry: InventoryEntry) => boolean {
  return (entry) => !ids.has(objectId(entry));
}

function unasked(entry: InventoryEntry, error: ApiError): Trouble {
  const message = `Not wanted any more, but whether another component has it is not known: ${error.request} ${wasAnswered.of(`${error.status}`)}`;
  return { key: keyWithout(entry), message, ...askedIn(error) };
}

function pruneDepsOf(attempt: RecordedAttempt) {
  const { target, desired, memory, observation, anchor } = attempt;
  return {
    client: target.client,
    resourceOf: (key: Pick<InventoryEntry, "apiVersion" | "kind">) => memory.kinds.of(key, desired),
    observed: observation.objects(),
    belonging: belongingOf(anchor, attempt),
  };
}
