import { describe, expect, test } from "vitest";

import { componentCheck } from "../../../cmd/kubectl/render/component-schema.ts";
import { mirrorOf } from "../../../cmd/release-files.ts";
import { openReleases } from "../../../controller/render/release.ts";
import { differencesOf } from "../../vectors/compare-render.ts";
import { runCase } from "../../vectors/render-case.ts";
import { renderVectors } from "../../vectors/render-cases.ts";
import { verdictOf } from "../../vectors/render-report.ts";

const check = componentCheck();
const vectors = await renderVectors();
const mirror = await mirrorOf(process.env);
const releases =
  vectors === undefined || mirror === undefined ? undefined : await openReleases(mirror);

/** What differs on purpose is in test/vectors/differences.ts; `npm run vectors` shows it. */
describe("what upstream was seen to do", () => {
  test("is compared where the shared folder is there", () => {
    expect(vectors?.cases.length ?? 132).toBeGreaterThanOrEqual(132);
    expect(releases === undefined).toBe(vectors === undefined);
  });

  test.each(vectors?.cases ?? [])("$name is equal, or different on purpose", async (one) => {
    if (vectors === undefined || releases === undefined) throw new Error("No releases");
    const outcome = await runCase(one, { releases, check });
    const { kind, details } = verdictOf(one.name, differencesOf(one, outcome, vectors.normalize));
    expect({ kind, details }).not.toMatchObject({
      kind: "wrong",
    });
  });
});
