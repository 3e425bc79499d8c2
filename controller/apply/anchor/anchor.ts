import { ApiError } from "../../../access/kube/api-error.ts";
import type { ObjectRef } from "../../../access/kube/kube-client.ts";
import { obstacleIn } from "../../../access/kube/obstacle.ts";
import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import {
  describe,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
} from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import {
  assertOurs,
  inventoryTextOf,
  isHeld,
  isMarked,
  ownerOf,
  anchorKey,
  anchorManifest,
  anchorManifestOver,
  type AnchorOwner,
} from "../../../installation/anchor-object.ts";
import {
  decodeInventory,
  encodeInventory,
  type Inventory,
} from "../../../installation/inventory.ts";
import type { Target } from "../../target/target.ts";

/** The anchor of an installation as it was last seen on its cluster. */
export interface Anchor {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Absent: none was written yet, or it cannot be read. */
  readonly inventory: Inventory | undefined;
  /** Owner of every object in the installation's namespace. */
  readonly owner: OwnerReference;
  readonly object: KubeObject;
  /** Carries everything that marks it as ours; false for an anchor of upstream's that is yet to be adopted. */
  readonly isMarked: boolean;
}

/** An anchor that was read a moment ago. It may belong to another component. Undefined when there is none. */
export type SeenAnchor = KubeObject | "unknown" | undefined;

/** The component that owns an anchor, and the cluster of the anchor. */
export interface AnchorOwnership {
  readonly component: Component;
  readonly target: Target;
}

const resource = knownResource("v1", "ConfigMap");

/** Where the anchor of an installation is. Throws `ManifestInvalid` for a name that is too long. */
export function anchorRef(owner: AnchorOwner): ObjectRef & { readonly namespace: string } {
  const { namespace, name } = anchorKey(owner);
  return { resource, namespace, name };
}

/**
 * Reads the anchor of an installation; undefined when there is none. Throws FleetError `AnchorConflict` when it belongs to another hub
 * or component.
 */
export async function readAnchor(
  component: Component,
  target: Target,
  signal: AbortSignal,
): Promise<Anchor | undefined> {
  const owner = { component, target };
  const object = await target.client.get(anchorRef(owner), {}, signal);
  return checkedAnchor(object, owner);
}

/** Checks an anchor that was read a moment ago as `readAnchor` does. Reads the anchor when `seen` is `unknown`. */
export async function anchorSeen(
  seen: SeenAnchor,
  { component, target }: AnchorOwnership,
  signal: AbortSignal,
): Promise<Anchor | undefined> {
  if (seen === "unknown") return readAnchor(component, target, signal);
  return checkedAnchor(seen, { component, target });
}

function checkedAnchor(object: KubeObject | undefined, owner: AnchorOwnership): Anchor | undefined {
  if (object === undefined) return undefined;
  assertOurs(object, owner);
  return anchorFrom(object, owner);
}

/**
 * Writes the anchor with an inventory in one request, or creates it. `before` is the anchor that was read. When the anchor changed meanwhile, it is
 * read again, and written only if its inventory is unchanged.
 *
 * Throws FleetError `AnchorConflict`. Throws `ClusterBusy` when the anchor is being deleted, was replaced by another object, or is written by another
 * client at the same time.
 */
export async function writeAnchor(
  { before, ...owner }: AnchorOwnership & { readonly before: Anchor | undefined },
  inventory: Inventory,
  signal: AbortSignal,
): Promise<Anchor> {
  const { component, target } = owner;
  const text = encodeInventory(inventory);
  let current = before;
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const anchor = await unlessOutdated(current, { ...owner, text }, signal);
    if (anchor !== undefined) return anchor;
    const live = await readAnchor(component, target, signal);
    if (before !== undefined && live?.uid !== before.uid) throw replaced(before);
    // Written by this very request, which was sent again because its answer was lost.
    if (live !== undefined && says(live, text)) return live;
    if (live !== undefined && inventoryTextOf(live.object) !== textOf(before)) break;
    current = live;
  }
  throw busy(owner, "is being written by somebody else");
}

/** Undefined when the anchor changed since it was read. */
async function unlessOutdated(
  current: Anchor | undefined,
  { text, ...owner }: AnchorOwnership & { readonly text: string },
  signal: AbortSignal,
): Promise<Anchor | undefined> {
  if (current?.object.metadata.deletionTimestamp !== undefined) {
    throw busy(owner, "is being deleted");
  }
  try {
    return anchorFrom(await writeObject(current, { ...owner, text }, signal), owner);
  } catch (error) {
    if (!isWriteConflict(error, current)) throw error;
    return undefined;
  }
}

async function writeObject(
  current: Anchor | undefined,
  { text, ...owner }: AnchorOwnership & { readonly text: string },
  signal: AbortSignal,
): Promise<KubeObject> {
  const { client, fieldManager } = owner.target;
  const ref = anchorRef(owner);
  // Not by apply: that would silently take an anchor over that another hub created since.
  if (current === undefined) {
    const body = anchorManifest(owner, text);
    return client.create(ref, body, { fieldManager }, signal);
  }
  const manifest = anchorManifestOver(current.object, owner, text);
  const resourceVersion = isHeld(current.object, owner)
    ? (await releaseHolders(current, owner, signal)).metadata.resourceVersion
    : current.resourceVersion;
  // An apply with a uid never creates an object. An apply with a resourceVersion never overwrites an unknown state.
  const metadata = { ...manifest.metadata, uid: current.uid, resourceVersion };
  return client.apply(ref, { ...manifest, metadata }, { fieldManager, force: true }, signal);
}

function releaseHolders(
  { object, resourceVersion }: Anchor,
  owner: AnchorOwnership,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { client, fieldManager } = owner.target;
  const patch = [
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    ...(["ownerReferences", "finalizers"] as const)
      .filter((field) => object.metadata[field] !== undefined)
      .map((field) => ({ op: "remove", path: `/metadata/${field}` })),
  ];
  return client.patch(anchorRef(owner), patch, { fieldManager, metadataOnly: true }, signal);
}

function anchorFrom(object: KubeObject, owner: AnchorOwnership): Anchor {
  const { uid, resourceVersion } = object.metadata;
  return {
    key: anchorKey(owner),
    uid,
    resourceVersion,
    inventory: decodeInventory(inventoryTextOf(object)),
    owner: ownerOf(object, owner),
    object,
    isMarked: isMarked(object, owner),
  };
}

// 409: the object was created, changed or deleted meanwhile. 404: the object is gone; for a creation, the namespace is missing.
function isWriteConflict(error: unknown, current: Anchor | undefined): boolean {
  if (!(error instanceof ApiError)) return false;
  const { status, causes } = error;
  // Webhooks and policies choose the status of their refusals. The default is 422.
  if (obstacleIn(error) !== undefined) return false;
  if (status === 409) return true;
  if (current === undefined) return false;
  // The object was replaced, or the test of a JSON Patch failed.
  const isChanged = causes.every(({ field }) => field === "metadata.uid");
  return status === 404 || (status === 422 && isChanged);
}

/** An anchor that stands, is ours and has just this inventory. */
function says(anchor: Anchor, text: string): boolean {
  const stands = anchor.object.metadata.deletionTimestamp === undefined;
  return stands && anchor.isMarked && inventoryTextOf(anchor.object) === text;
}

/**
 * The error that stops all writes after the loss of an anchor. The garbage collector removes each object that has the uid of the anchor as its owner.
 * Spec: anchor-guard.md 7.1.
 */
export function replaced({ key }: Pick<Anchor, "key">): FleetError {
  return new FleetError("ClusterBusy", `${describe(key)} was deleted in the middle of the work`);
}

function textOf(anchor: Anchor | undefined): string {
  return anchor === undefined ? "" : inventoryTextOf(anchor.object);
}

function busy(owner: AnchorOwnership, problem: string): FleetError {
  return new FleetError("ClusterBusy", `${describe(anchorKey(owner))} ${problem}`);
}
