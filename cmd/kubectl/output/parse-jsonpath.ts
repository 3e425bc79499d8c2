import { UsageError } from "../errors.ts";

/** Part of a template: text, a path whose values are printed, or a loop over the values of a path. */
export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: readonly Step[] }
  | { readonly kind: "range"; readonly path: readonly Step[]; readonly nodes: readonly Node[] };

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

/**
 * Parses a template in kubectl's dialect of JSONPath: text with `{…}` actions, which are paths, quoted text, `range` and `end`. Throws UsageError that
 * quotes the place.
 */
export function parseTemplate(template: string): readonly Node[] {
  const root: Node[] = [];
  const open: { readonly nodes: Node[]; readonly path: readonly Step[] }[] = [];
  const target = (): Node[] => open.at(-1)?.nodes ?? root;
  for (const part of partsOf(template)) {
    if (part.kind === "text") {
      target().push({ kind: "text", text: part.text });
      continue;
    }
    const range = /^range\s+(.*)$/s.exec(part.text);
    if (range !== null) open.push({ nodes: [], path: parsePath(range[1] ?? "") });
    else if (part.text === "end") {
      const closed = open.pop();
      if (closed === undefined) throw wrong("{end} without {range}", template);
      target().push({ kind: "range", path: closed.path, nodes: closed.nodes });
    } else target().push(...actionOf(part.text));
  }
  if (open.length > 0) throw wrong("{range} without {end}", template);
  return root;
}

interface Part {
  readonly kind: "text" | "action";
  readonly text: string;
}

function* partsOf(template: string): Generator<Part> {
  let at = 0;
  while (at < template.length) {
    const start = template.indexOf("{", at);
    if (start < 0) {
      yield { kind: "text", text: template.slice(at) };
      return;
    }
    if (start > at) yield { kind: "text", text: template.slice(at, start) };
    const end = closingOf(template, start);
    yield { kind: "action", text: template.slice(start + 1, end).trim() };
    at = end + 1;
  }
}

/** The closing brace of an action. Braces in quotes do not count. */
function closingOf(template: string, start: number): number {
  let quote = "";
  for (let at = start + 1; at < template.length; at += 1) {
    const character = template.charAt(at);
    if (quote !== "" && character === "\\") at += 1;
    else if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === "}") return at;
  }
  throw wrong("unclosed action", template);
}

/** One action may hold several: `{.a} {"\t"}` as well as `{.a "\t" .b}`. */
function actionOf(text: string): readonly Node[] {
  if (text === "") return [];
  return wordsOf(text).map((word) =>
    /^["']/.test(word)
      ? { kind: "text", text: unquoted(word) }
      : { kind: "path", path: parsePath(word) },
  );
}

// Quoted text, and paths with their brackets. A filter may contain further brackets.
const wordPattern =
  /"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|(?:\[(?:"[^"]*"|'[^']*'|\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]|[^\]"'[])*\]|\\.|[^\s"'[])+/gs;

function wordsOf(text: string): readonly string[] {
  const words = text.match(wordPattern) ?? [];
  if (text.replaceAll(wordPattern, "").trim() === "") return words;
  throw wrong("unclosed quote or bracket", text);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unquoted(word: string): string {
  const quote = word.charAt(0);
  if (word.length < 2 || !word.endsWith(quote)) throw wrong("unclosed quote", word);
  return word.slice(1, -1).replaceAll(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter);
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
    const end = bracketEnd(rest, bracket[0].length, text);
    return {
      steps: bracketSteps(rest.slice(bracket[0].length, end).trim(), text),
      length: end + 1,
    };
  }
  const field = fieldPattern.exec(rest);
  if (field === null) throw wrong(`unrecognized "${rest}"`, text);
  const name = field[0].replace(/^\./, "").replaceAll("\\", "");
  return { steps: [{ kind: "field", name }], length: field[0].length };
}

function bracketEnd(rest: string, from: number, text: string): number {
  let depth = 1;
  let quote = "";
  for (let at = from; at < rest.length; at += 1) {
    const character = rest.charAt(at);
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === "[") depth += 1;
    else if (character === "]" && depth === 1) return at;
    else if (character === "]") depth -= 1;
  }
  throw wrong("unterminated array", text);
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

function wrong(what: string, text: string): UsageError {
  return new UsageError(`Invalid JSONPath "${text}": ${what}`);
}

/** Parses a path of `--sort-by` or custom columns: `name`, `.name`, `{.name}` and `{name}` mean the same. Throws UsageError. */
export function relaxedPath(text: string): readonly Step[] {
  const [, braced] = /^\{(.*)\}$/s.exec(text.trim()) ?? [];
  const path = (braced ?? text).trim();
  if (path === "") throw new UsageError(`Invalid JSONPath "${text}": there is no field`);
  return parsePath(path);
}
