// @module-tag recordings
// @module-tag release-files
import { beforeAll, expect, test } from "vitest";

import { componentCheck } from "../../cmd/kubectl/selection/component-documents.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import type { Releases } from "../../render/release/releases.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { differencesOf } from "../vectors/compare-render.ts";
import { runCase } from "../vectors/render-case.ts";
import { patchVectors, renderVectors } from "../vectors/render-cases.ts";
import { verdictOf } from "../vectors/render-report.ts";

const check = componentCheck();
const vectors = await renderVectors();
const patches = await renderVectors(patchVectors);
let releases: Releases;

beforeAll(async () => {
  releases = await openReleases(await releaseDir());
});

// What differs on purpose is in test/vectors/differences.ts; `npm run vectors` shows it.

test("everything that upstream was seen to do is compared", () => {
  expect(vectors?.cases.length).toBeGreaterThanOrEqual(132);
  expect(patches?.cases).toHaveLength(65);
});

test.each([...(vectors?.cases ?? []), ...(patches?.cases ?? [])])(
  "$name is equal, or different on purpose",
  async (one) => {
    if (vectors === undefined) throw new Error("No recordings");
    const outcome = await runCase(one, { releases, check });
    const { kind, details } = verdictOf(one.name, differencesOf(one, outcome, vectors.normalize));
    expect({ kind, details }).not.toMatchObject({ kind: "wrong" });
  },
);
