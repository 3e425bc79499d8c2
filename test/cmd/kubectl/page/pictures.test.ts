import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { startBrowser } from "./browser.ts";
import { drawPictures, pictureFolder } from "./pictures.ts";

const project = join(import.meta.dirname, "../../../..");
const maxBytes = 120_000;

/** Names of the pictures in a folder. Throws for one that is too large, or empty. */
async function smallPictures(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name))));
  expect(sizes.filter(({ size }) => size > maxBytes || size < 5_000)).toEqual([]);
  return names.toSorted();
}

// How they look depends on the fonts of the machine, so they are not compared.
test("the pictures of the documentation can be drawn, are small, and are all shown", async () => {
  await using browser = await startBrowser();
  const folder = await mkdtemp(join(tmpdir(), "knfleet-pictures-test-"));
  try {
    const names = await drawPictures(folder, browser);
    expect(await smallPictures(folder)).toEqual(names.toSorted());
    expect(await smallPictures(join(project, pictureFolder))).toEqual(names.toSorted());
    const page = await readFile(join(project, "docs/ui.md"), "utf8");
    for (const name of names) expect(page).toContain(`](pictures/${name})`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
