import {
  type DocumentOptions,
  parseAllDocuments,
  type ParseOptions,
  type SchemaOptions,
} from "yaml";

import { isFields } from "../../../controller/render/fields.ts";
import { InputError } from "./input-error.ts";

/** One document of a file, as JSON. */
export interface InputDocument {
  /** File and, where there are several, number of the document: how messages name it. */
  readonly where: string;
  readonly value: unknown;
}

const mostCharacters = 16 * 1024 * 1024;

// kubectl and upstream read YAML 1.1, in which a bare `on` or `yes` is a boolean; both leave dates and times as text.
const options: ParseOptions & DocumentOptions & SchemaOptions = {
  version: "1.1",
  merge: true,
  logLevel: "error",
  customTags: (tags) =>
    tags.filter(
      (tag) =>
        typeof tag === "string" ||
        (tag.tag !== "tag:yaml.org,2002:timestamp" &&
          (!("format" in tag) || tag.format !== "TIME")),
    ),
};

/**
 * The documents of a YAML or JSON text in order, empty ones left out and the items of lists as documents of their own. Throws InputError with
 * every place that is not YAML.
 */
export function yamlDocuments(text: string, source: string): readonly InputDocument[] {
  if (text.length > mostCharacters) throw new InputError([`${source}: is larger than 16 MiB`]);
  const read = documentsOf(text, source);
  // A parser that lost its way tells the same problem again and again.
  const problems = [...new Set(read.flatMap((one) => one.problems))];
  if (problems.length > 0) throw new InputError(problems);
  return read.filter(({ value }) => value !== null && value !== undefined).flatMap(itemsOf);
}

interface Read extends InputDocument {
  readonly problems: readonly string[];
}

function documentsOf(text: string, source: string): readonly Read[] {
  return guarded(source, () => {
    const parsed = parseAllDocuments(text, options);
    const documents = Array.isArray(parsed) ? parsed : [];
    return documents.flatMap((document, index): readonly Read[] => {
      const where = documents.length === 1 ? source : `${source}, document ${index + 1}`;
      const problems = messagesOf(document.errors).map((message) => `${where}: ${message}`);
      if (problems.length > 0) return [{ where, value: undefined, problems }];
      return guarded(where, () => {
        // A document may be empty, which has no JSON.
        const value: unknown = JSON.parse(JSON.stringify(document.toJS() ?? null));
        return [{ where, value, problems: [] }];
      });
    });
  });
}

/** What a parser throws at hostile text (aliases without end, nesting without end) becomes a problem like any other. */
function guarded(where: string, read: () => readonly Read[]): readonly Read[] {
  try {
    return read();
  } catch (error) {
    const message = error instanceof RangeError ? "is nested too deeply" : messageOf(error);
    return [{ where, value: undefined, problems: [`${where}: ${message}`] }];
  }
}

function itemsOf(document: InputDocument): readonly InputDocument[] {
  const { value, where } = document;
  if (!isFields(value) || !Array.isArray(value["items"])) return [document];
  if (typeof value["kind"] !== "string" || !value["kind"].endsWith("List")) return [document];
  const items: readonly unknown[] = value["items"];
  return items.map((item, index) => ({ where: `${where}, item ${index + 1}`, value: item }));
}

/** The parser reports the end of its stack as an error of the text, and others after it. */
function messagesOf(errors: readonly Error[]): readonly string[] {
  const messages = errors.map(({ message }) => firstLine(message));
  return messages.some((message) => message.startsWith("Maximum call stack"))
    ? ["is nested too deeply"]
    : messages;
}

function messageOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}

function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/:$/, "");
}
