import { anchorAnnotations, guardAnnotations } from "../anchor.ts";
import type { GuardView } from "./guard-request.ts";

const { confirmDeletion } = guardAnnotations;

/** Annotations that make a ConfigMap an anchor; frozen for everyone but the controller. */
export const markers: readonly string[] = [
  anchorAnnotations.anchor,
  anchorAnnotations.protected,
  anchorAnnotations.componentUid,
  anchorAnnotations.hubId,
];

/** Finalizers that the garbage collector takes off an object whose deletion was admitted. */
export const collectorFinalizers: readonly unknown[] = ["foregroundDeletion", "orphan"];

/** It is no update, or the controller's. */
export function isFreeToChange({ operation, isController }: GuardView): boolean {
  return operation !== "UPDATE" || isController;
}

/** Each marker is there with the same value, or absent, before and after. */
export function areMarkersKept({ oldAnnotations, newAnnotations }: GuardView): boolean {
  return markers.every((key) => oldAnnotations[key] === newAnnotations[key]);
}

/** On a live object the same list; while it is being deleted only the garbage collector's own may go. */
export function areFinalizersKept(view: GuardView): boolean {
  const { oldFinalizers, newFinalizers } = view;
  if (!view.deleting) {
    return (
      oldFinalizers.length === newFinalizers.length &&
      oldFinalizers.every((finalizer, at) => finalizer === newFinalizers[at])
    );
  }
  return (
    newFinalizers.every((finalizer) => oldFinalizers.includes(finalizer)) &&
    oldFinalizers.every(
      (finalizer) => newFinalizers.includes(finalizer) || collectorFinalizers.includes(finalizer),
    )
  );
}

/** The guard's label is there before and after, with the same value. */
export function isLabelKept({ oldLabels, newLabels }: GuardView, label: string): boolean {
  return Object.hasOwn(oldLabels, label) && oldLabels[label] === newLabels[label];
}

/** The confirmation was not put there by this request, nor changed. */
export function isConfirmationKept({ oldAnnotations, newAnnotations }: GuardView): boolean {
  return (
    !Object.hasOwn(newAnnotations, confirmDeletion) ||
    oldAnnotations[confirmDeletion] === newAnnotations[confirmDeletion]
  );
}

/** Somebody who may has said that this very object is to be deleted. */
export function isConfirmed({ uid, oldAnnotations }: GuardView): boolean {
  return uid !== undefined && oldAnnotations[confirmDeletion] === uid;
}

/** `ConfigMap <namespace>/<name>`. */
export function configMapOf({ namespace, name }: GuardView): string {
  return `ConfigMap ${namespace}/${name}`;
}

/** `Namespace <name>`. */
export function namespaceOf({ name }: GuardView): string {
  return `Namespace ${name}`;
}

/** `CustomResourceDefinition <name>`. */
export function definitionOf({ name }: GuardView): string {
  return `CustomResourceDefinition ${name}`;
}

/** End of a CEL text: what to do instead of the deletion. */
export const wayOutExpression = `Delete the custom resource on the hub instead. Break-glass: set annotation ${confirmDeletion}=' + oldObject.metadata.uid + ' first'`;

/** The same, for the object of a request. */
export function wayOut({ uid }: GuardView): string {
  return `Delete the custom resource on the hub instead. Break-glass: set annotation ${confirmDeletion}=${uid} first`;
}
