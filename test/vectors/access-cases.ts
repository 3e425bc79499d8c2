import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { parseExactJson } from "../../access/json.ts";
import { isRecord } from "../../api/fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What was recorded of the Go reference for one input. Format: README.md of the access vectors. */
export interface AccessCase {
  /** `group/file`, without the extension. */
  readonly name: string;
  readonly group: string;
  /** Row of section 8 of the specification; empty when there is none. */
  readonly row: string;
  readonly input: Fields;
  readonly recorded: Fields;
  /** What is wanted in place of the recording, or beside it. */
  readonly wanted: { readonly text: string; readonly kind: string } | undefined;
}

const recorded = resolve(import.meta.dirname, "../../../shared/vectors/access");

/** The recorded cases of a folder, by default the shared one; undefined where that is absent. */
export async function accessCases(folder = recorded): Promise<readonly AccessCase[] | undefined> {
  if (!existsSync(folder)) return undefined;
  const files = await readdir(folder, { recursive: true });
  const names = files.filter((file) => file.endsWith(".json") && !file.endsWith("index.json"));
  const cases = await Promise.all(names.toSorted().map((name) => readCase(folder, name)));
  return cases.filter((one) => one !== undefined);
}

async function readCase(folder: string, file: string): Promise<AccessCase | undefined> {
  const content = await readFile(join(folder, file), "utf8");
  const plain: unknown = JSON.parse(content);
  if (!isRecord(plain) || !isRecord(plain["input"]) || !isRecord(plain["recorded"])) {
    return undefined;
  }
  const { wanted } = plain;
  return {
    name: file.replace(/\.json$/, ""),
    group: textOf(plain["group"]) || (file.split("/").at(-2) ?? ""),
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
