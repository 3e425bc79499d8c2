import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { foundFiles } from "../support/found-releases.ts";
import { buildImage } from "./build-image.ts";
import { ensureImageTools, imageObstacle } from "./image-tools.ts";

const usage = `Usage: npm run image

Builds the Dockerfile with buildah on a machine that cannot have its base images: a small Debian with this Node takes their place. Nothing is installed,
and no image is kept: it proves that the Dockerfile builds. test/image runs what it makes. Needs root on Debian.

  --help
`;

const { env } = process;
const say = (line: string) => void process.stderr.write(`${line}\n`);

async function image(): Promise<void> {
  const obstacle = imageObstacle(env);
  if (obstacle !== undefined) throw new Error(`The image cannot be built here: ${obstacle}`);
  const releases = await foundFiles(undefined, say);
  await ensureImageTools(env, say);
  const folder = await mkdtemp(join(tmpdir(), "knfleet-image-"));
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  try {
    say(`Building the image with ${releases.title}`);
    const target = join(folder, "root");
    process.stdout.write(await buildImage({ target, releases }, stop.signal));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

try {
  if (parseArgs({ options: { help: { type: "boolean", default: false } } }).values.help)
    process.stdout.write(usage);
  else await image();
} catch (error) {
  say(`Error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
