import { isRecord } from "../../../api/fields.ts";
import { UsageError } from "../errors.ts";

// Paths in kubectl's dialect of JSONPath, which differs from that of packages: `['a.b']` is a path, `[0, 1]` and `['a','b.c']` take paths, a filter finds null,
// and `~`, `^` and `;` are letters of a name.

/** One step from values to the values below them. */
export type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "all" }
  | { readonly kind: "descend" }
  | { readonly kind: "index"; readonly index: number }
  | {
      readonly kind: "slice";
      readonly from: number | undefined;
      readonly to: number | undefined;
      readonly step: number;
    }
  | ({ readonly kind: "filter" } & Comparison)
  /** The values of the first path for every value, then those of the next path. */
  | { readonly kind: "union"; readonly paths: readonly (readonly Step[])[] };

/** The condition of a filter. */
export interface Comparison {
  readonly left: readonly Step[];
  readonly operator: "==" | "!=" | "<=" | ">=" | "<" | ">" | "exists";
  readonly right: string | number | boolean | null;
}

/** Sorts the items of a document by a field. Throws UsageError for an invalid path, and for a path whose first field no item has. */
export function sortedBy<Document extends { readonly items: readonly unknown[] }>(
  document: Document,
  path: string | undefined,
): Document {
  if (path === undefined) return document;
  const [first] = relaxedPath(path);
  const { items } = document;
  const isKnown =
    first === undefined || items.some((item) => valuesAt(item, [first])[0] !== undefined);
  if (items.length === 0 || isKnown) return orderedBy(document, path);
  throw new UsageError(`--sort-by ${path}: no item has such a field`, [
    "The fields are those of -o json.",
  ]);
}

/**
 * Sorts the items of a document by a field that may not exist: numbers as numbers, items without the field first, equal items in their order. Throws
 * UsageError for an invalid path.
 */
export function orderedBy<Document extends { readonly items: readonly unknown[] }>(
  document: Document,
  path: string | undefined,
): Document {
  if (path === undefined) return document;
  const steps = relaxedPath(path);
  const keyed = document.items.map((item) => ({ item, key: valuesAt(item, steps)[0] }));
  const items = keyed.toSorted((a, b) => orderOf(a.key, b.key)).map(({ item }) => item);
  return { ...document, items };
}

function orderOf(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [textOf(a), textOf(b)];
  return one < other ? -1 : Number(one > other);
}

/** The values at a path. A missing field gives no value, as in kubectl. */
export function valuesAt(value: unknown, path: readonly Step[]): readonly unknown[] {
  return path.reduce<readonly unknown[]>(
    (values, step) =>
      step.kind === "union"
        ? step.paths.flatMap((branch) => values.flatMap((one) => valuesAt(one, branch)))
        : values.flatMap((one) => below(one, step)),
    [value],
  );
}

/** A value as text in a table or a template. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function below(
  value: unknown,
  step: Exclude<Step, { readonly kind: "union" }>,
): readonly unknown[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const children = isRecord(value) ? Object.values(value) : list;
  if (step.kind === "field") {
    return isRecord(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
  }
  if (step.kind === "all") return children;
  if (step.kind === "descend") return [value, ...children.flatMap((child) => below(child, step))];
  if (step.kind === "filter") return children.filter((child) => holds(child, step));
  if (step.kind === "index") {
    return list.slice(step.index, step.index === -1 ? undefined : step.index + 1);
  }
  return list.slice(step.from, step.to).filter((_, at) => at % Math.max(1, step.step) === 0);
}

function holds(value: unknown, { left, operator, right }: Comparison): boolean {
  const values = valuesAt(value, left);
  if (operator === "exists") return values.length > 0;
  const [found] = values;
  if (operator === "==") return found === right;
  if (operator === "!=") return found !== right;
  // Numbers and texts have an order, each among themselves.
  if (typeof found !== typeof right || !["number", "string"].includes(typeof found)) return false;
  const order = orderOf(found, right);
  return { "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0 }[operator];
}

/** Parses a path of `--sort-by` or custom columns: `name`, `.name`, `{.name}` and `{name}` mean the same. Throws UsageError. */
export function relaxedPath(text: string): readonly Step[] {
  const [, braced] = /^\{(.*)\}$/s.exec(text.trim()) ?? [];
  const path = (braced ?? text).trim();
  if (path === "") throw new UsageError(`Invalid JSONPath "${text}": there is no field`);
  return parsePath(path);
}

const fieldPattern = /^\.?(?:\\.|[^.[\]{}()\s'"@$*,\\])+/s;

/** Parses a path such as `.items[?(@.name=="a")].status`. `$` and `@` at its start are ignored. */
export function parsePath(text: string): readonly Step[] {
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, "");
  while (rest !== "" && rest !== ".") {
    const { steps: next, length } = stepsOf(rest, text);
    steps.push(...next);
    rest = rest.slice(length);
  }
  return steps;
}

interface Steps {
  readonly steps: readonly Step[];
  /** How many characters the steps take. */
  readonly length: number;
}

function stepsOf(rest: string, text: string): Steps {
  const wild = /^\.?\*/.exec(rest);
  if (wild !== null) return { steps: [{ kind: "all" }], length: wild[0].length };
  if (rest.startsWith("..")) {
    // The text after the dots is a separate step, with or without a dot.
    return { steps: [{ kind: "descend" }], length: /^\.\.[.[*]/.test(rest) ? 2 : 1 };
  }
  const bracket = /^\.?\[/.exec(rest);
  if (bracket !== null) {
    const inside = rest.slice(bracket[0].length);
    const end = closingOf(inside, /"[^"]*"|'[^']*'/g, ["[", "]"]);
    if (end < 0) throw wrong("unterminated array", text);
    return {
      steps: bracketSteps(inside.slice(0, end).trim(), text),
      length: bracket[0].length + end + 1,
    };
  }
  const field = fieldPattern.exec(rest);
  if (field === null) throw wrong(`unrecognized "${rest}"`, text);
  const name = field[0].replace(/^\./, "").replaceAll("\\", "");
  return { steps: [{ kind: "field", name }], length: field[0].length };
}

/** The place of the character that closes a text whose opening one is left out; -1 without one. `quoted` matches texts whose characters do not count. */
export function closingOf(
  text: string,
  quoted: RegExp,
  [open, close]: readonly [string, string],
): number {
  const bare = text.replaceAll(quoted, (found) => " ".repeat(found.length));
  let depth = 0;
  for (let at = 0; at < bare.length; at += 1) {
    if (bare[at] === open) depth += 1;
    if (bare[at] !== close) continue;
    if (depth === 0) return at;
    depth -= 1;
  }
  return -1;
}

function bracketSteps(inside: string, text: string): readonly Step[] {
  if (inside === "*") return [{ kind: "all" }];
  const filter = /^\?\((.*)\)$/s.exec(inside);
  if (filter !== null) return [{ kind: "filter", ...comparisonOf(filter[1] ?? "", text) }];
  // kubectl splits at every comma, also in quotes.
  const parts = inside.split(",").map((part) => part.trim());
  if (parts.length > 1) {
    return [{ kind: "union", paths: parts.map((part) => bracketSteps(part, text)) }];
  }
  // kubectl reads a quoted key as a path: `['a.b']` is `.a.b`, and `['a\.b']` the field `a.b`.
  const [, key] = /^'([^']*)'$/s.exec(inside) ?? [];
  if (key === "") return [{ kind: "field", name: "" }];
  if (key !== undefined) return parsePath(`.${key}`);
  const slice = /^(-?\d*):(-?\d*)(?::(-?\d*))?$/.exec(inside);
  if (slice !== null) {
    const [from, to, step] = slice.slice(1).map(numberOf);
    return [{ kind: "slice", from, to, step: step ?? 1 }];
  }
  if (/^-?\d+$/.test(inside)) return [{ kind: "index", index: Number(inside) }];
  throw wrong(`invalid array index "${inside}"`, text);
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : Number(text);
}

function comparisonOf(text: string, whole: string): Comparison {
  const [, left = "", operator, right = ""] =
    /^\s*(.*?)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*$/s.exec(text) ?? [];
  if (operator === undefined) {
    return { left: parsePath(text.trim()), operator: "exists", right: null };
  }
  const known = (["==", "!=", "<=", ">=", "<", ">"] as const).find((each) => each === operator);
  if (known === undefined || left === "" || right === "") throw wrong("bad filter", whole);
  return { left: parsePath(left), operator: known, right: literalOf(right) };
}

function literalOf(text: string): string | number | boolean {
  if (/^['"]/.test(text)) return unquoted(text);
  if (text === "true" || text === "false") return text === "true";
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  throw wrong(`"${text}" is no value; quote text`, text);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Quoted text without its quotes and escapes. */
export function unquoted(word: string): string {
  const quote = word.charAt(0);
  if (word.length < 2 || !word.endsWith(quote)) throw wrong("unclosed quote", word);
  return word.slice(1, -1).replaceAll(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter);
}

/** The error for a path or template that cannot be read. */
export function wrong(what: string, text: string): UsageError {
  return new UsageError(`Invalid JSONPath "${text}": ${what}`);
}
