import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { readmeOf } from "./chart-values.ts";
import { runGenerator } from "./run-generator.ts";

const usage = `Usage: npm run chart-readme [-- --check]

Writes the README of the chart from its values.schema.json and values.yaml.

  --check   only say whether it is up to date; exit code 1 when it is not
  --help
`;

const chart = join(import.meta.dirname, "../../charts/knfleet");
const path = join(chart, "README.md");

await runGenerator(usage, async (onlyCheck) => {
  const text = readmeOf(await read("values.schema.json"), await read("values.yaml"));
  if (text === (await readFile(path, "utf8").catch(() => ""))) {
    return "The README of the chart is up to date";
  }
  if (onlyCheck) {
    throw new Error("The README of the chart is out of date, run npm run chart-readme");
  }
  await writeFile(path, text);
  return "Wrote charts/knfleet/README.md";
});

function read(name: string): Promise<string> {
  return readFile(join(chart, name), "utf8");
}
