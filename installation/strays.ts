import type { Component } from "../api/component.ts";
import { objectId } from "../api/keys.ts";
import { type ObjectKey } from "../api/kubernetes.ts";
import { secondOwnerKey } from "./anchor.ts";
import { type Desired, outlives } from "./desired.ts";
import type { Inventory, InventoryEntry } from "./inventory.ts";
import type { ObservedObject } from "./observed-object.ts";

interface StrayFacts {
  readonly component: Component;
  readonly dismissed: Dismissed;
  readonly observed: ReadonlyMap<string, ObservedObject>;
  readonly desired: Desired;
}

/**
 * Objects with the installation's label and fields of ours that neither the desired set nor the inventory names. A late apply created them, or an
 * older state of the cluster was restored. Controllers that copy labels create objects without fields of ours, which are no strays.
 */
export function strayEntries(
  { component, dismissed, observed, desired }: StrayFacts,
  { entries }: Inventory,
): readonly InventoryEntry[] {
  if (desired.objects.length === 0) return [];
  const named = new Set([...desired.objects.map(({ id }) => id), ...entries.map(objectId)]);
  // A second owner is not part of the installation.
  named.add(objectId(secondOwnerKey(component)));
  return [...observed].flatMap(([id, record]) => {
    const { key, fingerprint, deleting } = record;
    if (fingerprint === undefined || deleting || outlives(key)) return [];
    return named.has(id) || dismissed.get(id) === record.uid ? [] : [{ ...key, hash: "" }];
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

/** The uids of obsolete objects that need no further step while the watches still show them, by identity: they were deleted, or belong to another component. */
export type Dismissed = ReadonlyMap<string, string>;

/** With objects in the state in which they were read. */
export function withDismissed(dismissed: Dismissed, objects: Records): Dismissed {
  return new Map([...dismissed, ...[...objects].map(([id, { uid }]) => [id, uid] as const)]);
}

/** Without the objects that the watches do not show any more. An older state of the cluster may bring them back. */
export function stillShown(dismissed: Dismissed, shown: Records): Dismissed {
  if (dismissed.size === 0) return dismissed;
  return new Map([...dismissed].filter(([id]) => shown.has(id)));
}
