import { parseArgs } from "node:util";

import { staleCrdFiles, writeCrdFiles } from "./crd-files.ts";

const usage = `Usage: npm run crds [-- --check]

Writes the CRDs of the chart from api/schema.

  --check   only say whether they are up to date; exit code 1 when they are not
  --help
`;

const root = `${import.meta.dirname}/..`;

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
  const stale = await staleCrdFiles(root);
  if (stale.length === 0) {
    process.stdout.write("CRDs are up to date\n");
    return;
  }
  if (onlyCheck) throw new Error(`Out of date, run npm run crds: ${stale.join(", ")}`);
  await writeCrdFiles(root);
  process.stdout.write(`Wrote ${stale.join(", ")}\n`);
}
