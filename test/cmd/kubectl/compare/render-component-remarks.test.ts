import { expect, test } from "vitest";

import { remarkLines } from "../../../../cmd/kubectl/compare/render-component.ts";
import { openReleases } from "../../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../../cmd/release-files.ts";
import { BoundedCache } from "../../../../render/release/releases.ts";
import { serving } from "../../../render/components.ts";

test("remarks of components that differ by their cluster only are searched for once", async () => {
  const found = await openReleases(sampleDirOf());
  let searches = 0;
  const releases = () => {
    searches += 1;
    return Promise.resolve(found);
  };
  const settings = {
    releases,
    manifestText: undefined,
    remarks: new BoundedCache<readonly string[]>(2),
  };
  const linesOf = (cluster: string, name: string) =>
    remarkLines(
      serving({
        clusterProfileRef: { namespace: "fleet", name: cluster },
        ingress: { kourier: { enabled: true } },
        workloads: [{ name }],
      }),
      settings,
      { version: "1.23.1" },
    );
  expect(await linesOf("a", "nobody")).toHaveLength(1);
  expect(await linesOf("b", "nobody")).toHaveLength(1);
  expect(searches).toBe(1);
  expect(await linesOf("b", "activator")).toEqual([]);
  expect(searches).toBe(2);
});
