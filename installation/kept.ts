import { objectId } from "../api/keys.ts";
import type { Desired, DesiredObject } from "./desired.ts";
import type { Inventory, InventoryEntry } from "./inventory.ts";

/**
 * The desired set of an installation that keeps the objects of its inventory: no object is added, replaced or deleted. When another writer changes or
 * deletes an object, it is repaired with the object that is rendered now, because the old object is not known. Without an inventory there is nothing
 * to keep.
 */
export function keptBy(desired: Desired, inventory: Inventory | undefined): Desired {
  if (inventory === undefined || inventory.entries.length === 0) return desired;
  const rendered = new Map(desired.objects.map((object) => [object.id, object]));
  const entries = new Map(inventory.entries.map((entry) => [objectId(entry), entry]));
  return {
    ...desired,
    version: inventory.version,
    objects: desired.objects.flatMap((object) => keptObject(object, entries.get(object.id))),
    kept: inventory.entries.filter((entry) => !rendered.has(objectId(entry))),
  };
}

/** An object that was never accepted is still to be sent. */
function keptObject(
  object: DesiredObject,
  entry: InventoryEntry | undefined,
): readonly DesiredObject[] {
  if (entry === undefined) return [];
  const { hash, fingerprint } = entry;
  if (hash === "" || fingerprint === undefined || hash === object.hash) return [object];
  return [{ ...object, hash, sentHash: object.hash }];
}
