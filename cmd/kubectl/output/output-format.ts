import { asEscapes } from "../../../api/foreign-text.ts";
import { UsageError } from "../errors.ts";

export const outputFormats = [
  "table",
  "wide",
  "json",
  "yaml",
  "name",
  "jsonpath",
  "jsonpath-as-json",
  "custom-columns",
] as const;

/** Formats that only some commands have. */
export type ExtraFormat = "clusterrole" | "dot" | "html" | "mermaid" | "junit" | "short";

export type OutputFormat = (typeof outputFormats)[number] | ExtraFormat;

/** Whether the output is one document, which has its own list of errors. */
export function isDocument({ output }: { readonly output: OutputFormat }): boolean {
  return output === "json" || output === "yaml";
}

/** Whether the output is a table or a sentence for people. */
export function isTable({ output }: { readonly output: OutputFormat }): boolean {
  return output === "table" || output === "wide";
}

/** Throws UsageError for a format that commands that write do not have. */
export function checkWriteFormat({ output }: { readonly output: OutputFormat }): void {
  if (["table", "wide", "name", "json", "yaml"].includes(output)) return;
  throw new UsageError(`-o ${output} cannot be used with a command that writes`, [
    "Use -o name, json or yaml.",
  ]);
}

/** The parsed value of `-o`. */
export interface Output {
  readonly format: OutputFormat;
  /** The text after `=`. Empty for a format without a template. */
  readonly template: string;
}

export const outputText =
  "table|wide|json|yaml|name|jsonpath=...|jsonpath-as-json=...|custom-columns=...";

const withTemplate: readonly OutputFormat[] = ["jsonpath", "jsonpath-as-json", "custom-columns"];

/** Parses the value of `-o`. `extra`: formats of this command only. Throws UsageError for an unknown format, and for a missing or unexpected template. */
export function outputOf(text: string, extra: readonly ExtraFormat[] = []): Output {
  const at = text.indexOf("=");
  const name = at < 0 ? text : text.slice(0, at);
  const template = at < 0 ? "" : text.slice(at + 1);
  const format = [...outputFormats, ...extra].find((known) => known === name);
  if (format === undefined) throw unknownFormat(text, extra);
  if (withTemplate.includes(format) && template === "") {
    throw new UsageError(`-o ${format} needs a template: -o ${examples[format] ?? ""}`);
  }
  if (!withTemplate.includes(format) && at >= 0) {
    throw new UsageError(`Invalid value "${text}" for --output: ${format} takes no template`);
  }
  return { format, template };
}

/** Whether the value of `-o` names a format that every command has, with or without its template. */
export function isFormat(text: string): boolean {
  return outputFormats.some((format) => text === format || text.startsWith(`${format}=`));
}

const examples: Partial<Record<OutputFormat, string>> = {
  jsonpath: "jsonpath='{.items[*].name}'",
  "jsonpath-as-json": "jsonpath-as-json='{.items[*].name}'",
  "custom-columns": "custom-columns=NAME:.name,CLUSTER:.cluster.name",
};

function unknownFormat(text: string, extra: readonly ExtraFormat[]): UsageError {
  const [name] = text.split("=");
  if (/^(?:go-?template|template)/.test(text)) {
    return new UsageError(`-o ${name} is not supported by kubectl knfleet`, [
      "Use -o jsonpath=TEMPLATE, or -o json with jq.",
    ]);
  }
  const wanted = [...outputText.split("|"), ...extra].join(", ");
  return new UsageError(`Invalid value "${text}" for --output: want ${wanted}`);
}

/** A document as JSON with a final newline. */
export function renderJson(document: unknown, indent = 2): string {
  return `${escaped(JSON.stringify(document, null, indent))}\n`;
}

/** A value as JSON on one line. */
export function jsonLine(value: unknown): string {
  return `${escaped(JSON.stringify(value))}\n`;
}

// Escapes characters that JSON allows but that terminals interpret. They occur in strings only. Security: T-86.
function escaped(json: string): string {
  return asEscapes(json, /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g);
}

/** An object as JSON with `-o json`, else as YAML. */
export async function objectText(
  object: unknown,
  { output }: { readonly output: OutputFormat },
): Promise<string> {
  return output === "json" ? renderJson(object) : renderYaml(object);
}

/** A document as YAML. Loads the library on demand. */
export async function renderYaml(document: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
