import { mkdir, rm, writeFile } from "node:fs/promises";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

import { filesOfTar } from "../../../../cmd/kubectl/bundle/tar.ts";
import type { Ran } from "../run-knfleet.ts";
import { sceneArgs, type SceneName } from "./scenes.ts";

/** Where the recorded fleets are: bundles, unpacked. */
export const recordedFolder = join(import.meta.dirname, "../../../fixtures/recorded-fleets");

/** Records a scene of a real fleet with `gather`, for the golden files. */
export async function recordScene(
  name: SceneName,
  knfleet: (...args: readonly string[]) => Promise<Ran>,
  folder: string,
): Promise<void> {
  const path = join(folder, `${name}.tgz`);
  await knfleet("gather", ...sceneArgs[name], "-o", path);
  await rm(join(recordedFolder, name), { recursive: true, force: true });
  for (const file of filesOfTar(gunzipSync(await readFile(path)))) {
    const target = join(recordedFolder, file.path);
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    await mkdir(dirname(target), { recursive: true });
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    await writeFile(target, file.text);
  }
}
