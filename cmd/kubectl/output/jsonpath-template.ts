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
      .map((item) => (isRecord(item) && !("metadata" in item) ? { ...item, metadata: item } : item))
      .map((item) => columns.map(({ path }) => orNone(valuesAt(item, path).map(textOf).join(",")))),
  };
}

/** Part of a template: text, a path whose values are printed, or a loop over the values of a path. */
type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: readonly Step[] }
  | { readonly kind: "range"; readonly path: readonly Step[]; readonly nodes: readonly Node[] };

/** A template as text: several values are separated by a space, objects and lists are JSON, null is empty. */
function templateText(value: unknown, nodes: readonly Node[]): string {
  return nodes
    .map((node) => {
      if (node.kind === "text") return node.text;
      const values = valuesAt(value, node.path);
      if (node.kind === "path") return values.map(textOf).join(" ");
      return values.map((one) => templateText(one, node.nodes)).join("");
    })
    .join("");
}

/** All values at the paths of a template, in order, as `jsonpath-as-json` prints them. */
function templateValues(value: unknown, nodes: readonly Node[]): readonly unknown[] {
  return nodes.flatMap((node) => {
    if (node.kind === "text") return [];
    const values = valuesAt(value, node.path);
    return node.kind === "path" ? values : values.flatMap((one) => templateValues(one, node.nodes));
  });
}

/**
 * Parses a template in kubectl's dialect of JSONPath: text with `{…}` actions, which are paths, quoted text, `range` and `end`. Throws UsageError that
 * quotes the place.
 */
export function parseTemplate(template: string): readonly Node[] {
  const open: { readonly nodes: Node[]; readonly path: readonly Step[] }[] = [];
  const root: Node[] = [];
  const add = (...nodes: readonly Node[]): unknown => (open.at(-1)?.nodes ?? root).push(...nodes);
  let rest = template;
  while (rest !== "") {
    const [text = ""] = /^[^{]*/.exec(rest) ?? [];
    if (text !== "") add({ kind: "text", text });
    if (text === rest) break;
    const inside = rest.slice(text.length + 1);
    const end = closingOf(inside, quotedText, ["", "}"]);
    if (end < 0) throw wrong("unclosed action", template);
    rest = inside.slice(end + 1);
    const action = inside.slice(0, end).trim();
    const range = /^range\s+(.*)$/s.exec(action)?.[1];
    if (range !== undefined) open.push({ nodes: [], path: parsePath(range) });
    else if (action === "end") {
      const closed = open.pop();
      if (closed === undefined) throw wrong("{end} without {range}", template);
      add({ kind: "range", ...closed });
    } else add(...actionOf(action));
  }
  if (open.length > 0) throw wrong("{range} without {end}", template);
  return root;
}

const quotedText = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/gs;

// Quoted text, and paths with their brackets. A filter may contain further brackets.
const wordPattern =
  /"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|(?:\[(?:"[^"]*"|'[^']*'|\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]|[^\]"'[])*\]|\\.|[^\s"'[])+/gs;

/** One action may hold several: `{.a} {"\t"}` as well as `{.a "\t" .b}`. */
function actionOf(text: string): readonly Node[] {
  if (text.replaceAll(wordPattern, "").trim() !== "") {
    throw wrong("unclosed quote or bracket", text);
  }
  return (text.match(wordPattern) ?? []).map((word) =>
    /^["']/.test(word)
      ? { kind: "text", text: unquoted(word) }
      : { kind: "path", path: parsePath(word) },
  );
}
