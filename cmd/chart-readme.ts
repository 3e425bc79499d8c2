import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { readmeOf } from "./chart-values.ts";

const usage = `Usage: npm run chart-readme [-- --check]

Writes the README of the chart from its values.schema.json and values.yaml.

  --check   only say whether it is up to date; exit code 1 when it is not
  --help
`;

const chart = join(import.meta.dirname, "../charts/knfleet");
const path = join(chart, "README.md");

try {
  const { values } = parseArgs({
    options: {
      check: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else await bringUpToDate(values.check);
} catch (error) {
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function bringUpToDate(onlyCheck: boolean): Promise<void> {
  const text = readmeOf(await read("values.schema.json"), await read("values.yaml"));
  if (text === (await readFile(path, "utf8").catch(() => ""))) {
    process.stdout.write("The README of the chart is up to date\n");
    return;
  }
  if (onlyCheck)
    throw new Error("The README of the chart is out of date, run npm run chart-readme");
  await writeFile(path, text);
  process.stdout.write("Wrote charts/knfleet/README.md\n");
}

function read(name: string): Promise<string> {
  return readFile(join(chart, name), "utf8");
}
