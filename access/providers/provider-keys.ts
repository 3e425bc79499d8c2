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

/** A value whose known keys have the case that the schema gives them. */
export interface CanonicalValue {
  readonly value: unknown;
  /** One for each key that is unknown or has another case. */
  readonly warnings: readonly string[];
  /** The position of a field by its path, such as `providers[0].name`; that of the nearest parent when the field is absent. */
  readonly positionOf: (path: string) => string;
}

/**
 * Matches keys as Go does. The case of a key does not matter. A later key overrides an earlier one, and their objects and list elements are merged. Null
 * counts as absent, except for keys that restrict a provider. Unknown keys are dropped with a warning. Throws ContentError. Spec: cluster-inventory.md 2.2, 11.
 */
export function canonicalKeys(source: ProviderDocument, schema: KeySchema): CanonicalValue {
  const reader = new KeyReader(new BoundedSource(source));
  const { contents } = source.document;
  const value = reader.read(contents, undefined, { shape: schema, path: "" });
  return { value, warnings: reader.warnings, positionOf: (path) => reader.positionOf(path) };
}

interface Location {
  readonly shape: KeySchema;
  readonly path: string;
}

// Longer than every path of the schema. Stops at an alias that contains itself.
const maxPathLength = 256;
// The same limit as for the text (provider-document.ts), after aliases and merges are expanded.
const maxParts = 20_000;
// Keys that restrict a provider, which Go does not know. Null must not remove such a rule, for example when every entry of its list is commented out.
const restricting = /^providers\[\d+\]\.(?:sha256|allowed[A-Z]\w*|requiredConfig(?:\..*)?)$/s;
// Defines keys such as __proto__ as ordinary properties.
const ordinary = { configurable: true, enumerable: true, writable: true } as const;

/** Limits how many parts of a document are read, because nested aliases can expand to any number of parts. */
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

  /** The target of an alias; every other part itself. */
  resolved(part: unknown): unknown {
    return isAlias(part) ? this.#targets.get(part) : part;
  }

  /** Counts parts. Throws ContentError when the document has too many. */
  take(count: number, at: unknown): void {
    this.#parts += count;
    if (this.#parts <= maxParts) return;
    const position = this.positionOf(at);
    throw new ContentError(`it stands for more than ${maxParts} parts (${position})`);
  }
}

/**
 * The target of each alias: the last node before it with its anchor. Found in one pass, because the parser would search the document for each
 * alias. Throws ContentError for an alias without a target, so that a typing error cannot remove a rule.
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

  /** The value of a part of the document. `before` is the value of an earlier key with the same name. */
  read(part: unknown, before: unknown, location: Location): unknown {
    if (location.path.length > maxPathLength) throw new ContentError("it is nested too deeply");
    const node = this.#source.resolved(part);
    this.#positions.set(location.path, this.#source.positionOf(node));
    if (isSeq(node)) return this.#list(node, before, location);
    if (isMap(node)) return this.#map(node, before, location);
    const scalar: unknown = isScalar(node) ? node.value : null;
    return typeof scalar === "string" ? scalar.toWellFormed() : scalar;
  }

  positionOf(path: string): string {
    const known = this.#positions.get(path);
    if (known !== undefined || path === "") return known ?? "line 1, column 1";
    return this.positionOf(path.replace(/(?:^|\.)[^.[]+$|\[\d+\]$/, ""));
  }

  #list(node: YAMLSeq, before: unknown, { shape, path }: Location): unknown {
    const { items } = shape;
    if (items === undefined) return [];
    this.#source.take(node.items.length, node);
    const earlier: readonly unknown[] = Array.isArray(before) ? before : [];
    return node.items.map((item, index) => {
      const known = earlier[index];
      // In Go, null keeps the earlier element, or gives the zero value.
      const zero = items.type === "object" ? {} : "";
      return this.read(item, known, { shape: items, path: `${path}[${index}]` }) ?? known ?? zero;
    });
  }

  #map(node: YAMLMap, before: unknown, location: Location): unknown {
    const result: Record<string, unknown> = isRecord(before) ? { ...before } : {};
    for (const pair of pairsOf(node, this.#source)) this.#take(pair, location, result);
    return result;
  }

  #take(pair: Pair, { shape, path }: Location, result: Record<string, unknown>): void {
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
    if (next !== null || restricting.test(inside))
      Object.defineProperty(result, name, { value: next, ...ordinary });
    // In Go, null removes an earlier list or object, and keeps an earlier string or boolean.
    else if (["object", "array"].includes(known.type)) Reflect.deleteProperty(result, name);
  }
}

/**
 * The merged entries of a map (`<<`) and then its own. Of several merged maps the first with a key wins, and the map's own keys win over
 * all of them.
 */
function pairsOf(
  map: YAMLMap,
  source: BoundedSource,
  room = { merges: maxMerges },
): readonly Pair[] {
  source.take(map.items.length, map);
  if (!source.merges) return map.items;
  room.merges -= 1;
  // Stops at anchors that merge themselves, or each other many times.
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

/** A key for a message. Other text is not quoted, because it may be a secret. */
function shown(key: string): string {
  return /^[\w.-]{1,64}$/.test(key) ? key : "(a key)";
}
