import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { parse } from "yaml";

import { isRecord } from "../../api/fields.ts";
import { runGenerator } from "./run-program.ts";

const usage = `Usage: npm run chart-readme [-- --check]

Writes the README of the chart from its values.schema.json and values.yaml.

  --check   only say whether it is up to date; exit code 1 when it is not
  --help
`;

const chart = join(import.meta.dirname, "../../charts/knfleet");
const readmePath = join(chart, "README.md");

function read(name: string): Promise<string> {
  return readFile(join(chart, name), "utf8");
}

const head = `# The knfleet chart

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
  const cells = [["value", "default", "meaning"], ...rows];
  const widths = [0, 1, 2].map((column) =>
    Math.max(...cells.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [head + line(cells[0] ?? []), rule, ...rows.map(line), ""].join("\n");
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

if (import.meta.main)
  await runGenerator(usage, async (onlyCheck) => {
    const text = readmeOf(await read("values.schema.json"), await read("values.yaml"));
    if (text === (await readFile(readmePath, "utf8").catch(() => ""))) {
      return "The README of the chart is up to date";
    }
    if (onlyCheck) {
      throw new Error("The README of the chart is out of date, run npm run chart-readme");
    }
    await writeFile(readmePath, text);
    return "Wrote charts/knfleet/README.md";
  });
