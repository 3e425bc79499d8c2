import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { sampleDirOf } from "../../cmd/release-files.ts";
import { foundFiles } from "./found-releases.ts";

test("a folder without release files is refused, and never taken for Knative's own", async () => {
  const empty = await mkdtemp(join(tmpdir(), "knfleet-found-releases-"));
  onTestFinished(() => rm(empty, { recursive: true }));
  for (const folder of ["/nonexist", empty]) {
    // oxlint-disable-next-line no-await-in-loop -- two quick ones
    await expect(foundFiles(folder, () => undefined)).rejects.toMatchObject({
      reason: "ConfigInvalid",
      message: expect.stringContaining(`Release directory ${folder}, which --release-dir names, `),
    });
  }
  expect(await foundFiles(sampleDirOf(), () => undefined)).toMatchObject({ isKnative: false });
});
