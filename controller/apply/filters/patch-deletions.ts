import { identityOf } from "../../../api/kubernetes.ts";
import type { InventoryEntry } from "../../../installation/inventory.ts";
import { isWorkload, readinessOf } from "../../../installation/readiness.ts";
import { kindIdOf } from "../../observe/sighting.ts";
import type { Begun } from "../install-work.ts";
import { pruneObsolete } from "../prune-obsolete.ts";
import type { Pruned } from "../prune.ts";

type Result = Pruned & { readonly left: readonly InventoryEntry[] };

interface Obsolete {
  readonly entries: readonly InventoryEntry[];
  /** All that is wanted was accepted. */
  readonly isAccepted: boolean;
}

/**
 * Prunes what is obsolete once all that is wanted was accepted. What patches of the component delete stays in the inventory until all workloads are
 * available, so that a restart of the controller forgets nothing, and goes one after the other, in the reverse order of the patches. Spec: parity.md 1.
 */
export async function pruneAll(
  { entries, isAccepted }: Obsolete,
  work: Begun,
  signal: AbortSignal,
): Promise<Result> {
  const deletions = deletionsAmong(entries, work);
  const others = entries.filter((entry) => !deletions.includes(entry));
  const results = [await pruneObsolete({ entries: others, isDue: isAccepted }, work, signal)];
  const isDue = isAccepted && deletions.length > 0 && areWorkloadsAvailable(work);
  for (const entry of deletions) {
    results.push(await pruneObsolete({ entries: [entry], isDue }, work, signal));
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
  { rendered }: Pick<Begun, "rendered">,
): readonly InventoryEntry[] {
  if (rendered.deletions.length === 0) return [];
  const byId = new Map(entries.map((entry) => [identityOf(entry), entry]));
  return rendered.deletions.flatMap(({ namespace, ...key }) => {
    // A kind that only the cluster knows may turn out to have no namespaces.
    const ids = [
      identityOf(namespace === undefined ? key : { ...key, namespace }),
      identityOf(key),
    ];
    return ids.map((id) => byId.get(id)).find((entry) => entry !== undefined) ?? [];
  });
}

/** Never while some workloads cannot be seen. */
function areWorkloadsAvailable({ desired, observation }: Begun): boolean {
  const workloads = desired.objects.map(({ key }) => key).filter(isWorkload);
  const refused = observation.refused();
  if (workloads.some((key) => refused.has(kindIdOf(key)))) return false;
  return readinessOf(workloads, observation.workloads()).available;
}
