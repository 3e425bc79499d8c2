import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { sbomOf } from "./bill-of-materials.ts";
import { bundle } from "./bundle.ts";
import { packagesIn } from "./package-files.ts";

const usage = `Usage: npm run sbom [-- --output FILE]

Writes what is in the image, as CycloneDX 1.6: the packages of which something is in the bundle, Node and the releases of
releases.lock.json.

  --output FILE   default: standard output
  --help
`;

const root = resolve(import.meta.dirname, "../..");

try {
  const { values } = parseArgs({
    options: { output: { type: "string" }, help: { type: "boolean", default: false } },
  });
  if (values.help) process.stdout.write(usage);
  else await write(values.output);
} catch (error) {
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function write(output: string | undefined): Promise<void> {
  const sources = {
    lock: await read("package-lock.json"),
    releases: await read("releases.lock.json"),
    dockerfile: await read("Dockerfile"),
    bundled: packagesIn(await bundle(root)),
  };
  const text = `${JSON.stringify(sbomOf(sources), undefined, 2)}\n`;
  if (output === undefined) process.stdout.write(text);
  else await writeFile(output, text);
}

function read(name: string): Promise<string> {
  return readFile(join(root, name), "utf8");
}
