import type { ObjectRef } from "../../access/kube-client.ts";
import { identityOf, type ObjectKey } from "../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../api/resources.ts";
import { kindIdOf } from "../observe/sighting.ts";
import type { Inventory } from "./inventory.ts";
import { type Desired, outlives } from "./prepare.ts";
import { rootKeyOf, type RootOwner } from "./root-object.ts";

/** Objects that an installation stands on and that do not carry its label. */
export function guardedObjects(owner: RootOwner, { namespaces }: Desired): readonly ObjectRef[] {
  const { namespace, name } = rootKeyOf(owner);
  const resource = knownResource("v1", "Namespace");
  const names = new Set([namespace, ...namespaces.map(({ metadata }) => metadata.name ?? "")]);
  return [
    { resource: knownResource("v1", "ConfigMap"), namespace, name },
    ...[...names].map((one) => ({ resource, name: one })),
  ];
}

/** Each kind of an installation once: of what is desired, and of what an inventory names besides. */
export function watchedKinds(
  { objects, resourceOf }: Desired,
  inventory: Inventory,
): readonly ResourceType[] {
  const kinds = new Map<string, ResourceType>();
  const desired = new Set(objects.map(({ id }) => id));
  for (const { key, resource } of objects) {
    if (!isNamespace(key)) kinds.set(kindIdOf(key), resource);
  }
  for (const entry of inventory.entries) {
    if (outlives(entry) || desired.has(identityOf(entry)) || kinds.has(kindIdOf(entry))) continue;
    const namespaced = entry.namespace !== undefined;
    kinds.set(kindIdOf(entry), { ...resourceOf(entry), namespaced });
  }
  return [...kinds.values()];
}

function isNamespace({ apiVersion, kind }: ObjectKey): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}
