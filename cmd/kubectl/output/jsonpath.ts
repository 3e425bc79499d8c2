import { isRecord } from "../../../api/fields.ts";
import { UsageError } from "../errors.ts";
import { renderJson } from "./output-format.ts";
import {
  type Comparison,
  type Node,
  parseTemplate,
  relaxedPath,
  type Step,
} from "./parse-jsonpath.ts";
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

/** A value as text in a table or a template. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function nodeText(value: unknown, node: Node): string {
  if (node.kind === "text") return node.text;
  const values = valuesAt(value, node.path);
  if (node.kind === "path") return values.map(textOf).join(" ");
  return values.map((one) => templateText(one, node.nodes)).join("");
}

function below(
  value: unknown,
  step: Exclude<Step, { readonly kind: "union" }>,
): readonly unknown[] {
  if (step.kind === "field") return fieldOf(value, step.name);
  if (step.kind === "all") return childrenOf(value);
  if (step.kind === "descend") {
    return [value, ...childrenOf(value).flatMap((child) => below(child, step))];
  }
  if (step.kind === "filter") return childrenOf(value).filter((child) => holds(child, step));
  if (!Array.isArray(value)) return [];
  if (step.kind === "slice") return sliceOf(value, step);
  return elementAt(value, step.index);
}

function fieldOf(value: unknown, name: string): readonly unknown[] {
  return isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : [];
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isRecord(value) ? Object.values(value) : [];
}

function elementAt(list: readonly unknown[], index: number): readonly unknown[] {
  const at = index < 0 ? list.length + index : index;
  return at in list ? [list[at]] : [];
}

function sliceOf(
  list: readonly unknown[],
  { from = 0, to = list.length, step }: Extract<Step, { readonly kind: "slice" }>,
): readonly unknown[] {
  return list.slice(from, to).filter((_, at) => at % Math.max(1, step) === 0);
}

function holds(value: unknown, { left, operator, right }: Comparison): boolean {
  const values = valuesAt(value, left);
  if (operator === "exists") return values.length > 0;
  const [found] = values;
  if (operator === "==") return found === right;
  if (operator === "!=") return found !== right;
  const order = compared(found, right);
  if (order === undefined) return false;
  return { "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0 }[operator];
}

function compared(left: unknown, right: unknown): number | undefined {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") return undefined;
  return left < right ? -1 : Number(left > right);
}
