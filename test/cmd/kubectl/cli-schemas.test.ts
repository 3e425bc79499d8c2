import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";

import { isRecord } from "../../../api/fields.ts";
import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { runText } from "./run-text.ts";

const schemaFolder = join(import.meta.dirname, "../../../docs/schemas/v1");
const goldenFolder = join(import.meta.dirname, "../../golden");

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

function schemaOf(kind: string): object {
  const schema: unknown = JSON.parse(readFileSync(join(schemaFolder, `${kind}.json`), "utf8"));
  if (!isRecord(schema)) throw new Error(`${kind} has no schema`);
  return schema;
}

/** The same schema, but what it does not name is not allowed either: users may be given more, golden files not. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (!isRecord(schema)) return schema;
  const entries = Object.entries(schema).map(([name, part]) => [name, strict(part)]);
  const closed = isRecord(schema["properties"]) && "required" in schema;
  return { ...Object.fromEntries(entries), ...(closed ? { additionalProperties: false } : {}) };
}

/** The document that a golden file begins with. */
function documentIn(text: string): unknown {
  const [first = ""] = text.split(/^--- stderr$/m);
  return JSON.parse(first);
}

const goldenFiles = readdirSync(goldenFolder, { encoding: "utf8", recursive: true }).filter(
  (file) => file.endsWith("json.txt"),
);
// Both directions of a migration print the same document.
const kinds = [...new Set(commandTable().flatMap(({ kind }) => kind ?? []))];

// What `ui` serves besides; ui.test.ts holds it to its schemas.
const ofThePage = ["ClusterList", "PageState"];

describe("the JSON Schemas of the package", () => {
  test("are there for every document, and for no other", () => {
    const files = readdirSync(schemaFolder);
    const all = [...kinds, ...ofThePage];
    expect(files.toSorted()).toEqual(all.map((kind) => `${kind}.json`).toSorted());
  });

  test("hold for every golden file, and name all of its fields", () => {
    const seen = new Set<string>();
    for (const file of goldenFiles) {
      const text = readFileSync(join(goldenFolder, file), "utf8");
      const document = documentIn(text);
      const kind = isRecord(document) ? String(document["kind"]) : "";
      if (!kinds.includes(kind)) continue;
      seen.add(kind);
      const own: unknown = strict({ ...schemaOf(kind), $id: undefined });
      if (!isRecord(own)) throw new Error("A schema is an object");
      const isValid = ajv.compile(own);
      isValid(document);
      expect({ file, errors: isValid.errors ?? [] }).toEqual({ file, errors: [] });
    }
    expect([...seen].toSorted()).toEqual(kinds.toSorted());
  });

  test.each(kinds)("%s holds when the command could not do its work, too", async (kind) => {
    const name = commandTable().find((entry) => entry.kind === kind)?.name ?? "";
    const args = name === "get" ? [name, "pods"] : name.split(" ");
    const { stdout } = await runText([...args, "--kubeconfig", "/nowhere", "-o", "json"]);
    const isValid = ajv.compile({ ...schemaOf(kind), $id: undefined });
    isValid(JSON.parse(stdout));
    expect(isValid.errors ?? []).toEqual([]);
  });
});
