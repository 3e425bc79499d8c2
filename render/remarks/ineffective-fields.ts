import { setImmediate } from "node:timers/promises";

import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { below } from "../../api/field-path.ts";
import { isRecord, isSameJson } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";

/** Renders the objects of a release with a spec; throws FleetError for a spec that cannot be rendered. */
export type Rendering = (component: Component) => readonly (Manifest | undefined)[];

type Place = readonly (string | number)[];

/** These choose what is rendered. */
const choosing = new Set([
  "version",
  "manifests",
  "additionalManifests",
  "clusterProfileRef",
  "patches",
]);

export interface IneffectiveOptions {
  readonly rendering: Rendering;
  /** What it renders of the component. */
  readonly usual: ReturnType<Rendering>;
  /** Whether the user knows of a field already. */
  readonly isTold: (path: string) => boolean;
  /** How many values are tried; absent: all. One value costs a rendering. */
  readonly maxValues?: number | undefined;
  /** Ends the trials. */
  readonly signal?: AbortSignal | undefined;
}

export interface Ineffective {
  readonly paths: readonly string[];
  /** How many values were not tried. */
  readonly untried: number;
}

/**
 * The fields of a spec that change nothing. A field is one of them when the release renders equally with another value in its place; no list of such fields is needed.
 */
export async function ineffectiveFields(
  component: Component,
  { rendering, usual, isTold, maxValues, signal }: IneffectiveOptions,
): Promise<Ineffective> {
  const spec = Object.fromEntries(
    Object.entries(component.spec ?? {}).filter(([field]) => !choosing.has(field)),
  );
  const places = placesIn(spec, []).filter((place) => !isTold(below("spec", ...place)));
  const idle = new Set<string>();
  let tried = 0;
  for (const place of places.slice(0, maxValues)) {
    // Lets other work go on.
    await setImmediate();
    if (signal?.aborted === true) break;
    tried += 1;
    if (!hasEffect(changedAt(component, place), usual, rendering)) {
      idle.add(below("spec", ...place));
    }
  }
  return {
    paths: highest(spec, ["spec"], idle).toSorted(),
    untried: places.length - tried,
  };
}

function hasEffect(other: Component, usual: ReturnType<Rendering>, rendering: Rendering): boolean {
  try {
    const now = rendering(other);
    return now.some(
      (object, index) => object !== usual[index] && !isSameJson(object, usual[index]),
    );
  } catch (error) {
    // Rendering looks at the value.
    if (error instanceof FleetError) return true;
    throw error;
  }
}

/** The places of all single values. Addresses such as the name of a workload are no settings. */
function placesIn(value: unknown, place: Place): readonly Place[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown, index) => placesIn(item, [...place, index]));
  }
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([field, one]) =>
      isAddress(field, value, place) ? [] : placesIn(one, [...place, field]),
    );
  }
  const isNothing = value === undefined || value === null || value === "";
  return isNothing || place.at(-1) === switchField ? [] : [place];
}

/** Chooses parts of the release, and is tried with no other value. */
const switchField = "enabled";

function holdsSwitch(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return Object.hasOwn(value, switchField) || Object.values(value).some(holdsSwitch);
}

/** The name of an entry of a list of the spec, or of the container that settings are for. */
function isAddress(field: string, entry: object, place: Place): boolean {
  if (field === "container") return Object.keys(entry).length > 1;
  return field === "name" && place.length === 2 && typeof place[1] === "number";
}

/** The component with another value at a place of its spec. */
function changedAt(component: Component, place: Place): Component {
  const copy = structuredClone(component);
  const last = place.at(-1) ?? "";
  let holder: unknown = copy.spec;
  for (const part of place.slice(0, -1)) holder = fieldOf(holder, part);
  if (typeof holder === "object" && holder !== null) {
    Reflect.set(holder, last, otherThan(fieldOf(holder, last)));
  }
  return copy;
}

function fieldOf(holder: unknown, part: string | number): unknown {
  return typeof holder === "object" && holder !== null ? Reflect.get(holder, part) : undefined;
}

function otherThan(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  return `${String(value)}x`;
}

/** Paths of the largest parts in which nothing has an effect. Entries of lists are told field by field. */
function highest(value: unknown, place: Place, idle: ReadonlySet<string>): readonly string[] {
  const own = placesIn(value, place.slice(1)).map((one) => below("spec", ...one));
  if (own.length === 0) return [];
  if (isOnePart(value, place) && own.every((one) => idle.has(one))) return [below("", ...place)];
  return partsOf(value, place.slice(1)).flatMap(([part, one]) =>
    highest(one, [...place, part], idle),
  );
}

function partsOf(value: unknown, place: Place): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [index, item] as const);
  return isRecord(value)
    ? Object.entries(value).filter(([field]) => !isAddress(field, value, place))
    : [];
}

/** False for the spec, for entries with an address and their lists, and for what holds a switch. */
function isOnePart(value: unknown, place: Place): boolean {
  if (place.length === 1 || holdsSwitch(value)) return false;
  if (!Array.isArray(value)) return !hasAddress(value, place);
  return place.length > 2 && !value.some((item) => hasAddress(item, [...place, 0]));
}

function hasAddress(entry: unknown, place: Place): boolean {
  if (!isRecord(entry)) return false;
  return Object.keys(entry).some((field) => isAddress(field, entry, place.slice(1)));
}
