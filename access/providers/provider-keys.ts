import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

import { isRecord } from "../../api/fields.ts";
import { ContentError, type ProviderDocument } from "./provider-document.ts";
import { foldedKey, type KeySchema } from "./provider-schema.ts";

/** A value with the keys that a schema knows in their canonical case, and what was odd about the others. */
export interface CanonicalValue {
  readonly value: unknown;
  readonly warnings: readonly string[];
  /** Where a field stands, by a path such as `providers[0].name`; of the nearest part around it when it is absent. */
  readonly positionOf: (path: string) => string;
}

/**
 * Matches keys as Go does: in any case, later ones over earlier ones, objects and the elements of lists merged, null as if
 * absent, unless it stands for a rule. Unknown keys are left out with a warning. Throws ContentError. Spec: cluster-inventory.md 2.2, 11.
 */
export function canonicalKeys(source: ProviderDocument, schema: KeySchema): CanonicalValue {
  const reader = new KeyReader(new BoundedSource(source));
  const { contents } = source.document;
  const value = reader.read(contents, undefined, { shape: schema, path: "" });
  return { value, warnings: reader.warnings, positionOf: (path) => reader.positionOf(path) };
}

interface Place {
  readonly shape: KeySchema;
  readonly path: string;
}

// More than what the schema can ask for; an alias that holds itself ends here.
const maxPathLength = 256;
// A text has at most as many (provider-document.ts); aliases and merges can make more of them.
const maxParts = 20_000;
// What narrows a provider must not vanish, as when every entry of a list is commented out. Go knows none of these keys.
const narrowing = /^providers\[\d+\]\.(?:sha256|allowed[A-Z]\w*|requiredConfig(?:\..*)?)$/s;
// A key such as __proto__ is a key like any other.
const ordinary = { configurable: true, enumerable: true, writable: true } as const;

/** A document that is read no further than its budget goes: an anchor may hold others, and those more, and be used often. */
class BoundedSource {
  readonly merges: boolean;
  readonly positionOf: ProviderDocument["positionOf"];
  readonly #targets: ReadonlyMap<unknown, unknown>;
  #parts = 0;

  constructor({ document, merges, positionOf }: ProviderDocument) {
    this.merges = merges;
    this.positionOf = positionOf;
    this.#targets = targetsIn(document, positionOf);
  }

  /** The part itself, or what it stands for. */
  resolved(part: unknown): unknown {
    return isAlias(part) ? this.#targets.get(part) : part;
  }

  /** Says that parts are read. Throws ContentError when they are too many. */
  take(count: number, at: unknown): void {
    this.#parts += count;
    if (this.#parts <= maxParts) return;
    const position = this.positionOf(at);
    throw new ContentError(`it stands for more than ${maxParts} parts (${position})`);
  }
}

/**
 * What each alias stands for: the last node before it with its anchor. In one go: the parser looks through the document for each. Throws
 * ContentError when there is none, or a rule could vanish by a slip of the pen.
 */
function targetsIn(
  document: Document,
  positionOf: ProviderDocument["positionOf"],
): ReadonlyMap<unknown, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<unknown, unknown>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target === undefined) {
          throw new ContentError(`an alias has no anchor before it (${positionOf(node)})`);
        }
        targets.set(node, target);
      } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

class KeyReader {
  readonly warnings: string[] = [];
  readonly #source: BoundedSource;
  readonly #positions = new Map<string, string>();

  constructor(source: BoundedSource) {
    this.#source = source;
  }

  /** The value of a part of the document; `before` is what an earlier key of the same name had. */
  read(part: unknown, before: unknown, place: Place): unknown {
    if (place.path.length > maxPathLength) throw new ContentError("it is nested too deeply");
    const node = this.#source.resolved(part);
    this.#positions.set(place.path, this.#source.positionOf(node));
    if (isSeq(node)) return this.#list(node, before, place);
    if (isMap(node)) return this.#map(node, before, place);
    const scalar: unknown = isScalar(node) ? node.value : null;
    return typeof scalar === "string" ? scalar.toWellFormed() : scalar;
  }

  positionOf(path: string): string {
    const known = this.#positions.get(path);
    if (known !== undefined || path === "") return known ?? "line 1, column 1";
    return this.positionOf(path.replace(/(?:^|\.)[^.[]+$|\[\d+\]$/, ""));
  }

  #list(node: YAMLSeq, before: unknown, { shape, path }: Place): unknown {
    const { items } = shape;
    if (items === undefined) return [];
    this.#source.take(node.items.length, node);
    const earlier: readonly unknown[] = Array.isArray(before) ? before : [];
    return node.items.map((item, index) => {
      const known = earlier[index];
      // Go reads null as what was there, or as the zero value of the element.
      const zero = items.type === "object" ? {} : "";
      return this.read(item, known, { shape: items, path: `${path}[${index}]` }) ?? known ?? zero;
    });
  }

  #map(node: YAMLMap, before: unknown, place: Place): unknown {
    const result: Record<string, unknown> = isRecord(before) ? { ...before } : {};
    for (const pair of pairsOf(node, this.#source)) this.#take(pair, place, result);
    return result;
  }

  #take(pair: Pair, { shape, path }: Place, result: Record<string, unknown>): void {
    const key = isScalar(pair.key) ? String(pair.key.value) : "";
    const { properties = {}, additionalProperties } = shape;
    const found = Object.keys(properties).find((known) => foldedKey(known) === foldedKey(key));
    const known = found === undefined ? additionalProperties : properties[found];
    const above = path === "" ? "" : `${path}.`;
    const warn = (what: string): void => {
      const position = this.#source.positionOf(pair.key);
      this.warnings.push(`${above}${shown(key)} (${position}): ${what}`);
    };
    if (known === undefined) return warn("the key is not known and is ignored");
    const name = found ?? key;
    if (name !== key) warn(`the key should be written ${name}`);
    const inside = `${above}${name}`;
    const next = this.read(pair.value, result[name], { shape: known, path: inside });
    if (next !== null || narrowing.test(inside))
      Object.defineProperty(result, name, { value: next, ...ordinary });
    // Go: null takes back a list or an object, and leaves a text or a boolean as it was.
    else if (["object", "array"].includes(known.type)) Reflect.deleteProperty(result, name);
  }
}

/**
 * The entries of a map, after those that YAML merges into it: from one map or several, of which the first with a key wins, and
 * none that the map has itself.
 */
function pairsOf(
  map: YAMLMap,
  source: BoundedSource,
  room = { merges: maxMerges },
): readonly Pair[] {
  source.take(map.items.length, map);
  if (!source.merges) return map.items;
  room.merges -= 1;
  // Anchors that hold themselves, or each other many times.
  if (room.merges < 0) throw new ContentError("it merges too much");
  const own = map.items.filter((pair) => !isMerge(pair));
  const taken = new Set(own.map(nameOf));
  const merged = map.items.filter(isMerge).flatMap(({ value }) => {
    const given = source.resolved(value);
    const targets = isSeq(given) ? given.items.map((item) => source.resolved(item)) : [given];
    return targets.flatMap((target) => (isMap(target) ? pairsOf(target, source, room) : []));
  });
  const fresh = merged.filter((pair) => {
    const name = nameOf(pair);
    if (taken.has(name)) return false;
    taken.add(name);
    return true;
  });
  return [...fresh, ...own];
}

function isMerge({ key }: Pair): boolean {
  return isScalar(key) && key.source === "<<";
}

const maxMerges = 256;

function nameOf({ key }: Pair): string {
  return isScalar(key) ? foldedKey(String(key.value)) : "";
}

/** A key for a message: only what looks like one, since any text may stand where a key should. */
function shown(key: string): string {
  return /^[\w.-]{1,64}$/.test(key) ? key : "(a key)";
}
