import { ApiError } from "../../../access/kube/api-error.ts";
import type { ObjectRef } from "../../../access/kube/kube-client.ts";
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
  decodeInventory,
  encodeInventory,
  type Inventory,
} from "../../../installation/inventory.ts";
import { obstacleIn } from "../apply-error.ts";
import type { Target } from "../target.ts";
import {
  assertOurs,
  inventoryTextOf,
  isHeld,
  isMarked,
  ownerOf,
  type RootOwner,
  rootKeyOf,
  rootManifest,
  rootOver,
} from "./root-object.ts";

/** The root of an installation as it was last seen on its cluster. */
export interface Root {
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

/** A root that somebody has just seen, whosever it may be; undefined when there is none. */
export type SeenRoot = KubeObject | "unknown" | undefined;

/** Whose root it is, and where. */
export interface RootOwnership {
  readonly component: Component;
  readonly target: Target;
}

const resource = knownResource("v1", "ConfigMap");

/** Where the root of an installation is. Throws `ManifestInvalid` for a name that is too long. */
export function rootRefOf(owner: RootOwner): ObjectRef & { readonly namespace: string } {
  const { namespace, name } = rootKeyOf(owner);
  return { resource, namespace, name };
}

/**
 * Reads the root of an installation; undefined when there is none. Throws FleetError `AnchorConflict` when it belongs to another hub
 * or component.
 */
export async function readRoot(
  component: Component,
  target: Target,
  signal: AbortSignal,
): Promise<Root | undefined> {
  const owner = { component, target };
  const object = await target.client.get(rootRefOf(owner), {}, signal);
  return rootIn(object, owner);
}

/** The same of what somebody has just seen under its name; read only where that is not known. */
export async function seenRoot(
  seen: SeenRoot,
  { component, target }: RootOwnership,
  signal: AbortSignal,
): Promise<Root | undefined> {
  if (seen === "unknown") return readRoot(component, target, signal);
  return rootIn(seen, { component, target });
}

function rootIn(object: KubeObject | undefined, owner: RootOwnership): Root | undefined {
  if (object === undefined) return undefined;
  assertOurs(object, owner);
  return rootOf(object, owner);
}

/**
 * Writes the root with an inventory in one request, or creates it. `before` is what was read; when the root was changed meanwhile it is read
 * again and written only if the change was not about the inventory.
 *
 * Throws FleetError `AnchorConflict`, or `ClusterBusy` when the root is being deleted, is not the one that was read any more, or somebody else writes it
 * too.
 */
export async function writeRoot(
  { before, ...owner }: RootOwnership & { readonly before: Root | undefined },
  inventory: Inventory,
  signal: AbortSignal,
): Promise<Root> {
  const { component, target } = owner;
  const text = encodeInventory(inventory);
  let current = before;
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const root = await unlessOutdated(current, { ...owner, text }, signal);
    if (root !== undefined) return root;
    const live = await readRoot(component, target, signal);
    if (before !== undefined && live?.uid !== before.uid) throw replaced(before);
    // Written by this very request, which was sent again because its answer was lost.
    if (live !== undefined && says(live, text)) return live;
    if (live !== undefined && inventoryTextOf(live.object) !== textOf(before)) break;
    current = live;
  }
  throw busy(owner, "is being written by somebody else");
}

/** Undefined when the root is not what it was read as any more. */
async function unlessOutdated(
  current: Root | undefined,
  { text, ...owner }: RootOwnership & { readonly text: string },
  signal: AbortSignal,
): Promise<Root | undefined> {
  if (current?.object.metadata.deletionTimestamp !== undefined) {
    throw busy(owner, "is being deleted");
  }
  try {
    return rootOf(await written(current, { ...owner, text }, signal), owner);
  } catch (error) {
    if (!isOutdated(error, current)) throw error;
    return undefined;
  }
}

async function written(
  current: Root | undefined,
  { text, ...owner }: RootOwnership & { readonly text: string },
  signal: AbortSignal,
): Promise<KubeObject> {
  const { client, fieldManager } = owner.target;
  const ref = rootRefOf(owner);
  // Not by apply: that would silently take a root over that another hub created since.
  if (current === undefined) {
    const body = rootManifest(owner, text);
    return client.create(ref, body, { fieldManager }, signal);
  }
  const manifest = rootOver(current.object, owner, text);
  const resourceVersion = isHeld(current.object, owner)
    ? (await released(current, owner, signal)).metadata.resourceVersion
    : current.resourceVersion;
  // With its uid an apply never creates; with its version it never overwrites what was not seen.
  const metadata = { ...manifest.metadata, uid: current.uid, resourceVersion };
  return client.apply(ref, { ...manifest, metadata }, { fieldManager, force: true }, signal);
}

function released(
  { object, resourceVersion }: Root,
  owner: RootOwnership,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { client, fieldManager } = owner.target;
  const patch = [
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    ...(["ownerReferences", "finalizers"] as const)
      .filter((field) => object.metadata[field] !== undefined)
      .map((field) => ({ op: "remove", path: `/metadata/${field}` })),
  ];
  return client.patch(rootRefOf(owner), patch, { fieldManager, metadataOnly: true }, signal);
}

function rootOf(object: KubeObject, owner: RootOwnership): Root {
  const { uid, resourceVersion } = object.metadata;
  return {
    key: rootKeyOf(owner),
    uid,
    resourceVersion,
    inventory: decodeInventory(inventoryTextOf(object)),
    owner: ownerOf(object, owner),
    object,
    isMarked: isMarked(object, owner),
  };
}

// 409: created or changed meanwhile, or gone (uid given). 404: gone; of one that is to be created it is the namespace that is missing.
function isOutdated(error: unknown, current: Root | undefined): boolean {
  if (!(error instanceof ApiError)) return false;
  const { status, message, causes } = error;
  // Webhooks and policies refuse with a status of their own choice: 422 unless a policy says otherwise.
  if (obstacleIn(message) !== undefined) return false;
  if (status === 409) return true;
  if (current === undefined) return false;
  // Another one by now, or the test of a JSON Patch failed.
  const isChanged = causes.every(({ field }) => field === "metadata.uid");
  return status === 404 || (status === 422 && isChanged);
}

/** A root that stands, is ours and has just this inventory. */
function says(root: Root, text: string): boolean {
  const stands = root.object.metadata.deletionTimestamp === undefined;
  return stands && root.isMarked && inventoryTextOf(root.object) === text;
}

/** What stops the work under a root that is gone: whatever names its uid as owner is collected. Spec: anchor-guard.md 7.1. */
export function replaced({ key }: Pick<Root, "key">): FleetError {
  return new FleetError("ClusterBusy", `${describe(key)} was deleted in the middle of the work`);
}

function textOf(root: Root | undefined): string {
  return root === undefined ? "" : inventoryTextOf(root.object);
}

function busy(owner: RootOwnership, problem: string): FleetError {
  return new FleetError("ClusterBusy", `${describe(rootKeyOf(owner))} ${problem}`);
}
