import { keepWhileUsedAnnotation, componentKinds } from "../../api/component.ts";
import { managedClusterAnnotation } from "../../api/delivery.ts";
import { setAnnotations } from "../../api/fleet-set.ts";
import { anchorAnnotations, componentUidLabel } from "../../installation/anchor.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";

/** Name of the cluster of a component. */
export function profileOf(component: StoredObject): string {
  return String(valueAt(component, "spec", "clusterProfileRef", "name"));
}

/** Uid of the component that an object on a spoke is a part of: an anchor says it in an annotation. */
export function componentUidOf({ kind, metadata }: StoredObject): string | undefined {
  const { labels, annotations } = metadata;
  const anchored = kind === "ConfigMap" ? annotations?.[anchorAnnotations.componentUid] : undefined;
  return labels?.[componentUidLabel] ?? anchored;
}

/** When a set stamped a component last. */
export function stampedAtOf(component: StoredObject | undefined): string | undefined {
  return component?.metadata.annotations?.[setAnnotations.updatedAt];
}

/** Whether an object is a component. */
export function isComponent({ kind }: Pick<StoredObject, "kind">): boolean {
  return kind in componentKinds;
}

/** Whether works bring a component of the hub to its cluster. */
export function isPulled({ metadata }: StoredObject): boolean {
  return metadata.annotations?.[managedClusterAnnotation] !== undefined;
}

/** Whether the controller holds it. */
export function hasFinalizer(component: StoredObject | undefined): boolean {
  if (component === undefined) return false;
  const finalizer = finalizers.get(component.kind) ?? "";
  return component.metadata.finalizers?.includes(finalizer) === true;
}

const finalizers: ReadonlyMap<string, string> = new Map(
  Object.entries(componentKinds).map(([kind, { finalizer }]) => [kind, finalizer]),
);

/** Ready, of the generation that is stored. */
export function isReady(component: StoredObject | undefined): boolean {
  const observed = valueAt(component, "status", "observedGeneration");
  const isTrue = conditionOf(component, "Ready")?.status === "True";
  return isTrue && observed === component?.metadata.generation;
}

/** The version that the status tells. */
export function versionOf(component: StoredObject): string {
  return String(valueAt(component, "status", "version"));
}

/** Whether the installation stays while users need it. */
export function isKept({ metadata }: StoredObject): boolean {
  return metadata.annotations?.[keepWhileUsedAnnotation] === "true";
}
