import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { bundle } from "./bundle.ts";
import { distFiles, isOurs } from "./package-files.ts";

const usage = `Usage: npm run build [-- --output DIR]

Bundles all programs into a folder that runs without node_modules: one file a program, and chunks that are loaded when they are needed.
\`npm pack DIR\` makes the package of kubectl knfleet of it; the image holds all of it.

  --output DIR   default: dist
  --help
`;

const root = resolve(import.meta.dirname, "../..");

try {
  const { values } = parseArgs({
    options: {
      output: { type: "string", default: join(root, "dist") },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else await build(resolve(values.output));
} catch (error) {
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function build(folder: string): Promise<void> {
  if (!isOurs(folder)) {
    throw new Error(`${folder} holds something else and is left alone`);
  }
  const files = distFiles(root, await bundle(root));
  await rm(folder, { recursive: true, force: true });
  for (const { name, content, mode } of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content, { mode });
  }
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  process.stdout.write(`${folder}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB\n`);
}
