import { type Component, componentKinds } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import type { Target } from "../target/target.ts";
import type { Anchor } from "./anchor/anchor.ts";

/** The facts that decide whether an object is ours, with our label or without it. */
export interface Belonging {
  /** Value of our label. */
  readonly componentUid: string;
  /** Uid of the owner of namespaced objects: the anchor, or the component on the hub itself. */
  readonly ownerUid: string;
  /** Value of `app.kubernetes.io/name`. */
  readonly componentLabel: string;
  readonly fieldManager: string;
  readonly namespace: string;
}

/** The marks of the objects of one installation. */
export function belongingOf(
  { owner }: Anchor,
  {
    component,
    target: { fieldManager, namespace },
  }: { readonly component: Component; readonly target: Target },
): Belonging {
  return {
    componentUid: component.metadata.uid,
    ownerUid: owner.uid,
    componentLabel: componentKinds[component.kind].label,
    fieldManager,
    namespace,
  };
}

const nameLabel = "app.kubernetes.io/name";

/**
 * Whether an object of the inventory is ours, so that it may be deleted by its name. It is ours when it carries our label, even if no watch shows it
 * yet. Without any label it is ours when our anchor owns it, or, where the anchor cannot own it, when it carries our component's name and fields that
 * we applied. With the label of another component it belongs to that component.
 */
export function isOurs(object: KubeObject, belonging: Belonging): boolean {
  const { labels = {}, ownerReferences = [], managedFields = [], namespace } = object.metadata;
  const componentUid = labels[componentUidLabel];
  if (componentUid !== undefined) return componentUid === belonging.componentUid;
  if (ownerReferences.some(({ uid }) => uid === belonging.ownerUid)) return true;
  if (namespace === belonging.namespace) return false;
  return (
    labels[nameLabel] === belonging.componentLabel &&
    managedFields.some(({ manager }) => manager === belonging.fieldManager)
  );
}

/** Webhook configurations go first: while they stand they can refuse the deletion of other objects. Spec: engine-facts.md 9. */
export function isWebhookConfiguration({ kind }: Pick<ResourceType, "kind">): boolean {
  return kind === "ValidatingWebhookConfiguration" || kind === "MutatingWebhookConfiguration";
}
