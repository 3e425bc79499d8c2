import { ApiError } from "../../../access/kube/api-error.ts";
import type { CollectionRef } from "../../../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../../../api/component.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import type { ResourceType } from "../../../api/resources.ts";
import {
  anchorAnnotations,
  componentSelector,
  componentUidLabel,
} from "../../../installation/anchor.ts";
import type { Desired } from "../../../installation/desired.ts";
import { builtInReleaseKinds, customReleaseKinds, kindIdOf } from "../../../installation/kinds.ts";
import type { Target } from "../../target/target.ts";
import type { Anchor } from "../anchor/anchor.ts";
import { isOfLibrary, ownNotes } from "./take-over.ts";

interface Place {
  readonly component: Component;
  readonly target: Target;
  readonly desired: Desired;
}

/**
 * Whether upstream's operator may have installed the component, so that its objects have to be looked for: on another cluster it left an anchor
 * without our markers, on the hub itself it wrote a status and we have no anchor
 * with our markers. Also when an adoption was not finished.
 */
export function mayBeUpstreams(
  { component, target }: Pick<Place, "component" | "target">,
  before: Anchor | undefined,
): boolean {
  if (before?.inventory?.adopting === true) return true;
  const isMarked = before?.object.metadata.annotations?.[anchorAnnotations.hubId] !== undefined;
  // Upstream's anchor has no inventory.
  const isOurs = isMarked || before?.inventory !== undefined;
  const hasTraces =
    target.profile === undefined
      ? (component.status?.manifests ?? []).length > 0
      : before !== undefined;
  return hasTraces && !isOurs;
}

/** By what upstream's objects of a component are known: their label, and the uid of what controls those in a namespace. */
export function upstreamMarks(
  { component: { kind, metadata }, target }: Pick<Place, "component" | "target">,
  anchor: Anchor | undefined,
): { readonly labelSelector: string; readonly owner: string | undefined } {
  return {
    labelSelector: `app.kubernetes.io/name=${componentKinds[kind].label}`,
    owner: target.profile === undefined ? metadata.uid : anchor?.uid,
  };
}

/**
 * Everything on a cluster that upstream's operator wrote for this component, as metadata, with one list a kind: known by the
 * component's label, by upstream's field manager, and in a namespace by an owner that is ours or none. An object
 * of an unfinished adoption counts while it still has upstream's annotations. The same annotations on an object that neither operator wrote belong to
 * kubectl or Argo CD.
 */
export async function upstreamObjects(
  { component, target, desired }: Place,
  before: Anchor | undefined,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { labelSelector, owner } = upstreamMarks({ component, target }, before);
  const found = await selectedObjects(labelSelector, { target, desired }, signal);
  return found.filter((object) => {
    const { labels = {}, ownerReferences = [] } = object.metadata;
    const uid = labels[componentUidLabel];
    return (
      (isOfLibrary(object) || ownNotes(object, target.fieldManager) !== undefined) &&
      (uid === undefined || uid === component.metadata.uid) &&
      ownerReferences.every((reference) => reference.controller !== true || reference.uid === owner)
    );
  });
}

/**
 * Everything on a cluster with the label of an installation, by the uid of its component, without its anchor and second owner, which are no part of
 * what they own.
 */
export async function labelledObjects(
  uid: string,
  { target, desired }: Omit<Place, "component">,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const found = await selectedObjects(componentSelector(uid), { target, desired }, signal);
  return found.filter(
    ({ metadata }) => metadata.annotations?.[anchorAnnotations.componentUid] === undefined,
  );
}

/**
 * Everything on a cluster that a label selects, as metadata, with one list a kind: of the kinds of what is desired, and of those of which an
 * older release or another choice of parts may have left something.
 */
async function selectedObjects(
  labelSelector: string,
  { target, desired }: { readonly target: Target; readonly desired: Desired },
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const lists = kindsOf(desired).map((resource) =>
    listed({ resource, labelSelector }, target, signal),
  );
  return (await Promise.all(lists)).flat();
}

async function listed(
  ref: CollectionRef,
  { client }: Target,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(ref, { metadataOnly: true }, signal);
    const { apiVersion, kind } = ref.resource;
    return items.map((item) => ({ ...item, apiVersion, kind }));
  } catch (error) {
    // A kind that is not served has no objects, and what may not be read cannot have been written with these rights either.
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return [];
    throw error;
  }
}

function kindsOf({ objects }: Desired): readonly ResourceType[] {
  const wanted = objects.map(({ resource }) => resource);
  const all = [...customReleaseKinds, ...builtInReleaseKinds, ...wanted];
  return [...new Map(all.map((resource) => [kindIdOf(resource), resource])).values()];
}
