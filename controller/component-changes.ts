import type { Listing } from "../access/kube/reflector.ts";
import { type Component, orphaningOf } from "../api/component.ts";
import {
  managedClusterAnnotation,
  managedClusterOf,
  pushedBeforeAnnotation,
} from "../api/delivery.ts";
import { canonicalJson } from "../api/fields.ts";
import { objectId } from "../api/keys.ts";
import {
  recordedNamespace,
  spokeNamespaceAnnotation,
} from "../installation/installation-namespace.ts";
import type { Inventory } from "../installation/inventory.ts";
import { isOlder } from "../installation/observed-object.ts";
import { hasFinalizer, newerOf } from "./component-identity.ts";
import type { Installation } from "./reconcile/installation.ts";
import { holderText } from "./reconcile/neighbours.ts";

/** Whether a change of a component needs an attempt. Our own writes need none. */
export function isNews(
  component: Component,
  before: Component | undefined,
  { latest, isBusy }: Installation,
): boolean {
  if (before === undefined) return true;
  if (facetsOf(component) !== facetsOf(before)) return true;
  // A new finalizer was added by the running attempt.
  if (hasFinalizer(before) && !hasFinalizer(component)) return true;
  if (hasLostRecord(before, component)) return true;
  // A running attempt ends with its own status. A slow watch shows its earlier statuses later.
  const isOurs = component.metadata.resourceVersion === latest?.metadata.resourceVersion;
  if (isBusy || isOurs || newerOf(latest, component) === latest) return false;
  return canonicalJson(component.status) !== canonicalJson(before.status);
}

/** Whether a record of where the installation is was removed or changed. */
function hasLostRecord(before: Component, component: Component): boolean {
  return [recordedNamespace, managedClusterOf].some(
    (record) => record(before) !== undefined && record(before) !== record(component),
  );
}

/** Whether a change makes the running attempt useless: the component is being deleted, or is to be orphaned. */
export function isMootBy(component: Component, before: Component | undefined): boolean {
  if (component.metadata.deletionTimestamp === undefined) return false;
  if (before?.metadata.deletionTimestamp === undefined) return true;
  return orphaningOf(component).kind === "granted" && orphaningOf(before).kind !== "granted";
}

/** The parts of a component that need an attempt when they change, without status and finalizers. Users request an attempt with an annotation. */
function facetsOf({ metadata }: Component): string {
  const { generation, deletionTimestamp, annotations = {} } = metadata;
  // These annotations are also added by the running attempt.
  const {
    [spokeNamespaceAnnotation]: _,
    [managedClusterAnnotation]: __,
    [pushedBeforeAnnotation]: ___,
    ...others
  } = annotations;
  return canonicalJson([generation, deletionTimestamp, others]);
}

/** Whether a list shows that our last write of a component was undone by a restore of the hub: the list is at least as new as the write, but has an older component. */
export function isUndone(
  latest: Component | undefined,
  listed: Component,
  listing: Listing,
): boolean {
  if (latest === undefined || newerOf(latest, listed) !== latest) return false;
  return !isOlder(listing, latest.metadata);
}

/** Whether a stored component is newer than our last write and has another status. */
export function hasOtherStatus(stored: Component, latest: Component | undefined): boolean {
  if (latest === undefined || newerOf(latest, stored) === latest) return false;
  return canonicalJson(stored.status) !== canonicalJson(latest.status);
}

type Entries = Pick<Inventory, "entries"> | undefined;

/** An inventory before and after an attempt; undefined: not known; `all`: the component is deleted. */
export interface InventoryChange {
  readonly before: Entries | "all";
  readonly after: Entries;
}

/** Keys of the installations that wait for a shared object that its holder has given up. They do not watch the object, because they never owned it. */
export function keysWaitingFor(
  holder: Component,
  { before, after }: InventoryChange,
  installations: Iterable<readonly [string, Pick<Installation, "leftTo">]>,
): readonly string[] {
  if (before === undefined || after === undefined) return [];
  const text = holderText(holder);
  const waiting = [...installations].flatMap(([key, installation]) => {
    const ids = installation.leftTo(text);
    return ids.length === 0 ? [] : [{ key, ids }];
  });
  if (waiting.length === 0) return [];
  const had = before === "all" ? undefined : new Set(before.entries.map(objectId));
  const has = new Set(after.entries.map(objectId));
  const isGivenUp = (id: string): boolean => had?.has(id) !== false && !has.has(id);
  return waiting.filter(({ ids }) => ids.some(isGivenUp)).map(({ key }) => key);
}
