import { parseArgs } from "node:util";

import { staleCrdFiles, writeCrdFiles } from "./crd-files.ts";

// `npm run crds` writes the CRDs of the chart, `npm run crds -- --check` only says whether they are up to date.
const root = `${import.meta.dirname}/..`;
const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const stale = await staleCrdFiles(root);

if (values.check && stale.length > 0) {
  process.stderr.write(`Out of date, run npm run crds: ${stale.join(", ")}\n`);
  process.exitCode = 1;
} else {
  if (stale.length > 0) await writeCrdFiles(root);
  process.stdout.write(
    stale.length === 0 ? "CRDs are up to date\n" : `Wrote ${stale.join(", ")}\n`,
  );
}
