export type Fields = Readonly<Record<string, unknown>>;

/** The value of a JSON text; undefined for any other text. The parser's error is dropped, because it quotes the text, which may hold a secret. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object at a path of keys; an empty object when there is none. */
export function recordAt(value: unknown, ...keys: readonly string[]): Fields {
  let found = value;
  for (const key of keys) found = fieldsOf(found)[key];
  return fieldsOf(found);
}

/** The list at a key; empty when there is none. */
export function listAt(value: Fields, key: string): readonly unknown[] {
  const found = value[key];
  return Array.isArray(found) ? found : [];
}

/** The string at a key; undefined when there is none. */
export function textAt(value: Fields, key: string): string | undefined {
  const found = value[key];
  return typeof found === "string" ? found : undefined;
}

/** The entries of a map whose values are texts. */
export function textsOf(map: unknown): readonly (readonly [string, string])[] {
  if (!isRecord(map)) return [];
  return Object.entries(map).flatMap(([key, value]) =>
    typeof value === "string" ? [[key, value] as const] : [],
  );
}

/** True for equal JSON values. The order of keys does not matter. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, at) => isSameJson(entry, other[at]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
}

/** Whether a JSON value has each field of another. Lists must have equal lengths. A server may drop an empty list. */
export function isContained(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part)) {
    if (part.length === 0 && whole === undefined) return true;
    if (!Array.isArray(whole) || whole.length !== part.length) return false;
    return part.every((entry, at) => isContained(entry, whole[at]));
  }
  if (!isRecord(part)) return part === whole;
  if (!isRecord(whole)) return false;
  return Object.entries(part).every(([key, value]) => isContained(value, whole[key]));
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for a list of objects. */
export function areRecords(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every(isRecord);
}

/** Compares by a text of each value, by code units and not by language. For `toSorted`. */
export function byText<Value>(
  textOf: (value: Value) => string,
): (one: Value, other: Value) => number {
  return (one, other) => {
    const [text, next] = [textOf(one), textOf(other)];
    if (text === next) return 0;
    return text < next ? -1 : 1;
  };
}

/** The JSON text of a value with sorted keys, so that equal values give equal texts. Undefined gives `undefined`. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return "undefined";
  // Servers send most objects with sorted keys, and this way is many times faster.
  return JSON.stringify(isSorted(value) ? value : sortKeys(value));
}

function isSorted(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isSorted);
  if (!isRecord(value)) return true;
  let last = "";
  for (const name of Object.keys(value)) {
    if (name < last || !isSorted(value[name])) return false;
    last = name;
  }
  return true;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value) || JSON.isRawJSON(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sortKeys(value[name])]));
}
