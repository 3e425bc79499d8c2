import { mkdir, rm, writeFile } from "node:fs/promises";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

import { unpackTar } from "../../../../cmd/kubectl/bundle/tar.ts";
import type { Ran } from "../run-knfleet.ts";
import { sceneArgs, sceneNames, type SceneName } from "./scenes.ts";

/** Where the recorded fleets are: bundles, unpacked. */
export const recordedFolder = join(import.meta.dirname, "../../../fixtures/recorded-fleets");

/** The scenes that `KNFLEET_RECORD` asks for: `1` for all of them, or their names with commas between. */
export function scenesToRecord(asked: string | undefined): readonly SceneName[] {
  const names = asked?.split(",") ?? [];
  return sceneNames.filter((name) => asked === "1" || names.includes(name));
}

/** Records a scene of a real fleet with `gather`, for the golden files. */
export async function recordScene(
  name: SceneName,
  knfleet: (...args: readonly string[]) => Promise<Ran>,
  folder: string,
): Promise<void> {
  const path = join(folder, `${name}.tgz`);
  await knfleet("gather", ...sceneArgs[name], "-o", path);
  await rm(join(recordedFolder, name), { recursive: true, force: true });
  // The page for a browser is made of the rest.
  const files = await unpackTar(gunzipSync(await readFile(path)));
  for (const file of files.filter((one) => !one.path.endsWith(".html"))) {
    const target = join(recordedFolder, file.path);
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    await mkdir(dirname(target), { recursive: true });
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    await writeFile(target, file.text.replaceAll(folder, "/fleet"));
  }
}
