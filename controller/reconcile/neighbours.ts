import { unlessDenied } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { type Component, componentKeyOf, type ComponentKind } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { foreignText } from "../../api/foreign-text.ts";
import {
  describe,
  identityOf,
  keyOf,
  type KubeObject,
  type Manifest,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { anchorKey, inventoryTextOf } from "../../installation/anchor-object.ts";
import { anchorAnnotations, anchorKindOf, anchorNameOf } from "../../installation/anchor.ts";
import { outlives } from "../../installation/desired.ts";
import { possibleNamespaces } from "../../installation/installation-namespace.ts";
import { decodeInventory } from "../../installation/inventory.ts";
import type { OwnershipQuestion } from "../../installation/sharing.ts";
import type { Anchor, SeenAnchor } from "../apply/anchor/anchor.ts";
import { listAnchors, anchorsBefore } from "../apply/anchor/list-anchors.ts";
import type { Target } from "../apply/target.ts";
import { clusterNameOf } from "../component-identity.ts";
import { type Clock, systemClock } from "../queue/clock.ts";

/** A component that was never installed, with all that it would bring to its target. */
export interface Newcomer {
  readonly component: Component;
  readonly target: Target;
  readonly manifests: readonly Manifest[];
}

/** Objects by identity; not those that stay and are shared. */
type Wanted = ReadonlyMap<string, ObjectKey>;

/** What somebody has, or is about to have, on a cluster. */
interface Holding {
  readonly kind: ComponentKind;
  /** Undefined: nobody knows. */
  readonly ids: ReadonlySet<string> | undefined;
  /** Undefined: it is none of this hub's. */
  readonly holder: Component | undefined;
  readonly anchor: KubeObject | undefined;
}

interface Claim extends Pick<Holding, "kind" | "ids"> {
  /** Identity of the cluster. */
  readonly on: string;
}

type Made = Pick<Anchor, "object">;

// A server in the same network answers much faster.
const farMs = 40;
// A namespace, the name of an object, and its kind.
const longestName = 350;

const namespaces = knownResource("v1", "Namespace");

/**
 * Keeps two installations from writing the same objects: two components of one kind whose ClusterProfiles lead to one cluster, components of two hubs, or both kinds in one
 * namespace. When two installations race for one cluster, the older anchor wins. Spec: knative-operator.md D-17, D-32.
 */
export class Neighbours {
  readonly #clock: Clock;
  /** Milliseconds of the last list of anchors, by client. */
  readonly #answerMs = new WeakMap<object, number>();
  /** Uid of the kube-system namespace of a cluster, by client. */
  readonly #identities = new WeakMap<object, string>();
  /** By the uid of the component. */
  readonly #claims = new Map<string, Claim>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /**
   * Throws FleetError `DuplicateComponent` when another component of its kind, or `AnchorConflict` when anything else has objects that the
   * newcomer would write; also when that is only about to be installed. Resolves with the newcomer's own anchor as far as its labels show it, and with
   * `unknown` where nobody may look; rejects with an answer that says nothing for now. `all`: the components of the hub.
   */
  async assertRoom(
    newcomer: Newcomer,
    all: () => Iterable<Component>,
    signal: AbortSignal,
  ): Promise<SeenAnchor> {
    const { component, target, manifests } = newcomer;
    const [found, identity] = await Promise.all([
      this.#anchorsOn(target.client, signal),
      hasRival(component, all()) ? this.#identityOf(target, signal) : undefined,
    ]);
    const anchors = found ?? [];
    const ownId = identityOf(anchorKey({ component, target }));
    const own = anchors.find((anchor) => identityOf(keyOf(anchor)) === ownId);
    // The install judges whether it belongs to this component.
    if (own !== undefined) return own;
    const nothing = found === undefined ? "unknown" : undefined;
    const wanted = wantedOf(manifests);
    const known = [...all()];
    for (const anchor of anchors) assertApart(wanted, component.kind, holdingOf(anchor, known));
    if (identity === undefined) return nothing;
    const { kind, metadata } = component;
    // The ClusterProfile may lead to another cluster now.
    this.#claims.delete(metadata.uid);
    this.#forgetGone(known);
    for (const [uid, claim] of this.#claims) {
      if (claim.on !== identity) continue;
      const holder = known.find((one) => one.metadata.uid === uid);
      assertApart(wanted, kind, { ...claim, holder, anchor: undefined });
    }
    this.#claims.set(metadata.uid, { kind, ids: new Set(wanted.keys()), on: identity });
    return nothing;
  }

  /**
   * Throws the same as `assertRoom` when the anchor of a neighbour was there before the newcomer's own, `making`, which is being made: somebody who came
   * between the question for room and its answer, for whom nobody of this process may know. Rejects with what `making` rejects with.
   */
  async assertFirst(
    { component, target, manifests }: Newcomer,
    { making, all }: { readonly making: Promise<Made>; readonly all: () => Iterable<Component> },
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = target;
    const isFar = (this.#answerMs.get(client) ?? 0) >= farMs;
    const born = making.then(({ object }) => object.metadata);
    const anchors = await anchorsBefore(born, { client, clock: this.#clock, isFar }, signal);
    const known = [...all()];
    const wanted = wantedOf(manifests);
    for (const one of anchors) assertApart(wanted, component.kind, holdingOf(one, known));
  }

  /**
   * Of objects that an installed component wants, those that another component of the hub has on the same cluster, by identity, each with words for whose it
   * is: of those that are open what it has named, of those that are lost the same unless it is of the same kind, and of those that are fought over what it had
   * accepted and was installed earlier for. Undefined where nobody may look; rejects with an answer that says nothing for now.
   */
  async holders(
    { component, target }: Pick<Newcomer, "component" | "target">,
    { open, fought, lost, all }: OwnershipQuestion & { readonly all: () => Iterable<Component> },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const anchors = await this.#anchorsOn(target.client, signal);
    if (anchors === undefined) return undefined;
    const ownId = identityOf(anchorKey({ component, target }));
    const own = anchors.find((anchor) => identityOf(keyOf(anchor)) === ownId);
    const known = [...all()];
    const theirs = new Map<string, string>();
    for (const anchor of anchors) {
      const holder = known.find((one) => isAnchorOf(anchor, one));
      if (holder === undefined || holder.metadata.uid === component.metadata.uid) continue;
      const words = holderText(holder);
      const isEarlier = own !== undefined && isOlder(anchor, own);
      const named = holder.kind === component.kind ? [open] : [open, lost];
      for (const [id, isAccepted] of entriesIn(anchor)) {
        const isNamed = named.some((ids) => ids?.has(id) === true);
        const isTheirs = isNamed || (fought.has(id) && isAccepted && isEarlier);
        if (isTheirs) theirs.set(id, words);
      }
    }
    return theirs;
  }

  /** Drops the claims of deleted components on all clusters, also on those for which no component asks again. */
  #forgetGone(known: readonly Component[]): void {
    const uids = new Set(known.map(({ metadata }) => metadata.uid));
    for (const uid of this.#claims.keys()) if (!uids.has(uid)) this.#claims.delete(uid);
  }

  async #anchorsOn(
    client: KubeClient,
    signal: AbortSignal,
  ): Promise<readonly KubeObject[] | undefined> {
    const askedAt = this.#clock.now();
    const anchors = await listAnchors(client, signal);
    this.#answerMs.set(client, this.#clock.now() - askedAt);
    return anchors?.filter(({ metadata }) => anchorKindOf(metadata.name) !== undefined);
  }

  /** Uid of the kube-system namespace; undefined without the right to read it. */
  async #identityOf({ client, profile, hubId }: Target, signal: AbortSignal) {
    if (profile === undefined) return hubId;
    const known = this.#identities.get(client);
    if (known !== undefined) return known;
    const ref = { resource: namespaces, name: "kube-system" };
    const namespace = await unlessDenied(client.get(ref, { metadataOnly: true }, signal));
    if (namespace !== undefined) this.#identities.set(client, namespace.metadata.uid);
    return namespace?.metadata.uid;
  }
}

/** A sentence that names the holder of a shared object; unique for each component. */
export function holderText(holder: Component): string {
  return `Belongs to the installation of ${describe(componentKeyOf(holder))}`;
}

function wantedOf(manifests: readonly Manifest[]): Wanted {
  const keys = manifests.map(keyOf).filter((key) => !outlives(key));
  return new Map(keys.map((key) => [identityOf(key), key]));
}

/** Whether another component may be about to write the same objects, without an anchor that shows it yet. Saves a request for all others. */
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

function holdingOf(anchor: KubeObject, known: readonly Component[]): Holding | undefined {
  const kind = anchorKindOf(anchor.metadata.name);
  if (kind === undefined) return undefined;
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries;
  const ids = entries && new Set(entries.map(identityOf));
  return { kind, ids, anchor, holder: known.find((component) => isAnchorOf(anchor, component)) };
}

/** An anchor of upstream has only the name to tell its component. */
function isAnchorOf({ metadata }: KubeObject, component: Component): boolean {
  const { namespace, name, annotations = {} } = metadata;
  const uid = annotations[anchorAnnotations.componentUid];
  if (uid !== undefined) return uid === component.metadata.uid;
  const isPossible = possibleNamespaces(component).some((one) => one === namespace);
  return isPossible && name === anchorNameOf(nameOf(component));
}

/** The inventory of an anchor: identities, and whether the cluster has ever accepted the object. */
function entriesIn(anchor: KubeObject): ReadonlyMap<string, boolean> {
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries ?? [];
  return new Map(entries.map((one) => [identityOf(one), one.fingerprint !== undefined]));
}

/** Within one second of creation the uid decides, so that both sides decide the same. */
function isOlder({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean {
  const [a, b] = [one, other].map(({ creationTimestamp = "", uid }) => creationTimestamp + uid);
  return String(a) < String(b);
}

function nameOf({ kind, metadata: { name } }: Component) {
  return { kind, name };
}

function assertApart(wanted: Wanted, kind: ComponentKind, holding: Holding | undefined): void {
  const shared = holding && sharedOf(wanted, kind, holding);
  if (shared === undefined || holding === undefined) return;
  const { holder, anchor } = holding;
  if (holder !== undefined && holding.kind === kind) {
    const name = describe(componentKeyOf(holder));
    const way = holder.spec?.clusterProfileRef === undefined ? "" : `, ${clusterNameOf(holder)}`;
    const message = `${name} is installed on the same cluster already${way}`;
    throw new FleetError("DuplicateComponent", message);
  }
  const owner = holder === undefined ? anchor && keyOf(anchor) : componentKeyOf(holder);
  const what =
    owner === undefined
      ? "another installation"
      : `the installation of ${foreignText(describe(owner), longestName)}`;
  throw new FleetError("AnchorConflict", `${shared} belongs to ${what}`);
}

/** An object that both have, or words for all of them where it is not known what the other one has. */
function sharedOf(wanted: Wanted, kind: ComponentKind, holding: Holding): string | undefined {
  const { ids } = holding;
  if (ids === undefined) return holding.kind === kind ? `The ${kind} of the cluster` : undefined;
  const shared = [...wanted].find(([id]) => ids.has(id));
  return shared && describe(shared[1]);
}
