import { objectId } from "../../api/keys.ts";
import {
  describe,
  keyOf,
  type KubeObject,
  type ObjectKey,
  nameFirst,
} from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { componentUidLabel } from "../../installation/anchor.ts";

/** The objects of a resource type, in one namespace or in all. */
export interface Collection {
  readonly resource: ResourceType;
  readonly namespace?: string;
}

/** An object of the installation that is still there. */
export interface Remnant {
  readonly resource: ResourceType;
  readonly key: ObjectKey;
  readonly uid: string;
  readonly deleting: boolean;
  /** It lacks the label that selects the objects of a collection delete. */
  readonly unlabelled: boolean;
  /** Finalizers that hold it while it is being deleted, as far as a watch has shown them. */
  readonly finalizers: readonly string[];
}

const namedRemnants = 5;

/** An object and the resource type under which its cluster serves it. */
export interface ServedObject {
  readonly resource: ResourceType;
  readonly key: ObjectKey;
}

/** The collections that contain the objects, each once. */
export function collectionsOf(objects: readonly ServedObject[]): readonly Collection[] {
  return groupByCollection(objects).map(({ collection }) => collection);
}

/** The part of a collection that one request deletes, of what our label selects. */
export interface CollectionPart extends Collection {
  /** Excludes the names of the other parts. */
  readonly fieldSelector?: string;
  /** The names that the selector excludes; absent: none. */
  readonly others?: ReadonlySet<string>;
}

// A server deletes the objects of one request one after the other. 50 ClusterRoles would take longer than the rest of an installation.
const mostInPart = 32;
// The selector is part of the URL. Many proxies accept 8 KiB, some less.
const longestSelector = 4_000;

/** The collections of the objects, as deletions. A large collection is divided into parts of equal size, as far as their field selectors fit into a URL. */
export function collectionParts(objects: readonly ServedObject[]): readonly CollectionPart[] {
  return groupByCollection(objects).flatMap(({ collection, names }) => {
    const parts = partCountOf(names);
    if (parts === 1) return [collection];
    return Array.from({ length: parts }, (_, part): CollectionPart => {
      const others = names.filter((_name, at) => at % parts !== part);
      return {
        ...collection,
        fieldSelector: others.map(exceptName).join(","),
        others: new Set(others),
      };
    });
  });
}

function partCountOf(names: readonly string[]): number {
  const lengths = names.map((name) => lengthInUrl(`${exceptName(name)},`));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  for (let parts = Math.ceil(names.length / mostInPart); parts > 1; parts -= 1) {
    const own = Array.from({ length: parts }, () => 0);
    for (const [at, length] of lengths.entries()) own[at % parts] = (own[at % parts] ?? 0) + length;
    if (total - Math.min(...own) <= longestSelector) return parts;
  }
  return 1;
}

function lengthInUrl(text: string): number {
  return new URLSearchParams([["", text]]).toString().length - "=".length;
}

/** Spec: field selectors escape a backslash, a comma and an equals sign by a backslash. */
function exceptName(name: string): string {
  return `metadata.name!=${name.replaceAll(/[\\,=]/gu, String.raw`\$&`)}`;
}

interface NamedCollection {
  readonly collection: Collection;
  readonly names: string[];
}

function groupByCollection(objects: readonly ServedObject[]): readonly NamedCollection[] {
  const collections = new Map<string, NamedCollection>();
  for (const { resource, key } of objects) {
    const namespace = resource.namespaced ? key.namespace : undefined;
    const id = objectId({
      ...resource,
      ...(namespace === undefined ? {} : { namespace }),
      name: "",
    });
    const existing = collections.get(id);
    const collection = namespace === undefined ? { resource } : { resource, namespace };
    if (existing === undefined) collections.set(id, { collection, names: [key.name] });
    else existing.names.push(key.name);
  }
  return [...collections.values()];
}

export interface ListedObject {
  readonly object: KubeObject;
  readonly resource: ResourceType;
}

/** A listed object as a remnant. */
export function remnantOf({ object, resource }: ListedObject): Remnant {
  const { uid, deletionTimestamp, labels = {}, finalizers = [] } = object.metadata;
  return {
    resource,
    key: keyOf(object),
    uid,
    deleting: deletionTimestamp !== undefined,
    unlabelled: labels[componentUidLabel] === undefined,
    finalizers,
  };
}

/** The message of a condition: the first five remnants in the order of names, with their finalizers, the number of the others, and what refuses the deletion. */
export function remnantsMessage(
  remnants: readonly Pick<Remnant, "key" | "finalizers">[],
  obstacle?: string,
): string {
  const names = remnants.map(remnantText).toSorted();
  const list = nameFirst(names, namedRemnants);
  const why = obstacle === undefined ? "" : `: ${obstacle}`;
  return `Waiting for the deletion of ${list}${why}`;
}

function remnantText({ key, finalizers }: Pick<Remnant, "key" | "finalizers">): string {
  if (finalizers.length === 0) return describe(key);
  return `${describe(key)} (finalizer ${finalizers.toSorted().join(", ")})`;
}
