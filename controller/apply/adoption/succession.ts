import type { Component } from "../../../api/component.ts";
import { objectId } from "../../../api/keys.ts";
import { isJob, keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../../api/resources.ts";
import { inventoryTextOf } from "../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  componentSelector,
  componentUidLabel,
  definitionLabel,
} from "../../../installation/anchor.ts";
import type { Desired } from "../../../installation/desired.ts";
import {
  decodeInventory,
  encodeInventory,
  type InventoryEntry,
} from "../../../installation/inventory.ts";
import type { Target } from "../../target/target.ts";
import { obsoleteAmong } from "./adopt.ts";
import { patchLive } from "./patch-live.ts";
import { ownPatch, preconditions, setAt } from "./take-over.ts";
import { labelledObjects } from "./upstream-objects.ts";

/** An installation that another controller of this program has managed so far. */
export interface Succession {
  readonly component: Component;
  readonly target: Target;
  readonly desired: Desired;
  /** Uid of the component for which it was managed. */
  readonly formerUid: string;
  /** Field manager of the other controller. */
  readonly formerManager: string;
  /** Its anchor as it was just read. */
  readonly anchor: KubeObject;
}

const namespaces = knownResource("v1", "Namespace");
const clusterRoles = knownResource("rbac.authorization.k8s.io/v1", "ClusterRole");
const definitions = knownResource("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/**
 * Makes an installation ours without a change to its objects. Renames the field manager, so that our next apply removes the fields that it does not
 * send. Last, puts our marks on the anchor. The next install sends every object once more, for label and owner.
 *
 * Returns the number of objects. Can be stopped at any point and begun again, because the anchor belongs to the other controller until the end.
 */
export async function succeed(succession: Succession, signal: AbortSignal): Promise<number> {
  const { component, target, desired, formerUid } = succession;
  const [labelled, crds, owned, second] = await Promise.all([
    labelledObjects(formerUid, { target, desired }, signal),
    listed(succession, { resource: definitions, labelSelector: `${definitionLabel}=true` }, signal),
    listed(succession, { resource: namespaces }, signal),
    listed(
      succession,
      { resource: clusterRoles, labelSelector: componentSelector(formerUid) },
      signal,
    ),
  ]);
  const obsolete = new Set(obsoleteAmong(labelled, desired));
  const wanted = new Set(desired.objects.map(({ id }) => id));
  const { uid } = component.metadata;
  const relabelled = [setAt("labels", componentUidLabel, uid)];
  const renamed = [setAt("annotations", anchorAnnotations.componentUid, uid)];
  const work = [
    ...labelled.map((live) => [live, obsolete.has(live) ? relabelled : []] as const),
    ...crds.filter((live) => wanted.has(objectId(keyOf(live)))).map((live) => [live, []] as const),
    ...owned.filter((live) => isMadeFor(live, formerUid)).map((live) => [live, renamed] as const),
  ];
  const settled = await Promise.allSettled(
    work.map(([live, more]) => takeOver(live, { ...succession, more }, signal)),
  );
  for (const result of settled) if (result.status === "rejected") throw result.reason;
  const present = new Set(labelled.map((live) => objectId(keyOf(live))));
  const more = anchorMarks(succession, (entry) => !isJob(entry) || present.has(objectId(entry)));
  await takeOver(succession.anchor, { ...succession, more }, signal);
  // Nothing depends on it: every object has the anchor or the component as its owner.
  const seconds = second.filter((live) => isMadeFor(live, formerUid));
  await Promise.all(
    seconds.map(({ metadata: { name, uid: id } }) =>
      target.client.remove({ resource: clusterRoles, name }, { uid: id }, signal),
    ),
  );
  return labelled.length;
}

async function listed(
  { target: { client } }: Succession,
  ref: { readonly resource: ResourceType; readonly labelSelector?: string },
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { items } = await client.list(ref, { metadataOnly: true }, signal);
  const { apiVersion, kind } = ref.resource;
  return items.map((item) => ({ ...item, apiVersion, kind }));
}

function isMadeFor({ metadata: { annotations = {} } }: KubeObject, uid: string): boolean {
  return annotations[anchorAnnotations.componentUid] === uid;
}

/** Our marks, and an inventory in which nothing that can be sent counts as sent. A Job that is finished and gone must not run again. */
function anchorMarks(
  { component, target, anchor }: Succession,
  canBeSent: (entry: InventoryEntry) => boolean,
): readonly object[] {
  const marks = [
    setAt("annotations", anchorAnnotations.componentUid, component.metadata.uid),
    setAt("annotations", anchorAnnotations.hubId, target.hubId),
  ];
  const inventory = decodeInventory(inventoryTextOf(anchor));
  if (inventory === undefined || anchor["immutable"] === true) return marks;
  const entries = inventory.entries.map((entry) =>
    canBeSent(entry) ? { ...entry, hash: "" } : entry,
  );
  const value = encodeInventory({ ...inventory, complete: false, entries });
  return [...marks, { op: "add", path: "/data/inventory", value }];
}

function takeOver(
  live: KubeObject,
  { target, desired, formerManager, more }: Succession & { readonly more: readonly object[] },
  signal: AbortSignal,
): Promise<void> {
  const { client, fieldManager } = target;
  const operationsFor = (now: KubeObject): readonly object[] | undefined => {
    const patch = ownPatch(now, fieldManager, formerManager);
    if (patch === undefined && more.length === 0) return undefined;
    return [...(patch ?? preconditions(now)), ...more];
  };
  return patchLive(live, { client, fieldManager, desired, operationsFor }, signal);
}
