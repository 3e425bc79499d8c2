import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { parseExactJson } from "../../access/json.ts";
import { isRecord } from "../../api/fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What was recorded of the Go reference for one input. Format: recorded/README.md. */
export interface AccessCase {
  /** `group/id`. */
  readonly name: string;
  readonly group: string;
  /** Row of section 8 of the specification; empty when there is none. */
  readonly row: string;
  readonly input: Fields;
  readonly recorded: Fields;
  /** What is wanted in place of the recording, or beside it. */
  readonly wanted: { readonly text: string; readonly kind: string } | undefined;
}

const recorded = join(import.meta.dirname, "recorded/access");

/** The recorded cases of a folder, by default those of the project: one a line of a `.jsonl` file, or one a `.json` file. */
export async function accessCases(folder = recorded): Promise<readonly AccessCase[]> {
  const files = await readdir(folder, { recursive: true });
  const named = files.filter((file) => /\.jsonl?$/u.test(file) && !file.endsWith("index.json"));
  const cases = await Promise.all(
    named.toSorted().map(async (file) => {
      const content = await readFile(join(folder, file), "utf8");
      const texts = file.endsWith(".jsonl") ? content.trimEnd().split("\n") : [content];
      return texts.map(caseOf);
    }),
  );
  return cases.flat().filter((one) => one !== undefined);
}

function caseOf(content: string): AccessCase | undefined {
  const plain: unknown = JSON.parse(content);
  if (!isRecord(plain) || !isRecord(plain["input"]) || !isRecord(plain["recorded"])) {
    return undefined;
  }
  const { wanted } = plain;
  const group = textOf(plain["group"]);
  return {
    name: `${group}/${textOf(plain["id"])}`,
    group,
    row: textOf(plain["row"]),
    input: { ...plain["input"], profiles: exactProfiles(content) },
    recorded: plain["recorded"],
    wanted: isRecord(wanted)
      ? { text: textOf(wanted["text"]), kind: textOf(wanted["kind"]) }
      : undefined,
  };
}

/** The profiles as they are written: numbers keep their text. */
function exactProfiles(content: string): readonly unknown[] {
  const exact = parseExactJson(content);
  const input = isRecord(exact) && isRecord(exact["input"]) ? exact["input"] : {};
  if (!Array.isArray(input["profileTexts"])) return listOf(input["profiles"]);
  return input["profileTexts"].map((text: unknown) => parseExactJson(textOf(text)));
}

/** A text, or the empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A list, or the empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An object, or the empty one. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}
