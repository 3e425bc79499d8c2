import { createHash } from "node:crypto";

import {
  allKinds,
  type Component,
  type ComponentKey,
  type ComponentKind,
} from "../api/component.ts";
import type { ObjectKey } from "../api/kubernetes.ts";

/** Label on every object that belongs to one installation; its value is the uid of the component on the hub. */
export const componentUidLabel = "knfleet.dev/component-uid";

/**
 * Label with the value `true` on CRDs of installations; the controller watches CRDs by it. CRDs do not carry the component's label, because
 * collections are deleted by the component's label.
 */
export const definitionLabel = "knfleet.dev/definition";

/** Labels and annotations of the anchor. Spec: knative-operator.md 5.4, anchor-guard.md 2. */
export const anchorLabels = {
  managedBy: "app.kubernetes.io/managed-by",
  componentName: "operator.knative.dev/cr-name",
} as const;

export const anchorAnnotations = {
  anchor: "operator.knative.dev/anchor",
  protected: "operator.knative.dev/protected",
  description: "operator.knative.dev/description",
  /** The whole name of the component where the label of this name holds a shortened one. */
  componentName: "operator.knative.dev/cr-name",
  componentUid: "operator.knative.dev/cr-uid",
  hubId: "operator.knative.dev/hub-id",
  finalizing: "operator.knative.dev/finalizing",
  /** `true`: the controller of a spoke manages this installation no more, and the hub may take it over. */
  letGo: "knfleet.dev/let-go",
  /** The inventory of an immutable ConfigMap, whose data cannot be written. */
  inventory: "knfleet.dev/inventory",
} as const;

/** Annotations that speak to a guard. Spec: anchor-guard.md 2. */
export const guardAnnotations = {
  /** The uid of the object. A user with the right `unprotect` sets it to allow the deletion. */
  confirmDeletion: "operator.knative.dev/confirm-deletion",
  /** On test requests that the guard has to refuse; never stored. */
  probe: "operator.knative.dev/enforcement-probe",
} as const;

/** Labels whose value is the id of the hub that guards the object. Spec: anchor-guard.md 2, 3.1. */
export const guardLabels = {
  namespace: "operator.knative.dev/anchor-namespace",
  crd: "operator.knative.dev/crd-guard",
} as const;

/** Value of `app.kubernetes.io/managed-by` on anchors and created namespaces; upstream's, so that both adopt the other's. */
export const managedByValue = "knative-operator";

/** Name of the anchor ConfigMap of a component on its target cluster. Spec: knative-operator.md 5.4. */
export function anchorNameOf(component: Pick<ComponentKey, "kind" | "name">): string {
  return `${component.kind.toLowerCase()}-${component.name}-root-owner`;
}

/** The kind of component that an anchor name stands for; undefined for other names. */
export function anchorKindOf(name: string): ComponentKind | undefined {
  if (!name.endsWith("-root-owner")) return undefined;
  return allKinds.find((kind) => name.startsWith(`${kind.toLowerCase()}-`));
}

/** Key of the second owner of an installation: a ClusterRole, because it can own objects in every namespace and grants nothing. */
export function secondOwnerKey({ kind, metadata }: Component): ObjectKey {
  const { namespace, name } = metadata;
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    name: `${kind.toLowerCase()}-${namespace}-${name}-root-owner`,
  };
}

const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * The label selector of all objects of one component; the only selector by which collections are deleted. Throws for a uid that is empty or no label
 * value, because it would select foreign objects. Spec: engine-facts.md 9.
 */
export function componentSelector(uid: string): string {
  return `${componentUidLabel}=${properUid(uid)}`;
}

/** The label selector of all objects of some components, for reads. Throws as `componentSelector` does. */
export function componentsSelector(uids: Iterable<string>): string {
  const [first = "", ...others] = new Set(uids);
  if (others.length === 0) return componentSelector(first);
  return `${componentUidLabel} in (${[first, ...others].map(properUid).join(",")})`;
}

function properUid(uid: string): string {
  if (!labelValue.test(uid)) throw new Error("A component without a proper uid selects nothing");
  return uid;
}

const longestValue = 63;
const keptLength = 52;
const digestLength = 10;

/** The name of a component as the value of a label: itself up to 63 characters, else its first 52 and a hash of all of it. Security: T-60. */
export function nameLabelOf(name: string): string {
  if (name.length <= longestValue) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, digestLength);
  return `${name.slice(0, keptLength)}-${digest}`;
}
