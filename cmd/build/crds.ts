import { staleCrdFiles, writeCrdFiles } from "./crd-files.ts";
import { runGenerator } from "./run-generator.ts";

const usage = `Usage: npm run crds [-- --check]

Writes the CRDs of the chart from api/schema.

  --check   only say whether they are up to date; exit code 1 when they are not
  --help
`;

const root = `${import.meta.dirname}/../..`;

await runGenerator(usage, async (onlyCheck) => {
  const stale = await staleCrdFiles(root);
  if (stale.length === 0) return "CRDs are up to date";
  if (onlyCheck) throw new Error(`Out of date, run npm run crds: ${stale.join(", ")}`);
  await writeCrdFiles(root);
  return `Wrote ${stale.join(", ")}`;
});
