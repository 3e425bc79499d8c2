import { type Document, isScalar, LineCounter, type Node, parseDocument } from "yaml";

import { jsonErrorPosition } from "../json.ts";

/** A parsed text with positions. Duplicate keys are kept. */
export interface ProviderDocument {
  readonly document: Document;
  /** True when `<<` is the merge key of YAML. */
  readonly merges: boolean;
  /** The position of a node, as `line 3, column 7`. */
  readonly positionOf: (node: unknown) => string;
}

/** A provider file is not usable. The message is the end of a sentence and never quotes the file. */
export class ContentError extends Error {}

const maxCharacters = 256 * 1024;
// With more parts than this, the parser needs far too much memory and time.
const maxParts = 20_000;
// A string is one match and weighs nothing. An unterminated string matches to the end of the text, so that matching stays linear.
const jsonParts = /"(?:[^"\\]|\\.)*"?|[,:{}[\]]/g;
// Also matches inside strings and comments, which only the parser can tell apart. The two quotes of a string weigh half a part each.
const yamlParts = /[\n,:{}[\]!&*|>%@`"']|[-?](?!\S)/g;
// The limit of Go's parser.
const maxDepth = 10_000;

/** Why a text would take too long to parse, as the end of a sentence; undefined when it would not. */
export function costProblem(content: string, format: "json" | "yaml"): string | undefined {
  if (content.length > maxCharacters) return "it is larger than 256 KiB";
  let parts = 0;
  for (const { 0: token, index } of content.matchAll(format === "json" ? jsonParts : yamlParts)) {
    parts += weightOf(token, format);
    if (parts <= maxParts) continue;
    const lines = content.slice(0, index).split("\n");
    const column = (lines.at(-1) ?? "").length + 1;
    return `it holds more than ${maxParts} parts (line ${lines.length}, column ${column})`;
  }
  return undefined;
}

function weightOf(token: string, format: "json" | "yaml"): number {
  if (!token.startsWith('"') && token !== "'") return 1;
  return format === "json" ? 0 : 0.5;
}

/** Parses the text of a provider file. Throws ContentError with the position of what is wrong. */
export function providerDocument(content: string, format: "json" | "yaml"): ProviderDocument {
  const cost = costProblem(content, format);
  if (cost !== undefined) throw new ContentError(cost);
  // As in Go. The message names the mark, because editors do not show it.
  if (format === "json" && content.startsWith("\ufeff")) {
    throw new ContentError("it begins with a byte order mark, which JSON must not");
  }
  try {
    if (format === "json") JSON.parse(content);
  } catch {
    throw new ContentError(`it is not JSON at ${jsonErrorPosition(content)}`);
  }
  if (depthOf(content) > maxDepth) throw new ContentError("it is nested too deeply");
  const lines = new LineCounter();
  // Carriage returns are white space in JSON, where strings cannot hold one. The YAML parser accepts them only before a line feed.
  const text = format === "json" ? content.replaceAll("\r", " ") : content;
  const document = parseDocument(text, {
    lineCounter: lines,
    // Prints nothing. "silent" would also drop the error about a second document.
    logLevel: "error",
    uniqueKeys: false,
    merge: format === "yaml",
    // JSON has passed the strict parser above. Errors that only YAML knows, such as a very long key, do not matter.
    strict: format === "yaml",
  });
  const [problem] = document.errors;
  if (format === "yaml" && problem !== undefined) {
    const [offset] = problem.pos;
    throw new ContentError(`it is not YAML at ${positionAt(lines, offset)} (${problem.code})`);
  }
  // Not treated as a file without providers: an editor that rewrites a file leaves it empty for a moment.
  if (document.contents === null || isUnwritten(document.contents)) {
    throw new ContentError("it is empty");
  }
  return {
    document,
    merges: format === "yaml",
    positionOf: (node) => positionAt(lines, offsetOf(node)),
  };
}

/** True for a null that has no text, as after `---` or in a file that holds only comments. */
function isUnwritten(node: Node): boolean {
  return isScalar(node) && node.value === null && (node.source ?? "") === "";
}

function depthOf(content: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of content.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/g)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function offsetOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "range" in value;
}

function positionAt(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `line ${Math.max(line, 1)}, column ${Math.max(col, 1)}`;
}
