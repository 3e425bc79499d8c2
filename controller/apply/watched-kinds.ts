import type { ObjectRef } from "../../access/kube/kube-client.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { anchorKey, type AnchorOwner } from "../../installation/anchor-object.ts";
import type { Desired } from "../../installation/desired.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { kindIdOf } from "../../installation/kinds.ts";
import { obsoleteEntries } from "../../installation/plan.ts";
import type { InventoryKinds } from "./inventory-kinds.ts";

/** Objects that an installation stands on and that do not carry its label. */
export function guardedObjects(owner: AnchorOwner, { namespaces }: Desired): readonly ObjectRef[] {
  const { namespace, name } = anchorKey(owner);
  const resource = knownResource("v1", "Namespace");
  const names = new Set([namespace, ...namespaces.map(({ metadata }) => metadata.name ?? "")]);
  return [
    { resource: knownResource("v1", "ConfigMap"), namespace, name },
    ...[...names].map((one) => ({ resource, name: one })),
  ];
}

/** Each kind of an installation once: of what is desired, and of what an inventory names besides and the cluster is known to serve. */
export function watchedKinds(
  desired: Desired,
  inventory: Inventory,
  known: InventoryKinds,
): readonly ResourceType[] {
  const kinds = new Map<string, ResourceType>();
  for (const { key, resource } of desired.objects) {
    if (!isNamespace(key)) kinds.set(kindIdOf(key), resource);
  }
  for (const entry of obsoleteEntries(desired.objects, inventory.entries)) {
    if (kinds.has(kindIdOf(entry))) continue;
    const resource = known.of(entry, desired);
    if (typeof resource === "object") kinds.set(kindIdOf(entry), resource);
  }
  return [...kinds.values()];
}

function isNamespace({ apiVersion, kind }: ObjectKey): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}
