import { type Document, isAlias, isCollection, isPair, Lexer, parseAllDocuments } from "yaml";

import { isRecord } from "../../api/fields.ts";
import { yaml11 } from "../yaml.ts";
import { PatchProblem } from "./patch.ts";

const maxContentBytes = 64 * 1024;
const maxDepth = 64;
// Merge keys and aliases can make a small text very large: each level may double the one below it.
const maxNodes = 20_000;
const notConverted = "convert patch content to JSON: yaml:";

/**
 * Reads the content of a patch, which is JSON or YAML 1.1. Merge keys and anchors are resolved. The first of several
 * documents counts, and the last of several equal keys. Null for an empty text. Throws PatchProblem.
 */
export function patchContent(content: string): unknown {
  if (Buffer.byteLength(content) > maxContentBytes) {
    throw new PatchProblem("content is larger than 64 KiB");
  }
  const document = firstDocument(content);
  if (document === undefined) return null;
  const [error] = document.errors;
  if (error !== undefined) throw notYaml(content, error);
  if (sizeOf(document) > maxNodes) {
    throw new PatchProblem(`content holds more than ${maxNodes} values`);
  }
  const value: unknown = document.toJS({ maxAliasCount: -1 });
  assertPlain(value, maxDepth);
  return value;
}

function firstDocument(content: string): Document | undefined {
  assertShallow(content);
  const options = {
    ...yaml11,
    logLevel: "silent",
    prettyErrors: false,
    uniqueKeys: false,
  } as const;
  const documents = parseAllDocuments(content, options);
  return Array.isArray(documents) ? documents[0] : undefined;
}

/**
 * Checks the depth before parsing: thousands of levels cost the parser seconds, or exhaust its stack. Indentation
 * cannot make many levels in so short a text.
 */
function assertShallow(content: string): void {
  let brackets = 0;
  let inLine = 0;
  for (const part of new Lexer().lex(content)) {
    if (part === "[" || part === "{") brackets += 1;
    else if (part === "]" || part === "}") brackets -= 1;
    else if (part === "-" || part === "?") inLine += 1;
    else if (part.startsWith("\n") || part.startsWith("\r")) inLine = 0;
    if (brackets > maxDepth || inLine > maxDepth) throw tooDeep();
  }
}

/** The message of the parser quotes the text, which may be secret, so it is not used. */
function notYaml(
  content: string,
  { pos: [at], code }: { readonly pos: readonly [number, number]; readonly code: string },
): PatchProblem {
  const line = content.slice(0, at).split("\n").length;
  const what = code.toLowerCase().replaceAll("_", " ");
  return new PatchProblem(`${notConverted} line ${line}: ${what}`);
}

/** Number of values of a document with all aliases resolved. Counting stops just above the limit. */
function sizeOf(document: Document): number {
  const known = new Map<unknown, number>();
  return sizeAt(document.contents, 0);

  function sizeAt(node: unknown, depth: number): number {
    if (depth > maxDepth * 2) throw tooDeep();
    if (isPair(node)) return sizeAt(node.key, depth + 1) + sizeAt(node.value, depth + 1);
    if (isAlias(node)) {
      const source = node.resolve(document);
      if (source === undefined) throw new PatchProblem(`${notConverted} an alias has no anchor`);
      return sizeAt(source, depth + 1);
    }
    if (!isCollection(node)) return 1;
    const size = known.get(node);
    if (size !== undefined) return size;
    // A node that is being counted counts as too large, so that an alias inside its own anchor is refused.
    known.set(node, maxNodes + 1);
    let sum = 1;
    for (const item of node.items) sum = Math.min(sum + sizeAt(item, depth + 1), maxNodes + 1);
    known.set(node, sum);
    return sum;
  }
}

function tooDeep(): PatchProblem {
  return new PatchProblem(`content is nested deeper than ${maxDepth} levels`);
}

function assertPlain(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth === 0) throw tooDeep();
  if (isRecord(value) && Object.hasOwn(value, "__proto__")) {
    throw new PatchProblem("content has a field __proto__");
  }
  for (const part of Object.values(value)) assertPlain(part, depth - 1);
}
