import type { Component } from "../api/component.ts";
import type { Root } from "./apply/anchor.ts";
import type { Inventory } from "./apply/inventory.ts";
import type { Target } from "./apply/target.ts";
import { componentSelector } from "./component-selector.ts";
import {
  builtInReleaseKinds,
  customReleaseKinds,
  kindKeyOf,
  servedKinds,
  staysBehind,
} from "./finalize-kinds.ts";
import { belongingOf } from "./finalize-plan.ts";
import type { SweepScope } from "./finalize-sweep.ts";
import type { Observation } from "./observe/observation.ts";
import { kindIdOf } from "./observe/sighting.ts";

interface Installed {
  readonly component: Component;
  readonly target: Target;
  /** A view of the installation on this target, if there is one. */
  readonly observation?: Observation;
}

/**
 * What is to be removed: what the inventory of the root says; without a readable one, what a Knative release can contain. The built-in
 * kinds of a release are looked at in any case, because others can write to the cluster that keeps the inventory. A view that follows
 * every kind of the inventory is believed instead: it was opened for what was installed, and costs no request.
 */
export async function sweepScopeOf(
  root: Root | undefined,
  { component, target, observation }: Installed,
  signal: AbortSignal,
): Promise<SweepScope> {
  const labelSelector = componentSelector(component.metadata.uid);
  const builtIn = new Map(builtInReleaseKinds.map((resource) => [kindKeyOf(resource), resource]));
  if (root?.inventory === undefined) {
    const custom = new Map(customReleaseKinds.map((resource) => [kindKeyOf(resource), resource]));
    const resources = new Map([...builtIn, ...custom]);
    const unproven = new Set(custom.keys());
    return { labelSelector, resources, unproven, inventory: [], belonging: undefined };
  }
  const inventory = root.inventory.entries.filter((entry) => !staysBehind(entry));
  const belonging = belongingOf(root, { component, target });
  const seen = seenKinds(inventory, observation);
  if (seen !== undefined) {
    const unproven = new Set<string>();
    return { labelSelector, resources: seen, unproven, inventory, belonging, view: observation };
  }
  const resources = new Map([...builtIn, ...(await servedKinds(target.client, inventory, signal))]);
  const proven = provenKinds(inventory, builtIn);
  return {
    labelSelector,
    resources,
    unproven: new Set([...resources.keys()].filter((kind) => !proven.has(kind))),
    inventory,
    belonging,
  };
}

/** The kinds that a view follows, if it follows those of everything in the inventory. */
function seenKinds(
  inventory: Inventory["entries"],
  observation: Observation | undefined,
): SweepScope["resources"] | undefined {
  if (observation === undefined) return undefined;
  const removable = observation.live().filter((resource) => !staysBehind(resource));
  const live = new Map(removable.map((resource) => [kindIdOf(resource), resource]));
  if (live.size === 0 || !inventory.every((entry) => live.has(kindIdOf(entry)))) return undefined;
  const named = inventory.flatMap((entry) => {
    const resource = live.get(kindIdOf(entry));
    return resource === undefined ? [] : [[kindKeyOf(entry), resource] as const];
  });
  return new Map([...named, ...[...live.values()].map((kind) => [kindKeyOf(kind), kind] as const)]);
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
