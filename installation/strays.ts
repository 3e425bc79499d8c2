import type { Component } from "../api/component.ts";
import { identityOf, type ObjectKey } from "../api/kubernetes.ts";
import { secondOwnerKey } from "./anchor.ts";
import { type Desired, outlives } from "./desired.ts";
import type { Inventory, InventoryEntry } from "./inventory.ts";
import type { ObservedObject } from "./observed-object.ts";

interface StrayFacts {
  readonly component: Component;
  readonly memory: { readonly dismissed: Pick<Dismissed, "has"> };
  readonly observation: { objects(): ReadonlyMap<string, ObservedObject> };
  readonly desired: Desired;
}

/**
 * Objects with the installation's label and fields of ours that neither what is wanted nor the inventory names: an apply that nobody waited for any more made
 * them, or an older state of the cluster was restored. What lacks such fields was made by somebody who copies labels, as controllers do.
 */
export function strayEntries(
  { component, memory, observation, desired }: StrayFacts,
  { entries }: Inventory,
): readonly InventoryEntry[] {
  if (desired.objects.length === 0) return [];
  const named = new Set([...desired.objects.map(({ id }) => id), ...entries.map(identityOf)]);
  // A second owner is no part of what it owns.
  named.add(identityOf(secondOwnerKey(component)));
  return [...observation.objects()].flatMap(([id, record]) => {
    const { key, fingerprint, deleting } = record;
    if (fingerprint === undefined || deleting || outlives(key)) return [];
    return named.has(id) || memory.dismissed.has(id, record) ? [] : [{ ...key, hash: "" }];
  });
}

/** Whether an object that is seen first is none that the installation wants; never while nobody knows what it wants. */
export function isUnwanted(
  key: ObjectKey,
  { component, wanted }: { readonly component: Component; readonly wanted: Desired | undefined },
): boolean {
  if (wanted === undefined || outlives(key)) return false;
  const id = identityOf(key);
  const { objects, kept = [] } = wanted;
  if (objects.some((one) => one.id === id)) return false;
  return (
    id !== identityOf(secondOwnerKey(component)) && kept.every((one) => identityOf(one) !== id)
  );
}

type Records = ReadonlyMap<string, Pick<ObservedObject, "uid">>;

/** Obsolete objects of which nothing is to be done any more, while the watches still show them: they were deleted, or are another's. */
export class Dismissed {
  readonly #uids = new Map<string, string>();

  has(id: string, { uid }: Pick<ObservedObject, "uid">): boolean {
    return this.#uids.get(id) === uid;
  }

  /** Takes in objects as they were when they were looked at. */
  add(objects: Records): void {
    for (const [id, { uid }] of objects) this.#uids.set(id, uid);
  }

  /** Forgets what is not shown any more: an older state of the cluster may bring it back. */
  retain(shown: Records): void {
    for (const id of this.#uids.keys()) if (!shown.has(id)) this.#uids.delete(id);
  }
}
