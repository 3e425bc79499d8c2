import type { Component } from "../../api/component.ts";
import type { ObjectKey, KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { componentSelector, anchorKindOf, componentUidLabel } from "../../installation/anchor.ts";
import { outlives } from "../../installation/desired.ts";
import type { Inventory, InventoryEntry } from "../../installation/inventory.ts";
import {
  builtInReleaseKinds,
  customReleaseKinds,
  kindIdOf,
  kindKeyOf,
} from "../../installation/kinds.ts";
import { isOfLibrary } from "../apply/adoption/take-over.ts";
import { mayBeUpstreams, upstreamMarks } from "../apply/adoption/upstream-objects.ts";
import type { Anchor } from "../apply/anchor/anchor.ts";
import { listAnchors } from "../apply/anchor/list-anchors.ts";
import { belongingOf, type Belonging } from "../apply/belonging.ts";
import { deletableKinds, onceEach, servedKinds } from "../apply/served-kinds.ts";
import type { Target } from "../apply/target.ts";
import type { Observation } from "../observe/observation.ts";

/** What is to be removed from a cluster. */
export interface SweepScope {
  /** Selects the objects of one component; never empty. */
  readonly labelSelector: string;
  /** Kinds that may be there, by `kindKeyOf`. */
  readonly resources: ReadonlyMap<string, ResourceType>;
  /** What the inventory says was installed; empty when there is none. */
  readonly inventory: readonly ObjectKey[];
  readonly belonging: Belonging | undefined;
  /** Kinds of which nothing proves that an instance was ever made: no right to list them is no obstacle. */
  readonly unproven: ReadonlySet<string>;
  /** Kinds that are looked at only because nobody knows better: one that cannot be listed is no obstacle either. */
  readonly guessed?: ReadonlySet<string>;
  /** What goes along although nothing of it is ours. */
  readonly inherited?: Inherited | undefined;
  /** Follows all of these kinds, so that nobody has to ask the cluster for what carries the label. */
  readonly view?: Pick<Observation, "objects">;
}

/** What this process knows of an installation without its anchor. */
export interface Recollection {
  readonly entries: readonly (ObjectKey & Pick<InventoryEntry, "fingerprint">)[];
  /** The entries are complete. Otherwise all kinds of the cluster are listed. */
  readonly isAll: boolean;
}

/** An installation that is to be removed. */
export interface FinalizeRequest {
  readonly component: Component;
  readonly target: Target;
  /** The watches of the installation over the same client, which save the lists. The caller closes them. */
  readonly observation?: Observation;
  /** Called for the installed objects when the anchor does not name them. Absent: all kinds of the cluster are listed. */
  readonly recall?: () => Promise<Recollection>;
}

/**
 * What is to be removed: what the inventory of the anchor says; without a readable one, what a Knative release can contain and what is remembered
 * otherwise. The built-in kinds of a release are looked at in any case, because others can write to the cluster that keeps the inventory. A view that follows
 * every kind of the inventory is believed instead: it was opened for what was installed, and costs no request. And what upstream's operator installed and nobody
 * took over.
 */
export async function sweepScopeOf(
  anchor: Anchor | undefined,
  request: FinalizeRequest,
  signal: AbortSignal,
): Promise<SweepScope> {
  const { component, target } = request;
  const [scope, inherited] = await Promise.all([
    ownScope(anchor, request, signal),
    inheritedBy({ component, target }, anchor, signal),
  ]);
  return { ...scope, inherited };
}

async function ownScope(
  anchor: Anchor | undefined,
  request: FinalizeRequest,
  signal: AbortSignal,
): Promise<SweepScope> {
  const { component, target, observation } = request;
  const labelSelector = componentSelector(component.metadata.uid);
  if (anchor?.inventory === undefined) {
    const scope = await recalledScope(request, signal);
    return { labelSelector, ...scope, inventory: [], belonging: undefined };
  }
  const builtIn = new Map(builtInReleaseKinds.map((resource) => [kindKeyOf(resource), resource]));
  const inventory = anchor.inventory.entries.filter((entry) => !outlives(entry));
  const belonging = belongingOf(anchor, { component, target });
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

/** Without an inventory: all kinds that may have been installed. */
async function recalledScope(
  { target, observation, recall }: FinalizeRequest,
  signal: AbortSignal,
): Promise<Pick<SweepScope, "resources" | "unproven" | "guessed">> {
  const { entries, isAll } = (await recall?.()) ?? { entries: [], isAll: false };
  const [served, others] = await Promise.all([
    servedKinds(target.client, entries, signal),
    isAll ? [] : deletableKinds(target.client, signal),
  ]);
  const watched = [...(observation?.live() ?? []), ...(observation?.pending() ?? [])];
  const proven = new Set(
    entries.flatMap((entry) => (entry.fingerprint === undefined ? [] : [kindIdOf(entry)])),
  );
  const known = [...builtInReleaseKinds, ...served.values(), ...watched, ...customReleaseKinds];
  const likely = new Set(known.map(kindIdOf));
  const all = [...known, ...others].filter((kind) => !outlives(kind));
  // A kind that is served in two versions counts once.
  const kinds = onceEach(all);
  for (const kind of builtInReleaseKinds) proven.add(kindIdOf(kind));
  return {
    resources: new Map(kinds.map((kind) => [kindKeyOf(kind), kind])),
    unproven: new Set(kinds.filter((kind) => !proven.has(kindIdOf(kind))).map(kindKeyOf)),
    guessed: new Set(kinds.filter((kind) => !likely.has(kindIdOf(kind))).map(kindKeyOf)),
  };
}

/** The watched kinds, if all kinds of the inventory are among them. */
function seenKinds(
  inventory: Inventory["entries"],
  observation: Observation | undefined,
): SweepScope["resources"] | undefined {
  if (observation === undefined) return undefined;
  const removable = observation.live().filter((resource) => !outlives(resource));
  const live = new Map(removable.map((resource) => [kindIdOf(resource), resource]));
  if (live.size === 0 || !inventory.every((entry) => live.has(kindIdOf(entry)))) return undefined;
  const named = inventory.flatMap((entry) => {
    const resource = live.get(kindIdOf(entry));
    return resource === undefined ? [] : [[kindKeyOf(entry), resource] as const];
  });
  return new Map([...named, ...[...live.values()].map((kind) => [kindKeyOf(kind), kind] as const)]);
}

// An entry without a fingerprint was perhaps never sent: the controller may have no right to its kind.
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

/** How objects of upstream's operator are known that nobody has taken over, and that go with the component. */
export interface Inherited {
  readonly labelSelector: string;
  readonly isOne: (object: KubeObject) => boolean;
}

interface Place {
  readonly component: Component;
  readonly target: Target;
}

/**
 * What of upstream's operator is a component's that is removed before it was taken over, or in the middle of that; undefined where there can be nothing. What is
 * cluster-scoped, or in others' namespaces, says for none that it is its own: it stays while another anchor of the kind is on the cluster.
 */
async function inheritedBy(
  { component, target }: Place,
  anchor: Anchor | undefined,
  signal: AbortSignal,
): Promise<Inherited | undefined> {
  if (!mayBeUpstreams({ component, target }, anchor)) return undefined;
  const anchors = (await listAnchors(target.client, signal)) ?? [];
  const isAlone = anchors.every(
    ({ metadata: { uid, name } }) => uid === anchor?.uid || anchorKindOf(name) !== component.kind,
  );
  const { labelSelector, owner } = upstreamMarks({ component, target }, anchor);
  return {
    labelSelector,
    isOne: (object) => {
      const { labels = {}, ownerReferences = [] } = object.metadata;
      if (!isOfLibrary(object) || labels[componentUidLabel] !== undefined) return false;
      const controllers = ownerReferences.filter(({ controller }) => controller === true);
      return controllers.length === 0 ? isAlone : controllers.every(({ uid }) => uid === owner);
    },
  };
}
