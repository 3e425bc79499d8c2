import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isMap, isScalar, parse, parseDocument, type YAMLMap } from "yaml";

import { isRecord } from "../../api/fields.ts";
import { markdownTable } from "./markdown-table.ts";
import { runGenerator } from "./run-program.ts";

const usage = `Usage: npm run chart-readme [-- --check]

Writes the README of the chart and the comments in its values.yaml from its values.schema.json.

  --check   only say whether they are up to date; exit code 1 when they are not
  --help
`;

const chart = join(import.meta.dirname, "../../charts/knfleet");

function read(name: string): Promise<string> {
  return readFile(join(chart, name), "utf8");
}

const head = `# The knfleet chart

**Nothing is released yet:** until the first version has a tag, the addresses of chart and plugin lead to nothing. [From a checkout](../../README.md#from-a-checkout) works today.

\`\`\`sh
helm install knfleet oci://ghcr.io/knfleet/charts/knfleet --namespace knfleet-system --create-namespace
\`\`\`

[docs/install.md](../../docs/install.md) says what to set, and
[docs/upgrade.md](../../docs/upgrade.md) what happens when it is upgraded or goes. CRDs are installed and upgraded with the chart and stay when it goes.

## Values

`;

interface Row {
  readonly path: string;
  readonly value: unknown;
  readonly description: string;
}

/**
 * Generates the README of a chart: every value of its schema with the default of `values.yaml`. Throws a plain Error for a value of the schema that
 * `values.yaml` does not set.
 */
export function readmeOf(schemaText: string, valuesText: string): string {
  const schema: unknown = JSON.parse(schemaText);
  const values: unknown = parse(valuesText);
  const rows = rowsOf(schema, values, "").map(cellsOf);
  return `${head}${markdownTable(["value", "default", "meaning"], rows)}\n`;
}

function rowsOf(schema: unknown, values: unknown, path: string): readonly Row[] {
  const properties = isRecord(schema) ? schema["properties"] : undefined;
  if (!isRecord(properties)) return [];
  return Object.entries(properties).flatMap(([name, inner]) => {
    const here = path === "" ? name : `${path}.${name}`;
    if (!isRecord(inner) || here === "global") return [];
    const value = isRecord(values) ? values[name] : undefined;
    if (value === undefined && !path.includes("[]")) throw new Error(`values.yaml lacks ${here}`);
    const description = typeof inner["description"] === "string" ? inner["description"] : "";
    if (isRecord(inner["properties"])) return rowsOf(inner, value, here);
    const row = { path: here, value, description };
    return [row, ...rowsOf(inner["items"], undefined, `${here}[]`)];
  });
}

function cellsOf({ path, value, description }: Row): readonly string[] {
  const shown = value === undefined ? "" : `\`${JSON.stringify(value)}\``;
  return [`\`${path}\``, shown, description].map((cell) => cell.replaceAll("|", "\\|"));
}

/** `values.yaml` with the description of the schema above each value, which `helm show values` prints. Keeps the first line, the values, their order and empty lines. */
export function commentedValuesOf(schemaText: string, valuesText: string): string {
  const [title = "", ...lines] = valuesText.split("\n");
  const document = parseDocument(lines.filter((line) => !/^ *#/.test(line)).join("\n"));
  const schema: unknown = JSON.parse(schemaText);
  if (isMap(document.contents)) comment(document.contents, schema);
  return `${title}\n\n${document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimStart()}`;
}

function comment(values: YAMLMap, schema: unknown): void {
  const properties = isRecord(schema) ? schema["properties"] : undefined;
  for (const { key, value } of values.items) {
    const inner = isRecord(properties) && isScalar(key) ? properties[String(key.value)] : undefined;
    if (!isRecord(inner) || !isScalar(key)) continue;
    const { description } = inner;
    key.commentBefore = typeof description === "string" ? folded(description) : null;
    if (isMap(value) && isRecord(inner["properties"])) comment(value, inner);
  }
}

/** A text in lines of at most 116 characters, each with a space before it. */
function folded(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 116) lines.push(`${lines.pop()} ${word}`);
    else lines.push(` ${word}`);
  }
  return lines.join("\n");
}

if (import.meta.main)
  await runGenerator(usage, async (onlyCheck) => {
    const schema = await read("values.schema.json");
    const values = commentedValuesOf(schema, await read("values.yaml"));
    const made: Readonly<Record<string, string>> = {
      "values.yaml": values,
      "README.md": readmeOf(schema, values),
    };
    const wrote: string[] = [];
    for (const [name, text] of Object.entries(made)) {
      // oxlint-disable-next-line no-await-in-loop -- two files
      if (text !== (await read(name).catch(() => ""))) wrote.push(name);
    }
    if (wrote.length === 0) return "README and values.yaml of the chart are up to date";
    if (onlyCheck) throw new Error(`${wrote.join(", ")} of the chart: run npm run chart-readme`);
    await Promise.all(wrote.map((name) => writeFile(join(chart, name), made[name] ?? "")));
    return `Wrote ${wrote.join(" and ")} of charts/knfleet`;
  });
