import { identityOf } from "../../api/kubernetes.ts";
import { belongingOf } from "../finalize-plan.ts";
import type { Begun } from "./install-work.ts";
import type { InventoryEntry } from "./inventory.ts";
import { prune, type Pruned } from "./prune.ts";
import { heldByOthers } from "./shared-objects.ts";

interface Obsolete {
  readonly entries: readonly InventoryEntry[];
  /** All that is wanted was accepted. */
  readonly isDue: boolean;
}

const nothing: Pruned = { pruned: [], failed: [], lingering: [] };

/**
 * Prunes what is obsolete when that is due, and tells what has to stay in the inventory. What no inventory names is never put there: it may turn out to be
 * another's, and the watches tell of it again.
 */
export async function pruneObsolete(
  { entries, isDue }: Obsolete,
  work: Begun,
  signal: AbortSignal,
): Promise<Pruned & { readonly left: readonly InventoryEntry[] }> {
  const { memory, observation } = work;
  const named = entries.filter((entry) => memory.entryOf(identityOf(entry)) !== undefined);
  if (!isDue) return { ...nothing, left: named };
  const strays = new Set(entries.filter((entry) => !named.includes(entry)).map(identityOf));
  const ids = new Set(entries.map(identityOf));
  const theirs = await heldByOthers(strays, work, signal);
  const before = new Map([...observation.objects()].filter(([id]) => ids.has(id)));
  const own = entries.filter((entry) => !theirs.has(identityOf(entry)));
  const result = await prune(own, { ...pruneDepsOf(work), strays }, signal);
  const stuck = new Set([...result.failed, ...result.lingering].map(({ key }) => identityOf(key)));
  for (const id of stuck) before.delete(id);
  memory.dismissed.add(before);
  return { ...result, left: named.filter((entry) => stuck.has(identityOf(entry))) };
}

function pruneDepsOf(work: Begun) {
  const { target, desired, memory, observation, root } = work;
  return {
    client: target.client,
    resourceOf: (key: Pick<InventoryEntry, "apiVersion" | "kind">) => memory.kinds.of(key, desired),
    observed: observation.objects(),
    belonging: belongingOf(root, work),
  };
}
