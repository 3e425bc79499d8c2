import { ApiError } from "../../../access/kube/api-error.ts";
import type { CollectionRef } from "../../../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../../../api/component.ts";
import { kindId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import type { ResourceType } from "../../../api/resources.ts";
import {
  anchorAnnotations,
  componentSelector,
  componentUidLabel,
} from "../../../installation/anchor.ts";
import type { Desired } from "../../../installation/desired.ts";
import { builtInReleaseKinds, customReleaseKinds } from "../../../installation/kinds.ts";
import type { Target } from "../../target/target.ts";
import type { Anchor } from "../anchor/anchor.ts";
import { isOfLibrary, ownNotes } from "./take-over.ts";

interface Place {
  readonly component: Component;
  readonly target: Target;
  readonly desired: Desired;
}

/**
 * Whether upstream's operator may have installed the component, so that its objects have to be searched. On another cluster it left an anchor without
 * our markers. On the hub itself it wrote a status, and we have no anchor with our markers. Also true while an adoption is unfinished.
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

/** The marks of upstream's objects of a component: their label, and the uid of the controlling owner of namespaced objects. */
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
 * Everything on a cluster that upstream's operator wrote for this component, as metadata, with one list a kind. Such objects have the component's
 * label and upstream's field manager; namespaced ones have our owner or none.
 *
 * An object of an unfinished adoption counts while it still has upstream's annotations. These annotations on an object that neither operator wrote
 * belong to kubectl or Argo CD.
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

/** Everything on a cluster with the label of an installation, by the uid of its component. Without its anchor and second owner. */
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
 * Everything on a cluster that a label selects, as metadata, with one list a kind. Lists the kinds of the desired objects, and the kinds of which an
 * older release or another choice of parts may have left objects.
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
    // A kind that is not served has no objects. Objects that may not be read cannot have been written with these rights.
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return [];
    throw error;
  }
}

function kindsOf({ objects }: Desired): readonly ResourceType[] {
  const wanted = objects.map(({ resource }) => resource);
  const all = [...customReleaseKinds, ...builtInReleaseKinds, ...wanted];
  return [...new Map(all.map((resource) => [kindId(resource), resource])).values()];
}
