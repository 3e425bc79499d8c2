import { LineCounter, parseDocument } from "yaml";

import { isRecord } from "../../../api/fields.ts";
import { yaml11 } from "../../../render/yaml.ts";

/** One document of a file, as JSON. */
export interface InputDocument {
  /** File and, where there are several, number of the document: how messages name it. */
  readonly where: string;
  readonly value: unknown;
}

const most = {
  /** Of a text: a parser of JSON is linear in time and memory. */
  json: 16 * 1024 * 1024,
  /** Of a text that is not JSON. */
  yaml: 4 * 1024 * 1024,
  /** Of one YAML document: hostile ones of this size take some seconds and a gigabyte. An API server takes little more. */
  document: 1024 * 1024,
  /** A confused parser finds one error after another. */
  errors: 5,
} as const;

/**
 * The documents of a YAML or JSON text in order, empty ones left out and the items of lists as documents of their own. Throws InputError with
 * every place that is not YAML.
 */
export function yamlDocuments(text: string, source: string): readonly InputDocument[] {
  if (text.length > most.json) throw new InputError([`${source}: is larger than 16 MiB`]);
  const json = jsonOf(text, source);
  if (json !== undefined) return itemsOf({ where: source, value: json });
  if (text.length > most.yaml) throw new InputError([`${source}: is larger than 4 MiB`]);
  const read = partsOf(text, source).map(readPart);
  const problems = read.flatMap((one) => one.problems);
  if (problems.length > 0) throw new InputError(problems);
  return read.filter(({ value }) => value !== null).flatMap(itemsOf);
}

function jsonOf(text: string, source: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // Unlike the parser, most readers of the value have a stack with an end.
    JSON.stringify(value);
    return value;
  } catch (error) {
    if (error instanceof RangeError) throw new InputError([`${source}: is nested too deeply`]);
    return undefined;
  }
}

/** The text of one document and where it begins. */
interface Part {
  readonly where: string;
  readonly text: string;
  /** Lines of the file in front of it. */
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

interface Read extends InputDocument {
  readonly problems: readonly string[];
}

/** An exception of the parser (endless aliases, endless nesting) becomes a problem like any other. */
function readPart({ where, text, linesBefore }: Part): Read {
  const refused = (...messages: readonly string[]): Read => ({
    where,
    value: null,
    problems: messages.map((message) => `${where}: ${message}`),
  });
  if (text.length > most.document) return refused("is larger than 1 MiB");
  try {
    const lines = new LineCounter();
    const document = parseDocument(text, {
      ...yaml11,
      // Quadratic in time for a text with many errors.
      prettyErrors: false,
      lineCounter: lines,
    });
    const errors = document.errors.slice(0, most.errors);
    if (errors.some(({ message }) => isStackEnd(message))) return refused("is nested too deeply");
    if (errors.length > 0) {
      const messages = errors.map(({ message, pos: [at] }) => {
        const { line, col } = lines.linePos(at);
        return `${firstLine(message)} at line ${line + linesBefore}, column ${col}`;
      });
      return refused(...messages);
    }
    // A document may be empty, which has no JSON.
    const value: unknown = JSON.parse(JSON.stringify(document.toJS() ?? null));
    return { where, value, problems: [] };
  } catch (error) {
    return refused(error instanceof RangeError ? "is nested too deeply" : messageOf(error));
  }
}

/** The parser reports the end of its stack as an error of the text, and others after it. */
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

const mostProblems = 100;

/** Unusable input; one line for each problem, with its place. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const shown = problems.slice(0, mostProblems);
    const left = problems.length - shown.length;
    const all = left === 0 ? shown : [...shown, `and ${left} more problems`];
    super(all.join("\n"));
    this.problems = all;
  }
}
