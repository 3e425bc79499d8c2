import type { Component } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { inventoryTextOf } from "../../installation/anchor-object.ts";
import { anchorKindOf } from "../../installation/anchor.ts";
import { outlives } from "../../installation/desired.ts";
import { possibleNamespaces } from "../../installation/installation-namespace.ts";
import { decodeInventory } from "../../installation/inventory.ts";
import { componentOfAnchor, isAnchorOf } from "./neighbours.ts";

/**
 * Finds another component of the same kind that is installed on the cluster of a component: an anchor there belongs to the other component, and none belongs to this
 * one. The controller refuses this component as `DuplicateComponent`. Undefined: there is no such component.
 */
export function installedRival(
  component: Component,
  anchors: readonly KubeObject[],
  components: readonly Component[],
): Component | undefined {
  if (anchors.some((anchor) => isAnchorOf(anchor, component))) return undefined;
  return anchors
    .filter((anchor) => anchorKindOf(anchor.metadata.name) === component.kind)
    .filter((anchor) => isSharedBy(component, anchor))
    .flatMap((anchor) => componentOfAnchor(anchor, components) ?? [])[0];
}

/**
 * Whether an installation and one of a component of its kind would have objects in common, as far as that is known without rendering: those in a namespace that both
 * may have, and those without a namespace, which every release has by the same names.
 */
function isSharedBy(component: Component, anchor: KubeObject): boolean {
  const { namespace } = anchor.metadata;
  if (possibleNamespaces(component).some((one) => one === namespace)) return true;
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries;
  return entries?.some((key) => key.namespace === undefined && !outlives(key)) ?? true;
}
