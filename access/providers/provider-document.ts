import { type Document, isScalar, LineCounter, type Node, parseDocument } from "yaml";

import { jsonErrorPosition } from "../json.ts";

/** A parsed text whose parts still know where they stand. Keys that occur twice are still there twice. */
export interface ProviderDocument {
  readonly document: Document;
  /** `<<` is the merge key of YAML. */
  readonly merges: boolean;
  /** Where a part stands, as `line 3, column 7`. */
  readonly positionOf: (node: unknown) => string;
}

/** What is wrong with the content of a provider file, as the end of a sentence; never quotes it. */
export class ContentError extends Error {}

const maxCharacters = 256 * 1024;
// With more of them the parser takes memory and time out of all proportion.
const maxParts = 20_000;
// A string is a part of what holds it. One that does not end goes on to the end: to look for another in it would take time squared.
const jsonParts = /"(?:[^"\\]|\\.)*"?|[,:{}[\]]/g;
// Also those in strings and comments, since only the parser tells where these begin. Each string has two quotes.
const yamlParts = /[\n,:{}[\]!&*|>%@`"']|[-?](?!\S)/g;
// That of Go's parser.
const maxDepth = 10_000;

/** What about a text would take too long to read, as the end of a sentence; undefined when it can be parsed. */
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
  // As in Go; said because nobody sees it.
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
  // Blank in JSON, where none stands in a string; to YAML it is one only before a line feed.
  const text = format === "json" ? content.replaceAll("\r", " ") : content;
  const document = parseDocument(text, {
    lineCounter: lines,
    // Prints nothing; "silent" would also say nothing of a second document.
    logLevel: "error",
    uniqueKeys: false,
    merge: format === "yaml",
    // JSON that passed the strict parser above has no error here that matters, such as a key that is very long.
    strict: format === "yaml",
  });
  const [problem] = document.errors;
  if (format === "yaml" && problem !== undefined) {
    const [offset] = problem.pos;
    throw new ContentError(`it is not YAML at ${placeOf(lines, offset)} (${problem.code})`);
  }
  // An editor that writes a file anew leaves it empty for a moment; what means no providers says so.
  if (document.contents === null || isUnwritten(document.contents)) {
    throw new ContentError("it is empty");
  }
  return {
    document,
    merges: format === "yaml",
    positionOf: (node) => placeOf(lines, offsetOf(node)),
  };
}

/** A null of which nothing stands in the text, as after `---` or in a file of comments. */
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

function placeOf(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `line ${Math.max(line, 1)}, column ${Math.max(col, 1)}`;
}
