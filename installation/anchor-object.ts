import type { ClusterProfileRef, Component } from "../api/component.ts";
import { pulledAnnotations } from "../api/delivery.ts";
import { FleetError } from "../api/errors.ts";
import { isContained, isRecord } from "../api/fields.ts";
import {
  describe,
  type KubeObject,
  type Manifest,
  type ObjectKey,
  type OwnerReference,
} from "../api/kubernetes.ts";
import {
  anchorAnnotations,
  anchorLabels,
  anchorNameOf,
  managedByValue,
  nameLabelOf,
} from "./anchor.ts";

/** Where an installation is. */
export interface InstallationPlace {
  /** Absent: the hub itself. */
  readonly profile?: ClusterProfileRef;
  /** Where the component is installed; see installation-namespace.ts. */
  readonly namespace: string;
  /** UID of the hub's kube-system namespace. */
  readonly hubId: string;
}

/** The component that owns an anchor, and the place of the anchor. */
export interface AnchorOwner {
  readonly component: Component;
  readonly target: InstallationPlace;
}

const inventoryField = "inventory";
const longestName = 253;

/** Key of the ConfigMap that is the anchor of an installation. Throws `ManifestInvalid` for a name that is too long. */
export function anchorKey({ component, target }: AnchorOwner): ObjectKey & { namespace: string } {
  const name = anchorNameOf({ kind: component.kind, name: component.metadata.name });
  if (name.length > longestName) {
    const message = `The anchor ConfigMap name ${name} exceeds ${longestName} characters; shorten the name of the component`;
    throw new FleetError("ManifestInvalid", message);
  }
  return { apiVersion: "v1", kind: "ConfigMap", namespace: target.namespace, name };
}

/**
 * The anchor as it should be: the protected anchor that owns a remote installation, or on the hub itself a ConfigMap of the component's own. Spec:
 * knative-operator.md 5.4, anchor-guard.md 2.
 */
export function anchorManifest(owner: AnchorOwner, inventory: string): Manifest {
  const { component, target } = owner;
  const { apiVersion, kind, namespace, name } = anchorKey(owner);
  const { uid, name: componentName } = component.metadata;
  const nameLabel = nameLabelOf(componentName);
  const isAnchor = target.profile !== undefined;
  const metadata = {
    namespace,
    name,
    labels: {
      [anchorLabels.managedBy]: managedByValue,
      [anchorLabels.componentName]: nameLabel,
    },
    annotations: {
      ...(isAnchor ? protection(component) : {}),
      ...(nameLabel === componentName ? {} : { [anchorAnnotations.componentName]: componentName }),
      [anchorAnnotations.componentUid]: uid,
      [anchorAnnotations.hubId]: target.hubId,
      ...(isAnchor ? {} : pulledMarks(component)),
    },
    ...(isAnchor ? {} : { ownerReferences: [componentReference(component)] }),
  };
  return { apiVersion, kind, metadata, data: { [inventoryField]: inventory } };
}

/** The annotations by which the hub recognizes its component when it takes the installation over. */
function pulledMarks({ metadata }: Component): Readonly<Record<string, string>> {
  const { annotations = {} } = metadata;
  const names = [pulledAnnotations.hubId, pulledAnnotations.hubComponentUid];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = annotations[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** The anchor of an installation that this controller manages no more; the next regular anchor takes the mark back. */
export function letGoManifest(live: Manifest, owner: AnchorOwner): Manifest {
  const manifest = anchorManifestOver(live, owner, inventoryTextOf(live));
  const annotations = { ...manifest.metadata.annotations, [anchorAnnotations.letGo]: "true" };
  return { ...manifest, metadata: { ...manifest.metadata, annotations } };
}

/**
 * The anchor with another inventory, for an apply over the present anchor. The data of an immutable ConfigMap can never be written again, but its
 * metadata can: the inventory then goes into an annotation. Spec: anchor-guard.md 8.
 */
export function anchorManifestOver(
  live: Manifest,
  owner: AnchorOwner,
  inventory: string,
): Manifest {
  const manifest = anchorManifest(owner, inventory);
  if (live["immutable"] !== true) return manifest;
  const { data: _, ...rest } = manifest;
  const stored = storedTextOf(live);
  const annotations = {
    ...manifest.metadata.annotations,
    [anchorAnnotations.inventory]: inventory,
  };
  return {
    ...rest,
    metadata: { ...manifest.metadata, annotations },
    ...(stored === undefined ? {} : { data: { [inventoryField]: stored } }),
  };
}

/** Text of the inventory in an anchor; empty when there is none. */
export function inventoryTextOf(object: Manifest): string {
  const noted = object.metadata.annotations?.[anchorAnnotations.inventory];
  const isFrozen = object["immutable"] === true && noted !== undefined;
  return (isFrozen ? noted : storedTextOf(object)) ?? "";
}

function storedTextOf({ data }: Manifest & { readonly data?: unknown }): string | undefined {
  const text = isRecord(data) ? data[inventoryField] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** Whether an anchor carries all labels and annotations that it should. */
export function isMarked(object: Manifest, owner: AnchorOwner): boolean {
  const { labels, annotations, ownerReferences = [] } = anchorManifest(owner, "").metadata;
  const { metadata } = object;
  return (
    isContained(labels ?? {}, metadata.labels ?? {}) &&
    isContained(annotations ?? {}, metadata.annotations ?? {}) &&
    metadata.annotations?.[anchorAnnotations.letGo] === undefined &&
    ownerReferences.every(({ uid }) => metadata.ownerReferences?.some((own) => own.uid === uid)) &&
    !isHeld(object, owner)
  );
}

/**
 * Whether another writer added owners or finalizers to an anchor. The garbage collector could delete an anchor with an owner. A finalizer would keep
 * the anchor for ever. Spec: anchor-guard.md 6.1.
 */
export function isHeld({ metadata }: Manifest, { target }: Pick<AnchorOwner, "target">): boolean {
  const owners = metadata.ownerReferences?.length ?? 0;
  return target.profile !== undefined && owners + (metadata.finalizers?.length ?? 0) > 0;
}

/** Whether an anchor is about to vanish: it is being deleted, or it has an owner, with which the garbage collector would delete it. Spec: anchor-guard.md 6.1. */
export function isEndangered(
  { metadata }: Manifest,
  { target }: Pick<AnchorOwner, "target">,
): boolean {
  const owners = target.profile === undefined ? [] : (metadata.ownerReferences ?? []);
  return metadata.deletionTimestamp !== undefined || owners.length > 0;
}

type Judge = AnchorOwner & { readonly target: { readonly fieldManager: string } };

/**
 * Refuses an anchor that belongs to another hub or component (`AnchorConflict`). Upstream's anchor names neither and is recognized by the name of its
 * component. Our anchor without any marks is recognized by its fields, which this hub wrote.
 */
export function assertOurs(object: KubeObject, owner: Judge): void {
  const problem = strangenessOf(object, owner);
  if (problem === undefined) return;
  throw new FleetError("AnchorConflict", `${describe(keyOfAnchor(object))} ${problem}`);
}

/** Why an anchor is not the component's, as the end of a sentence; undefined where it is. */
export function strangenessOf(
  object: KubeObject,
  { component, target }: Judge,
): string | undefined {
  const { labels = {}, annotations = {} } = object.metadata;
  const hub = annotations[anchorAnnotations.hubId];
  const uid = annotations[anchorAnnotations.componentUid];
  const name = labels[anchorLabels.componentName];
  if (hub !== undefined && hub !== target.hubId) return "belongs to another hub";
  if (uid !== undefined && uid !== component.metadata.uid) {
    return "belongs to another component of this name";
  }
  const isNamed = name === nameLabelOf(component.metadata.name);
  if (hub !== undefined || uid !== undefined || isNamed) return undefined;
  if (name === undefined && isWrittenBy(target.fieldManager, object)) return undefined;
  return "exists and is not an anchor of this component";
}

/**
 * Refuses, with `AnchorConflict`, an anchor of upstream's operator when there is no proof that this operator installed this component. The operator
 * of another hub may have left the anchor for a component of the same name. An anchor that we have written to is ours.
 */
export function assertTakenUp(object: KubeObject, { component, target }: Judge): void {
  const { annotations = {} } = object.metadata;
  const isClaimed = [anchorAnnotations.hubId, anchorAnnotations.componentUid].some(
    (name) => annotations[name] !== undefined,
  );
  const isInstalled = (component.status?.manifests ?? []).length > 0;
  if (isClaimed || isInstalled || isWrittenBy(target.fieldManager, object)) return;
  const problem = "was made by another operator, and nothing says that it was for this component";
  throw new FleetError("AnchorConflict", `${describe(keyOfAnchor(object))} ${problem}`);
}

function isWrittenBy(wanted: string, { metadata }: KubeObject): boolean {
  return metadata.managedFields?.some(({ manager }) => manager === wanted) ?? false;
}

/** The owner of everything in the installation's namespace. Spec: knative-operator.md 3.13. */
export function ownerOf(anchor: KubeObject, { component, target }: AnchorOwner): OwnerReference {
  if (target.profile === undefined) return componentReference(component);
  const { name, uid } = anchor.metadata;
  return { apiVersion: "v1", kind: "ConfigMap", name, uid, ...ownership };
}

const ownership = { controller: true, blockOwnerDeletion: true } as const;

function componentReference({ apiVersion, kind, metadata }: Component): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, ...ownership };
}

function protection({ kind, metadata }: Component): Readonly<Record<string, string>> {
  return {
    [anchorAnnotations.anchor]: "true",
    [anchorAnnotations.protected]: "true",
    [anchorAnnotations.description]:
      `Owns everything that ${kind} ${metadata.namespace}/${metadata.name} installed in this namespace; ` +
      `deleting it deletes all of that. To uninstall, delete the ${kind} on the hub.`,
  };
}

function keyOfAnchor({ metadata }: KubeObject): { kind: string; namespace?: string; name: string } {
  const { namespace, name } = metadata;
  return { kind: "ConfigMap", ...(namespace === undefined ? {} : { namespace }), name };
}
