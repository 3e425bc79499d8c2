import { listAt, recordAt, textAt } from "../../api/fields.ts";
import { anchorAnnotations, guardAnnotations } from "../anchor.ts";

/** The guards: each refuses one way to lose an installation on a cluster. Spec: anchor-guard.md 3. */
export type GuardName = "anchor-guard" | "namespace-guard" | "crd-guard";

type Json = Readonly<Record<string, unknown>>;

/** The part of an admission request that the guards look at. */
export interface GuardRequest {
  readonly operation: string;
  readonly dryRun: boolean;
  readonly username: string;
  readonly namespace: string | undefined;
  /** Absent on each element of a collection delete. */
  readonly name: string | undefined;
  /** Undefined on DELETE. */
  readonly object: Json | undefined;
  /** Undefined on CREATE. */
  readonly oldObject: Json | undefined;
}

/** The user that the guards let pass. */
export interface GuardOwner {
  /** Uid of the hub's `kube-system` namespace. */
  readonly hubId: string;
  /** User names that the controller has on the guarded cluster: one for each identity with which ClusterProfiles lead there. */
  readonly hubUsers: readonly string[];
}

/** Facts that no request carries. A policy asks the API server for them. A webhook looks them up beforehand. */
export interface GuardFacts {
  /** The namespace of the object has a deletionTimestamp. */
  readonly namespaceTerminating: boolean;
  /** The user may `unprotect` the object's `anchors.operator.knative.dev`. */
  readonly mayUnprotect: boolean;
}

/** A request as the rules see it. The names are those of the variables of the policies. */
export interface GuardView extends GuardFacts {
  readonly operation: string;
  readonly hubId: string;
  readonly isController: boolean;
  readonly isDryRun: boolean;
  readonly newAnnotations: Json;
  readonly oldAnnotations: Json;
  readonly newLabels: Json;
  readonly oldLabels: Json;
  readonly newOwners: readonly unknown[];
  readonly oldOwners: readonly unknown[];
  readonly newFinalizers: readonly unknown[];
  readonly oldFinalizers: readonly unknown[];
  readonly newSpecFinalizers: readonly unknown[];
  readonly oldSpecFinalizers: readonly unknown[];
  /** The object is being deleted. */
  readonly deleting: boolean;
  readonly uid: string | undefined;
  readonly namespace: string;
  readonly name: string;
}

/** The facts about a request that the rules need. */
export function guardViewOf(
  request: GuardRequest,
  { hubId, hubUsers }: GuardOwner,
  facts: GuardFacts,
): GuardView {
  const { object, oldObject } = request;
  const now = recordAt(object, "metadata");
  const before = recordAt(oldObject, "metadata");
  return {
    ...facts,
    operation: request.operation,
    hubId,
    isController: hubUsers.includes(request.username),
    isDryRun: request.dryRun,
    newAnnotations: recordAt(now, "annotations"),
    oldAnnotations: recordAt(before, "annotations"),
    newLabels: recordAt(now, "labels"),
    oldLabels: recordAt(before, "labels"),
    newOwners: listAt(now, "ownerReferences"),
    oldOwners: listAt(before, "ownerReferences"),
    newFinalizers: listAt(now, "finalizers"),
    oldFinalizers: listAt(before, "finalizers"),
    newSpecFinalizers: listAt(recordAt(object, "spec"), "finalizers"),
    oldSpecFinalizers: listAt(recordAt(oldObject, "spec"), "finalizers"),
    deleting: before["deletionTimestamp"] !== undefined,
    uid: textAt(before, "uid"),
    namespace: request.namespace ?? "",
    name: textAt(before, "name") ?? request.name ?? "",
  };
}

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

/** Each marker has one value before and after, or is absent before and after. */
export function areMarkersKept({ oldAnnotations, newAnnotations }: GuardView): boolean {
  return markers.every((key) => oldAnnotations[key] === newAnnotations[key]);
}

/** A live object keeps its list. During its deletion only the finalizers of the garbage collector may go. */
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

/** The guard's label has one value before and after. */
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

/** A user with the right to it has confirmed the deletion of this object. */
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

/** End of a CEL text: the advice in place of the deletion. */
export const wayOutExpression = `Delete the custom resource on the hub instead. Break-glass: set annotation ${confirmDeletion}=' + oldObject.metadata.uid + ' first'`;

/** The advice for the object of a request. */
export function wayOut({ uid }: GuardView): string {
  return `Delete the custom resource on the hub instead. Break-glass: set annotation ${confirmDeletion}=${uid} first`;
}
