import { join } from "node:path";

import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import { crdFiles, findStaleCrdFiles } from "../../../cmd/build/crds.ts";

const root = join(import.meta.dirname, "../../..");

describe("the CRDs of the chart", () => {
  it("are what the schemas demand (npm run crds)", async () => {
    expect(await findStaleCrdFiles(root)).toEqual([]);
  });

  it("are stale when they are missing", async () => {
    expect(await findStaleCrdFiles(join(root, "does-not-exist"))).toEqual(
      crdFiles().map(({ path }) => path),
    );
  });

  it("fit into the annotation of a client-side kubectl apply", () => {
    for (const { text } of crdFiles()) {
      // kubectl keeps the object there as JSON.
      expect(JSON.stringify(parse(text)).length).toBeLessThan(262_144);
    }
  });
});
