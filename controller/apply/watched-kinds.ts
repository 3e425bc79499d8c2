import { identityOf } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { kindIdOf } from "../observe/sighting.ts";
import type { Inventory } from "./inventory.ts";
import { type Desired, outlives } from "./prepare.ts";

/** Each kind of an installation once: of what is desired, and of what an inventory names besides. */
export function watchedKinds(
  { objects, resourceOf }: Desired,
  inventory: Inventory,
): readonly ResourceType[] {
  const kinds = new Map<string, ResourceType>();
  const desired = new Set(objects.map(({ id }) => id));
  for (const { key, resource } of objects) {
    if (!outlives(key)) kinds.set(kindIdOf(key), resource);
  }
  for (const entry of inventory.entries) {
    if (outlives(entry) || desired.has(identityOf(entry)) || kinds.has(kindIdOf(entry))) continue;
    const namespaced = entry.namespace !== undefined;
    kinds.set(kindIdOf(entry), { ...resourceOf(entry), namespaced });
  }
  return [...kinds.values()];
}
