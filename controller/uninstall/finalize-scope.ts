import type { Component } from "../../api/component.ts";
import { kindId, versionedKindId } from "../../api/keys.ts";
import type { ObjectKey, KubeObject } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { componentSelector, anchorKindOf, componentUidLabel } from "../../installation/anchor.ts";
import { outlives } from "../../installation/desired.ts";
import type { Inventory, InventoryEntry } from "../../installation/inventory.ts";
import { builtInReleaseKinds, customReleaseKinds } from "../../installation/kinds.ts";
import { isOfLibrary } from "../apply/adoption/take-over.ts";
import { mayBeUpstreams, upstreamMarks } from "../apply/adoption/upstream-objects.ts";
import type { Anchor } from "../apply/anchor/anchor.ts";
import { listAnchors } from "../apply/anchor/list-anchors.ts";
import { belongingOf, type Belonging } from "../apply/belonging.ts";
import { deletableKinds, onceEach, servedKinds } from "../apply/served-kinds.ts";
import type { Observation } from "../observe/observation.ts";
import type { Target } from "../target/target.ts";

/** Where the objects of an installation can be on its cluster, and how they are recognised. */
export interface SweepScope {
  /** Selects the objects of one component; never empty. */
  readonly labelSelector: string;
  /** Kinds that may be there, by `versionedKindId`. */
  readonly resources: ReadonlyMap<string, ResourceType>;
  /** Objects of the inventory; empty without one. */
  readonly inventory: readonly ObjectKey[];
  readonly belonging: Belonging | undefined;
  /** Kinds of which perhaps no object was ever created: a missing right to list them does not fail the removal. */
  readonly unproven: ReadonlySet<string>;
  /** Kinds that are listed only because the installed kinds are not known: any failed list of them is ignored. */
  readonly guessed?: ReadonlySet<string>;
  /** Objects of the upstream operator that are removed, too. */
  readonly upstream?: UpstreamObjects | undefined;
  /** Watches all of these kinds, so that objects with the label need no lists. */
  readonly view?: Pick<Observation, "objects">;
}

/** The objects of an installation as this process knows them without the anchor. */
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
 * The scope of a removal: the kinds of the inventory, or without a readable one the kinds that a Knative release can contain and those that `recall` names. The built-in kinds of
 * a release are always listed, because others can change the inventory on the cluster. They are not listed when watches follow every kind of the inventory: these watches
 * were opened for the installed kinds. Objects of the upstream operator that were not adopted are in the scope, too.
 */
export async function sweepScopeOf(
  anchor: Anchor | undefined,
  request: FinalizeRequest,
  signal: AbortSignal,
): Promise<SweepScope> {
  const { component, target } = request;
  const [scope, upstream] = await Promise.all([
    ownScope(anchor, request, signal),
    unadoptedObjects({ component, target }, anchor, signal),
  ]);
  return { ...scope, upstream };
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
  const builtIn = new Map(
    builtInReleaseKinds.map((resource) => [versionedKindId(resource), resource]),
  );
  const inventory = anchor.inventory.entries.filter((entry) => !outlives(entry));
  const belonging = belongingOf(anchor, { component, target });
  const watched = watchedKinds(inventory, observation);
  if (watched !== undefined) {
    const unproven = new Set<string>();
    return { labelSelector, resources: watched, unproven, inventory, belonging, view: observation };
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

/** The scope without an inventory: all kinds that may have been installed. */
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
    entries.flatMap((entry) => (entry.fingerprint === undefined ? [] : [kindId(entry)])),
  );
  const expected = [...builtInReleaseKinds, ...served.values(), ...watched, ...customReleaseKinds];
  const likely = new Set(expected.map(kindId));
  const all = [...expected, ...others].filter((kind) => !outlives(kind));
  // A kind that is served in two versions counts once.
  const kinds = onceEach(all);
  for (const kind of builtInReleaseKinds) proven.add(kindId(kind));
  return {
    resources: new Map(kinds.map((kind) => [versionedKindId(kind), kind])),
    unproven: new Set(kinds.filter((kind) => !proven.has(kindId(kind))).map(versionedKindId)),
    guessed: new Set(kinds.filter((kind) => !likely.has(kindId(kind))).map(versionedKindId)),
  };
}

/** The watched kinds, if all kinds of the inventory are among them. */
function watchedKinds(
  inventory: Inventory["entries"],
  observation: Observation | undefined,
): SweepScope["resources"] | undefined {
  if (observation === undefined) return undefined;
  const removable = observation.live().filter((resource) => !outlives(resource));
  const live = new Map(removable.map((resource) => [kindId(resource), resource]));
  if (live.size === 0 || !inventory.every((entry) => live.has(kindId(entry)))) return undefined;
  const named = inventory.flatMap((entry) => {
    const resource = live.get(kindId(entry));
    return resource === undefined ? [] : [[versionedKindId(entry), resource] as const];
  });
  return new Map([
    ...named,
    ...[...live.values()].map((kind) => [versionedKindId(kind), kind] as const),
  ]);
}

/** Kinds of which an object was accepted by the cluster. An entry without a fingerprint was perhaps never sent. */
function provenKinds(
  inventory: Inventory["entries"],
  builtIn: ReadonlyMap<string, unknown>,
): ReadonlySet<string> {
  return new Set(
    inventory
      .filter((entry) => entry.fingerprint !== undefined || builtIn.has(versionedKindId(entry)))
      .map((entry) => versionedKindId(entry)),
  );
}

/** How objects of the upstream operator are recognised that were not adopted and are removed with the component. */
export interface UpstreamObjects {
  readonly labelSelector: string;
  readonly matches: (object: KubeObject) => boolean;
}

/**
 * The objects of the upstream operator when a component is removed before or during its adoption; undefined where there can be none. Cluster-scoped objects, and those in other
 * namespaces, do not say to which component they belong. They stay while the cluster has another anchor of the kind.
 */
async function unadoptedObjects(
  { component, target }: Pick<FinalizeRequest, "component" | "target">,
  anchor: Anchor | undefined,
  signal: AbortSignal,
): Promise<UpstreamObjects | undefined> {
  if (!mayBeUpstreams({ component, target }, anchor)) return undefined;
  const anchors = (await listAnchors(target.client, signal)) ?? [];
  const isAlone = anchors.every(
    ({ metadata: { uid, name } }) => uid === anchor?.uid || anchorKindOf(name) !== component.kind,
  );
  const { labelSelector, owner } = upstreamMarks({ component, target }, anchor);
  return {
    labelSelector,
    matches: (object) => {
      const { labels = {}, ownerReferences = [] } = object.metadata;
      if (!isOfLibrary(object) || labels[componentUidLabel] !== undefined) return false;
      const controllers = ownerReferences.filter(({ controller }) => controller === true);
      return controllers.length === 0 ? isAlone : controllers.every(({ uid }) => uid === owner);
    },
  };
}
