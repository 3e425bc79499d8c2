import type { Component } from "../api/component.ts";
import { objectId } from "../api/keys.ts";
import { type ObjectKey } from "../api/kubernetes.ts";
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
 * Objects with the installation's label and fields of ours that neither the desired set nor the inventory names. A late apply created them, or an
 * older state of the cluster was restored. Controllers that copy labels create objects without fields of ours, which are no strays.
 */
export function strayEntries(
  { component, memory, observation, desired }: StrayFacts,
  { entries }: Inventory,
): readonly InventoryEntry[] {
  if (desired.objects.length === 0) return [];
  const named = new Set([...desired.objects.map(({ id }) => id), ...entries.map(objectId)]);
  // A second owner is not part of the installation.
  named.add(objectId(secondOwnerKey(component)));
  return [...observation.objects()].flatMap(([id, record]) => {
    const { key, fingerprint, deleting } = record;
    if (fingerprint === undefined || deleting || outlives(key)) return [];
    return named.has(id) || memory.dismissed.has(id, record) ? [] : [{ ...key, hash: "" }];
  });
}

/** Whether a new object is none that the installation wants. False while the desired set is not known. */
export function isUnwanted(
  key: ObjectKey,
  { component, wanted }: { readonly component: Component; readonly wanted: Desired | undefined },
): boolean {
  if (wanted === undefined || outlives(key)) return false;
  const id = objectId(key);
  const { objects, kept = [] } = wanted;
  if (objects.some((one) => one.id === id)) return false;
  return id !== objectId(secondOwnerKey(component)) && kept.every((one) => objectId(one) !== id);
}

type Records = ReadonlyMap<string, Pick<ObservedObject, "uid">>;

/** Obsolete objects that need no further step while the watches still show them: they were deleted, or belong to another component. */
export class Dismissed {
  readonly #uids = new Map<string, string>();

  has(id: string, { uid }: Pick<ObservedObject, "uid">): boolean {
    return this.#uids.get(id) === uid;
  }

  /** Takes in objects in the state in which they were read. */
  add(objects: Records): void {
    for (const [id, { uid }] of objects) this.#uids.set(id, uid);
  }

  /** Forgets objects that the watches do not show any more. An older state of the cluster may bring them back. */
  retain(shown: Records): void {
    for (const id of this.#uids.keys()) if (!shown.has(id)) this.#uids.delete(id);
  }
}
