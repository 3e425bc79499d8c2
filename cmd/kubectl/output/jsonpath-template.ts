import { isRecord } from "../../../api/fields.ts";
import { UsageError } from "../errors.ts";
import {
  closingOf,
  parsePath,
  relaxedPath,
  type Step,
  textOf,
  unquoted,
  valuesAt,
  wrong,
} from "./jsonpath.ts";
import { renderJson } from "./output-format.ts";
import { orNone, type Table } from "./table.ts";

/** Renders a document with a template: text without a final newline, as kubectl does, or with `jsonpath-as-json` a JSON array. Throws UsageError. */
export function renderJsonPath(
  document: unknown,
  template: string,
  format: "jsonpath" | "jsonpath-as-json",
): string {
  const nodes = parseTemplate(template);
  if (format === "jsonpath") return templateText(document, nodes);
  return renderJson(templateValues(document, nodes), 4);
}

/**
 * Renders the table of `-o custom-columns=HEADER:.path,…`, one row an item; without any header there is no header line. Name and namespace of an item are
 * also found where kubectl has them, as `.metadata.name`. Throws UsageError.
 */
export function customColumns(spec: string, items: readonly unknown[]): Table {
  const columns = spec.split(",").map((column) => {
    const at = column.indexOf(":");
    const header = column.slice(0, at);
    if (at >= 0 && !/\s/.test(header)) return { header, path: relaxedPath(column.slice(at + 1)) };
    throw new UsageError(`Invalid column "${column}" of custom-columns: want HEADER:.path`);
  });
  return {
    headers: columns.map(({ header }) => header),
    rows: items
      .map(withMetadata)
      .map((item) => columns.map(({ path }) => orNone(valuesAt(item, path).map(textOf).join(",")))),
  };
}

function withMetadata(item: unknown): unknown {
  return isRecord(item) && !("metadata" in item) ? { ...item, metadata: item } : item;
}

/** Part of a template: text, a path whose values are printed, or a loop over the values of a path. */
export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: readonly Step[] }
  | { readonly kind: "range"; readonly path: readonly Step[]; readonly nodes: readonly Node[] };

/** Renders a template as text: several values are separated by a space, objects and lists are JSON, null is empty. */
export function templateText(value: unknown, nodes: readonly Node[]): string {
  return nodes.map((node) => nodeText(value, node)).join("");
}

/** All values at the paths of a template, in order, as `jsonpath-as-json` prints them. */
export function templateValues(value: unknown, nodes: readonly Node[]): readonly unknown[] {
  return nodes.flatMap((node) => {
    if (node.kind === "text") return [];
    const values = valuesAt(value, node.path);
    return node.kind === "path" ? values : values.flatMap((one) => templateValues(one, node.nodes));
  });
}

function nodeText(value: unknown, node: Node): string {
  if (node.kind === "text") return node.text;
  const values = valuesAt(value, node.path);
  if (node.kind === "path") return values.map(textOf).join(" ");
  return values.map((one) => templateText(one, node.nodes)).join("");
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

const quotedText = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/gs;

function* partsOf(template: string): Generator<Part> {
  let at = 0;
  while (at < template.length) {
    const start = template.indexOf("{", at);
    if (start < 0) {
      yield { kind: "text", text: template.slice(at) };
      return;
    }
    if (start > at) yield { kind: "text", text: template.slice(at, start) };
    const length = closingOf(template.slice(start + 1), quotedText, ["", "}"]);
    if (length < 0) throw wrong("unclosed action", template);
    const end = start + 1 + length;
    yield { kind: "action", text: template.slice(start + 1, end).trim() };
    at = end + 1;
  }
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
