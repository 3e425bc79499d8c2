import { objectId, versionedKindId } from "../api/keys.ts";
import { keyOf, type Manifest, type ObjectKey, type OwnerReference } from "../api/kubernetes.ts";
import { resourceFinder, type ResourceType } from "../api/resources.ts";
import { hashOf } from "../render/fields.ts";
import { withOwners } from "../render/namespace.ts";
import type { Rendered } from "../render/release/releases.ts";
import { componentUidLabel, definitionLabel, guardLabels } from "./anchor.ts";
import type { InventoryEntry } from "./inventory.ts";
import { foreignKindFinder } from "./kinds.ts";
import { stripManifests } from "./strip-manifests.ts";

/** An object of the desired set. It is equal for all clusters with this set. */
export interface DesiredObject {
  readonly key: ObjectKey;
  /** `objectId(key)`. */
  readonly id: string;
  readonly resource: ResourceType;
  /** Without the parts that differ from cluster to cluster; see `bodyOf`. */
  readonly manifest: Manifest;
  /** Changes exactly when the request body changes. For a kept object: the hash of the body that was sent before. */
  readonly hash: string;
  /** For a kept object: the hash of the body that a repair sends; see kept.ts. */
  readonly sentHash?: string;
}

/** The objects that a rendered component needs on a cluster. */
export interface Desired {
  readonly version: string;
  /** To be created when missing and never to be changed; not part of `objects`. */
  readonly namespaces: readonly Manifest[];
  readonly objects: readonly DesiredObject[];
  /** Objects that stay although they are not desired any more; absent: none, see kept.ts. */
  readonly kept?: readonly InventoryEntry[];
  /**
   * One object of each kind whose resource and scope are guessed, because neither a CRD of the set nor a table of this program defines them.
   */
  readonly guessed: readonly ObjectKey[];
  readonly resourceOf: (object: Pick<Manifest, "apiVersion" | "kind">) => ResourceType;
}

// Part of the hash. Raise it when `bodyOf` begins to send another body for an unchanged manifest.
const bodyFormat = 1;
const definitionFormat = 2;

const hashLength = 22;

/** Decides which parts of rendered objects are sent. Spec: engine-facts.md, Algorithm, "prepare". */
export function prepare({ version, manifests }: Pick<Rendered, "version" | "manifests">): Desired {
  const all = stripManifests(manifests);
  const resourceOf = resourceFinder(all);
  const objects = all
    .filter((manifest) => !isNamespace(manifest))
    .map((manifest) => desiredObject(manifest, resourceOf(manifest)));
  const isForeign = foreignKindFinder(all);
  const guessed = firstsOf(objects.filter(({ key }) => isForeign(key)));
  return { version, namespaces: all.filter(isNamespace), objects, guessed, resourceOf };
}

/**
 * The set with the objects of guessed kinds where the cluster serves them. `served`: by `versionedKindId`. Objects of cluster-scoped kinds then have no
 * namespace and no owner. The set itself when nothing changes.
 */
export function withServedKinds(
  desired: Desired,
  served: ReadonlyMap<string, ResourceType>,
): Desired {
  const kinds = new Map(
    desired.guessed.flatMap((key) => {
      const resource = served.get(versionedKindId(key));
      return resource === undefined ? [] : [[versionedKindId(key), resource] as const];
    }),
  );
  if (kinds.size === 0) return desired;
  const objects = desired.objects.map((object) => {
    const resource = kinds.get(versionedKindId(object.key));
    return resource === undefined
      ? object
      : desiredObject(fitNamespace(object.manifest, resource), resource);
  });
  const resourceOf: Desired["resourceOf"] = (kind) =>
    kinds.get(versionedKindId(kind)) ?? desired.resourceOf(kind);
  return { ...desired, objects, resourceOf };
}

function desiredObject(manifest: Manifest, resource: ResourceType): DesiredObject {
  const key = keyOf(manifest);
  const format = outlives(manifest) ? definitionFormat : bodyFormat;
  const hash = hashOf({ bodyFormat: format, manifest }).slice(0, hashLength);
  return { key, id: objectId(key), resource, manifest, hash };
}

function firstsOf(objects: readonly DesiredObject[]): readonly ObjectKey[] {
  const keys = objects.map(({ key }) => key).toReversed();
  return [...new Map(keys.map((key) => [versionedKindId(key), key])).values()];
}

function fitNamespace(manifest: Manifest, { namespaced }: ResourceType): Manifest {
  if (namespaced) return manifest;
  const { namespace: _, ...metadata } = manifest.metadata;
  return { ...manifest, metadata };
}

/** Keeps prepared sets as long as their renderings, so that equal components of a fleet share them. */
export class Preparations {
  readonly #byRendered = new WeakMap<Rendered, Desired>();

  of(rendered: Rendered): Desired {
    const known = this.#byRendered.get(rendered);
    if (known !== undefined) return known;
    const desired = prepare(rendered);
    this.#byRendered.set(rendered, desired);
    return desired;
  }
}

/** The parts of a request body that belong to one installation on one cluster. */
export interface Installation {
  readonly owner: OwnerReference;
  /** A second owner, where the cluster cannot protect the first. */
  readonly secondOwner?: OwnerReference;
  readonly namespace: string;
  readonly componentUid: string;
  /** Value of the label by which CRDs are guarded; absent: they are not. */
  readonly crdGuard?: string;
}

/** The body of a request: the manifest with its owner and the label by which the installation is found. */
export function bodyOf({ manifest }: DesiredObject, installation: Installation): Manifest {
  const { owner, secondOwner, namespace, componentUid, crdGuard } = installation;
  const result = withOwners(owner, namespace, secondOwner)(manifest);
  const [label, value] = outlives(manifest)
    ? [definitionLabel, "true"]
    : [componentUidLabel, componentUid];
  const isGuarded = outlives(manifest) && crdGuard !== undefined;
  const guarded: Readonly<Record<string, string>> = isGuarded
    ? { [guardLabels.crd]: crdGuard }
    : {};
  const labels = { ...result.metadata.labels, [label]: value, ...guarded };
  return { ...result, metadata: { ...result.metadata, labels } };
}

/** Whether objects of a kind stay when an installation goes; they do not carry its label, so that no selector matches them. */
export function outlives({ kind }: Pick<ObjectKey, "kind">): boolean {
  return kind === "CustomResourceDefinition" || kind === "Namespace";
}

function isNamespace({ apiVersion, kind }: Manifest): boolean {
  return apiVersion === "v1" && kind === "Namespace";
}
