import {
  describe,
  identityOf,
  keyOf,
  type KubeObject,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { componentUidLabel } from "../../installation/anchor.ts";

/** A collection to delete in or to look into. */
export interface Place {
  readonly resource: ResourceType;
  readonly namespace?: string;
}

/** An object of the installation that is still there. */
export interface Remnant {
  readonly resource: ResourceType;
  readonly key: ObjectKey;
  readonly uid: string;
  readonly deleting: boolean;
  /** It lost the label that collection deletes go by. */
  readonly unlabelled: boolean;
  /** What it waits for while it is being deleted, as far as it is known. */
  readonly finalizers: readonly string[];
}

const namedRemnants = 5;

/** An object whose kind is known. */
export interface Kinded {
  readonly resource: ResourceType;
  readonly key: ObjectKey;
}

/** Each collection that some of the objects are in, once. */
export function placesOf(objects: readonly Kinded[]): readonly Place[] {
  return byPlace(objects).map(({ place }) => place);
}

/** A deletion of what our label selects in a place, but for what others delete at the same time. */
export interface PartOfPlace extends Place {
  /** Never a wider choice than the label's: it only leaves names out. */
  readonly fieldSelector?: string;
  /** The names that it leaves out; absent: none. */
  readonly others?: ReadonlySet<string>;
}

// A server deletes the objects of one request one after the other: 50 ClusterRoles take longer than all else of an installation together.
const mostInPart = 32;
// The selector is part of the URL, of which many a proxy takes 8 KiB and some less.
const longestSelector = 4_000;

/**
 * Deletions that together remove the objects, and what else carries the label where they are; large collections in parts of equal size, as long as what tells the parts
 * apart has room in a URL.
 */
export function partsOf(objects: readonly Kinded[]): readonly PartOfPlace[] {
  return byPlace(objects).flatMap(({ place, names }) => {
    const parts = partCountOf(names);
    if (parts === 1) return [place];
    return Array.from({ length: parts }, (_, part): PartOfPlace => {
      const others = names.filter((_name, at) => at % parts !== part);
      return { ...place, fieldSelector: others.map(isNot).join(","), others: new Set(others) };
    });
  });
}

function partCountOf(names: readonly string[]): number {
  const lengths = names.map((name) => lengthInUrl(`${isNot(name)},`));
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
function isNot(name: string): string {
  return `metadata.name!=${name.replaceAll(/[\\,=]/gu, String.raw`\$&`)}`;
}

interface Named {
  readonly place: Place;
  readonly names: string[];
}

function byPlace(objects: readonly Kinded[]): readonly Named[] {
  const places = new Map<string, Named>();
  for (const { resource, key } of objects) {
    const namespace = resource.namespaced ? key.namespace : undefined;
    const id = identityOf({
      ...resource,
      ...(namespace === undefined ? {} : { namespace }),
      name: "",
    });
    const known = places.get(id);
    const place = namespace === undefined ? { resource } : { resource, namespace };
    if (known === undefined) places.set(id, { place, names: [key.name] });
    else known.names.push(key.name);
  }
  return [...places.values()];
}

/** What a list of a place showed, as remnants. */
export function remnantOf(object: KubeObject, resource: ResourceType): Remnant {
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

/** What is left, for a condition: sorted, the first five by name with the finalizers that hold them, the rest as a number; and what refuses the deletion. */
export function leftMessage(
  remnants: readonly Pick<Remnant, "key" | "finalizers">[],
  obstacle?: string,
): string {
  const names = remnants.map(nameOf).toSorted();
  const more = names.length - namedRemnants;
  const list = names.slice(0, namedRemnants).join(", ");
  const why = obstacle === undefined ? "" : `: ${obstacle}`;
  return `Waiting for the deletion of ${list}${more > 0 ? ` and ${more} more` : ""}${why}`;
}

function nameOf({ key, finalizers }: Pick<Remnant, "key" | "finalizers">): string {
  if (finalizers.length === 0) return describe(key);
  return `${describe(key)} (finalizer ${finalizers.toSorted().join(", ")})`;
}
