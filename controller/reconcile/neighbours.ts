import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { type Component, componentKeyOf, type ComponentKind } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { componentId, objectId } from "../../api/keys.ts";
import {
  describe,
  keyOf,
  type KubeObject,
  type Manifest,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import { anchorKey, inventoryTextOf } from "../../installation/anchor-object.ts";
import { anchorAnnotations, anchorKindOf, anchorNameOf } from "../../installation/anchor.ts";
import { outlives } from "../../installation/desired.ts";
import { possibleNamespaces } from "../../installation/installation-namespace.ts";
import { decodeInventory } from "../../installation/inventory.ts";
import type { OwnershipQuestion } from "../../installation/sharing.ts";
import type { Anchor, SeenAnchor } from "../apply/anchor/anchor.ts";
import { listAnchors, anchorsBefore } from "../apply/anchor/list-anchors.ts";
import { clusterNameOf } from "../component-identity.ts";
import type { TargetConnection } from "../target/target-connection.ts";
import type { Target } from "../target/target.ts";

/** A component that was never installed, with the objects that it would write to its target. */
export interface Newcomer {
  readonly component: Component;
  readonly target: Target;
  readonly connection: Pick<TargetConnection, "clusterId" | "isFar">;
  readonly manifests: readonly Manifest[];
}

/** Objects by identity, without those that outlive an installation. */
type DesiredKeys = ReadonlyMap<string, ObjectKey>;

/** The objects that another installation has, or is about to have, on a cluster. */
interface Holding {
  readonly kind: ComponentKind;
  /** Identities of its objects; undefined: not known. */
  readonly ids: ReadonlySet<string> | undefined;
  /** Undefined: it belongs to another hub. */
  readonly holder: Component | undefined;
  readonly anchor: KubeObject | undefined;
}

/** The objects of a component whose install runs. */
interface Claim extends Pick<Holding, "kind" | "ids"> {
  readonly clusterId: string;
}

type CreatedAnchor = Pick<Anchor, "object">;

// Characters of kind, namespace and name of an object.
const longestName = 350;

/**
 * Keeps two installations from writing the same objects: two components of one kind whose ClusterProfiles lead to one cluster, components of two hubs, or both kinds in one
 * namespace. When two installations race for one cluster, the older anchor wins. Spec: knative-operator.md D-17, D-32.
 */
export class Neighbours {
  readonly #clock: Clock;
  /** By the uid of the component. One ends with the attempt that made it: then the anchor shows the installation, or there is none. */
  readonly #claims = new Map<string, Claim>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Throws FleetError `DuplicateComponent` when another component of its kind has objects that the newcomer would write, and `AnchorConflict` when another installation has them;
   * also when these are only being installed. Resolves with the newcomer's own anchor if the list shows it, and with `unknown` without the right to list anchors. Rejects
   * when the list fails otherwise. `all`: the components of the hub.
   */
  async assertNoOverlap(
    newcomer: Newcomer,
    all: () => Iterable<Component>,
    signal: AbortSignal,
  ): Promise<SeenAnchor> {
    const { component, target, connection, manifests } = newcomer;
    const [listed, clusterId] = await Promise.all([
      installedAnchors(target.client, signal),
      hasRival(component, all()) ? connection.clusterId(signal) : undefined,
    ]);
    // What is claimed after the end of an attempt would stay.
    signal.throwIfAborted();
    const anchors = listed ?? [];
    const ownId = objectId(anchorKey({ component, target }));
    const own = anchors.find((anchor) => objectId(keyOf(anchor)) === ownId);
    // The install checks whether the anchor belongs to this component.
    if (own !== undefined) return own;
    const noAnchor = listed === undefined ? "unknown" : undefined;
    const desired = desiredKeys(manifests);
    const components = [...all()];
    for (const anchor of anchors)
      assertApart(desired, component.kind, holdingOf(anchor, components));
    if (clusterId === undefined) return noAnchor;
    const { kind, metadata } = component;
    for (const [uid, claim] of this.#claims) {
      if (claim.clusterId !== clusterId) continue;
      const holder = components.find((one) => one.metadata.uid === uid);
      assertApart(desired, kind, { ...claim, holder, anchor: undefined });
    }
    this.#claims.set(metadata.uid, { kind, ids: new Set(desired.keys()), clusterId });
    return noAnchor;
  }

  /** Has to be called when the attempt of a component has ended that may have called `assertNoOverlap`. */
  forget({ metadata }: Pick<Component, "metadata">): void {
    this.#claims.delete(metadata.uid);
  }

  /**
   * Throws the same as `assertNoOverlap` when another anchor was created before the newcomer's own, which `making` is creating: its installation may have begun after `assertNoOverlap`, also in
   * another process. Rejects when `making` rejects.
   */
  async assertFirst(
    { component, target, connection, manifests }: Newcomer,
    {
      making,
      all,
    }: { readonly making: Promise<CreatedAnchor>; readonly all: () => Iterable<Component> },
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = target;
    const { isFar } = connection;
    const born = making.then(({ object }) => object.metadata);
    const anchors = await anchorsBefore(born, { client, clock: this.#clock, isFar }, signal);
    const components = [...all()];
    const desired = desiredKeys(manifests);
    for (const one of anchors) assertApart(desired, component.kind, holdingOf(one, components));
  }

  /**
   * The desired objects of an installed component that another component of the hub holds on the same cluster: identities, each with the `holderText`. An `open` object belongs to
   * the component that has it in its inventory, and so does a `lost` one, unless that component is of the same kind. A `fought` one belongs to the older installation if the cluster
   * accepted it there. Undefined without the right to list anchors; rejects when the list fails otherwise.
   */
  async holders(
    { component, target }: Pick<Newcomer, "component" | "target">,
    { open, fought, lost, all }: OwnershipQuestion & { readonly all: () => Iterable<Component> },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const anchors = await installedAnchors(target.client, signal);
    if (anchors === undefined) return undefined;
    const ownId = objectId(anchorKey({ component, target }));
    const own = anchors.find((anchor) => objectId(keyOf(anchor)) === ownId);
    const components = [...all()];
    const holders = new Map<string, string>();
    for (const anchor of anchors) {
      const holder = componentOfAnchor(anchor, components);
      if (holder === undefined || holder.metadata.uid === component.metadata.uid) continue;
      const text = holderText(holder);
      const isEarlier = own !== undefined && wasCreatedBefore(anchor, own);
      const named = holder.kind === component.kind ? [open] : [open, lost];
      for (const [id, isAccepted] of acceptedEntries(anchor)) {
        const isNamed = named.some((ids) => ids?.has(id) === true);
        const isTheirs = isNamed || (fought.has(id) && isAccepted && isEarlier);
        if (isTheirs) holders.set(id, text);
      }
    }
    return holders;
  }
}

/** The anchors of installations on a cluster; undefined without the right to list them. */
async function installedAnchors(
  client: Pick<KubeClient, "list">,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  const anchors = await listAnchors(client, signal);
  return anchors?.filter(({ metadata }) => anchorKindOf(metadata.name) !== undefined);
}

/** The sentence that names the holder of a shared object; unique for each component. */
export function holderText(holder: Component): string {
  return `Belongs to the installation of ${componentId(holder)}`;
}

function desiredKeys(manifests: readonly Manifest[]): DesiredKeys {
  const keys = manifests.map(keyOf).filter((key) => !outlives(key));
  return new Map(keys.map((key) => [objectId(key), key]));
}

/** Whether another component may be about to write the same objects, without an anchor that shows it yet. All other components save a request. */
function hasRival(component: Component, all: Iterable<Component>): boolean {
  const { kind, metadata } = component;
  const own = possibleNamespaces(component);
  return [...all].some(
    (other) =>
      other.metadata.uid !== metadata.uid &&
      other.status?.version === undefined &&
      (other.kind === kind || possibleNamespaces(other).some((one) => own.includes(one))),
  );
}

function holdingOf(anchor: KubeObject, components: readonly Component[]): Holding | undefined {
  const kind = anchorKindOf(anchor.metadata.name);
  if (kind === undefined) return undefined;
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries;
  const ids = entries && new Set(entries.map(objectId));
  return {
    kind,
    ids,
    anchor,
    holder: componentOfAnchor(anchor, components),
  };
}

/** The component that an anchor belongs to; undefined when none of these does. */
export function componentOfAnchor(
  anchor: KubeObject,
  components: readonly Component[],
): Component | undefined {
  return components.find((component) => isAnchorOf(anchor, component));
}

/** Whether an anchor belongs to a component. An anchor of upstream shows its component only in its name. */
export function isAnchorOf({ metadata }: KubeObject, component: Component): boolean {
  const { namespace, name, annotations = {} } = metadata;
  const { kind, metadata: own } = component;
  const uid = annotations[anchorAnnotations.componentUid];
  if (uid !== undefined) return uid === own.uid;
  const isPossible = possibleNamespaces(component).some((one) => one === namespace);
  return isPossible && name === anchorNameOf({ kind, name: own.name });
}

/** The inventory of an anchor: identities, and whether the cluster accepted the object. */
function acceptedEntries(anchor: KubeObject): ReadonlyMap<string, boolean> {
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries ?? [];
  return new Map(entries.map((one) => [objectId(one), one.fingerprint !== undefined]));
}

/** Within one second of creation the uid decides, so that both sides decide the same. */
function wasCreatedBefore({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean {
  const [a, b] = [one, other].map(({ creationTimestamp = "", uid }) => creationTimestamp + uid);
  return String(a) < String(b);
}

function assertApart(
  desired: DesiredKeys,
  kind: ComponentKind,
  holding: Holding | undefined,
): void {
  const overlap = holding && overlapText(desired, kind, holding);
  if (overlap === undefined || holding === undefined) return;
  const { holder, anchor } = holding;
  if (holder !== undefined && holding.kind === kind) {
    const name = componentId(holder);
    const way = holder.spec?.clusterProfileRef === undefined ? "" : `, ${clusterNameOf(holder)}`;
    const message = `${name} is installed on the same cluster already${way}`;
    throw new FleetError("DuplicateComponent", message);
  }
  const owner = holder === undefined ? anchor && keyOf(anchor) : componentKeyOf(holder);
  const owned =
    owner === undefined
      ? "another installation"
      : `the installation of ${foreignText(describe(owner), longestName)}`;
  throw new FleetError("AnchorConflict", `${overlap} belongs to ${owned}`);
}

/** Names an object that both have, or the whole installation where the objects of the other one are not known; undefined without an overlap. */
function overlapText(
  desired: DesiredKeys,
  kind: ComponentKind,
  holding: Holding,
): string | undefined {
  const { ids } = holding;
  if (ids === undefined) return holding.kind === kind ? `The ${kind} of the cluster` : undefined;
  const shared = [...desired].find(([id]) => ids.has(id));
  return shared && describe(shared[1]);
}
