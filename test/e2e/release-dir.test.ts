import { expect, test } from "vitest";

import { releaseDir } from "./release-dir.ts";

test("a test file without the tag gets no release files, on no machine", async () => {
  await expect(releaseDir()).rejects.toThrow(/release-dir\.test\.ts .* without the tag/u);
});
