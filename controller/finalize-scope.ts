import { componentUidLabel } from "../api/anchor.ts";
import { componentKinds, type Component } from "../api/component.ts";
import type { Root } from "./apply/anchor.ts";
import type { Inventory } from "./apply/inventory.ts";
import type { Target } from "./apply/target.ts";
import {
  builtInReleaseKinds,
  customReleaseKinds,
  kindKeyOf,
  servedKinds,
  staysBehind,
} from "./finalize-kinds.ts";
import type { SweepScope } from "./finalize-sweep.ts";

interface Installed {
  readonly component: Component;
  readonly target: Target;
}

/**
 * What is to be removed: what the inventory of the root says; without a readable one, what a Knative release can contain. The built-in
 * kinds of a release are looked at in any case, because others can write to the cluster that keeps the inventory.
 */
export async function sweepScopeOf(
  root: Root | undefined,
  { component, target }: Installed,
  signal: AbortSignal,
): Promise<SweepScope> {
  const labelSelector = `${componentUidLabel}=${component.metadata.uid}`;
  const builtIn = new Map(builtInReleaseKinds.map((resource) => [kindKeyOf(resource), resource]));
  if (root?.inventory === undefined) {
    const custom = new Map(customReleaseKinds.map((resource) => [kindKeyOf(resource), resource]));
    const resources = new Map([...builtIn, ...custom]);
    const unproven = new Set(custom.keys());
    return { labelSelector, resources, unproven, inventory: [], belonging: undefined };
  }
  const inventory = root.inventory.entries.filter((entry) => !staysBehind(entry));
  const resources = new Map([...builtIn, ...(await servedKinds(target.client, inventory, signal))]);
  const proven = provenKinds(inventory, builtIn);
  return {
    labelSelector,
    resources,
    unproven: new Set([...resources.keys()].filter((kind) => !proven.has(kind))),
    inventory,
    belonging: {
      ownerUid: root.owner.uid,
      componentLabel: componentKinds[component.kind].label,
      fieldManager: target.fieldManager,
      namespace: target.namespace,
    },
  };
}

// A custom kind that is only intended may be one that the controller has no right to at all.
function provenKinds(
  inventory: Inventory["entries"],
  builtIn: ReadonlyMap<string, unknown>,
): ReadonlySet<string> {
  return new Set(
    inventory
      .filter((entry) => entry.fingerprint !== undefined || builtIn.has(kindKeyOf(entry)))
      .map((entry) => kindKeyOf(entry)),
  );
}
