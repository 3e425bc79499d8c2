import { expect, test } from "vitest";

import { FleetError } from "../../api/errors.ts";
import { sampleLines } from "./preparation.ts";

test.each([
  {
    name: "its cause",
    cause: new Error("fetch failed", { cause: new Error("ENOTFOUND github.com") }),
  },
  { name: "no cause", cause: undefined },
])("the sample release is explained by an error with $name, and with a remedy", ({ cause }) => {
  const because = new FleetError("ReleasesUnavailable", "Release file x could not be downloaded", {
    cause,
  });
  const [what = "", why = "", remedy = "", ...more] = sampleLines(because);
  expect(what).toContain("the sample release is used");
  expect(why).toBe(
    cause === undefined
      ? "Why: Release file x could not be downloaded"
      : "Why: Release file x could not be downloaded: fetch failed: ENOTFOUND github.com",
  );
  expect(remedy).toMatch(/^Remedy: .*name a folder .*KNFLEET_RELEASE_DIR/);
  expect(more).toEqual([]);
});
