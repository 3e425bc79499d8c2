import { LineCounter, parseDocument } from "yaml";

import { isRecord } from "../../../api/fields.ts";
import { yaml11 } from "../../../render/yaml.ts";

/** One document of a file, as JSON. */
export interface InputDocument {
  /** The name of the document in messages: the file, and the number among several documents. */
  readonly where: string;
  readonly value: unknown;
}

const maxima = {
  /** Length of a text. A JSON parser is linear in time and memory. */
  json: 16 * 1024 * 1024,
  /** Length of a text that is not JSON. */
  yaml: 4 * 1024 * 1024,
  /** Length of one YAML document. A hostile one of this size takes some seconds and a gigabyte. An API server accepts little more. */
  document: 1024 * 1024,
  /** Reported errors of one document. */
  errors: 5,
} as const;

/**
 * Parses the documents of a YAML or JSON text, in order. Leaves out empty documents, and returns the items of lists as separate documents. Throws
 * InputError with every place that is not YAML.
 */
export function yamlDocuments(text: string, source: string): readonly InputDocument[] {
  if (text.length > maxima.json) throw new InputError([`${source}: is larger than 16 MiB`]);
  const json = jsonOf(text, source);
  if (json !== undefined) return itemsOf({ where: source, value: json });
  if (text.length > maxima.yaml) throw new InputError([`${source}: is larger than 4 MiB`]);
  const parsed = partsOf(text, source).map(parsePart);
  const problems = parsed.flatMap((part) => part.problems);
  if (problems.length > 0) throw new InputError(problems);
  return parsed.filter(({ value }) => value !== null).flatMap(itemsOf);
}

function jsonOf(text: string, source: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // The parser accepts any depth, but most readers of the value are recursive.
    JSON.stringify(value);
    return value;
  } catch (error) {
    if (error instanceof RangeError) throw new InputError([`${source}: is nested too deeply`]);
    return undefined;
  }
}

/** The text of one document, and its start in the file. */
interface Part {
  readonly where: string;
  readonly text: string;
  /** Lines of the file before the document. */
  readonly linesBefore: number;
}

/** YAML 1.2, 9.2: `---` at the start of a line separates documents even within a scalar. */
function partsOf(text: string, source: string): readonly Part[] {
  const [first = "", ...others] = text.split(/^---(?=\s|$)/m);
  const texts = isBlank(first) && others.length > 0 ? others : [first, ...others];
  let linesBefore = texts.length === others.length ? lineBreaksIn(first) : 0;
  return texts
    .map((part, index) => {
      const where = texts.length === 1 ? source : `${source}, document ${index + 1}`;
      const found = { where, text: part, linesBefore };
      linesBefore += lineBreaksIn(part);
      return found;
    })
    .filter((part) => !isBlank(part.text));
}

function isBlank(text: string): boolean {
  return text.replaceAll(/^(?:[#%].*|\.\.\.)$/gm, "").trim() === "";
}

function lineBreaksIn(text: string): number {
  return text.split("\n").length - 1;
}

interface ParsedPart extends InputDocument {
  readonly problems: readonly string[];
}

/** Parses one document. An exception of the parser (endless aliases, endless nesting) becomes a problem. */
function parsePart({ where, text, linesBefore }: Part): ParsedPart {
  const refused = (...messages: readonly string[]): ParsedPart => ({
    where,
    value: null,
    problems: messages.map((message) => `${where}: ${message}`),
  });
  if (text.length > maxima.document) return refused("is larger than 1 MiB");
  try {
    const lines = new LineCounter();
    const document = parseDocument(text, {
      ...yaml11,
      // Pretty errors take quadratic time for a text with many errors.
      prettyErrors: false,
      lineCounter: lines,
    });
    const errors = document.errors.slice(0, maxima.errors);
    if (errors.some(({ message }) => isStackEnd(message))) return refused("is nested too deeply");
    if (errors.length > 0) {
      const messages = errors.map(({ message, pos: [at] }) => {
        const { line, col } = lines.linePos(at);
        return `${firstLine(message)} at line ${line + linesBefore}, column ${col}`;
      });
      return refused(...messages);
    }
    // An empty document has no JSON.
    const value: unknown = JSON.parse(JSON.stringify(document.toJS() ?? null));
    return { where, value, problems: [] };
  } catch (error) {
    return refused(error instanceof RangeError ? "is nested too deeply" : messageOf(error));
  }
}

/** The parser reports a stack overflow as an error of the text, followed by others. */
function isStackEnd(message: string): boolean {
  return message.startsWith("Maximum call stack");
}

function itemsOf(document: InputDocument): readonly InputDocument[] {
  const { value, where } = document;
  if (!isRecord(value) || !Array.isArray(value["items"])) return [document];
  if (typeof value["kind"] !== "string" || !value["kind"].endsWith("List")) return [document];
  const items: readonly unknown[] = value["items"];
  return items.map((item, index) => ({ where: `${where}, item ${index + 1}`, value: item }));
}

function messageOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}

function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/:$/, "");
}

const maxProblems = 100;

/** Input that is not usable. The message has one line for each problem, with its place. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const shown = problems.slice(0, maxProblems);
    const left = problems.length - shown.length;
    const all = left === 0 ? shown : [...shown, `and ${left} more problems`];
    super(all.join("\n"));
    this.problems = all;
  }
}
