import { describe, expect, test } from "vitest";

import { componentReview } from "../../../webhook/reviews/component-review.ts";
import type { AdmissionRequest } from "../../../webhook/reviews/review.ts";
import { factsOf, linesOf, written } from "../component-stage.ts";
import { edgeSpec } from "../edge-spec.ts";
import { containerRows, kourier, otherRows, placementRows } from "./workload-rows.ts";

// One for all: making it takes longer than what it does.
const review = componentReview({ facts: factsOf({}), accessReviews: { may: async () => true } });
const reviewed = (request: AdmissionRequest) => review(request, AbortSignal.timeout(30_000));

describe("what every cluster would refuse", () => {
  test.each([
    ...[...placementRows, ...containerRows].map(
      ([spec, path, message]) => [spec, `workloads[0].${path}`, message] as const,
    ),
    ...otherRows,
  ])("%j", async (spec, path, message) => {
    const lines = linesOf(await reviewed(written({ ...kourier({}), ...spec })));
    expect(lines).toEqual([expect.stringContaining(`422 spec.${path}: ${message}`)]);
  });

  test("is not what stands at the edge", async () => {
    expect(linesOf(await reviewed(written(edgeSpec)))).toEqual([]);
  });

  test("ports outside the usual range are warned of", async () => {
    const spec = kourier({ "service-type": "NodePort", "http-port": 80 });
    const { violations, warnings } = await reviewed(written(spec));
    expect([violations.length, ...warnings]).toEqual([
      0,
      expect.stringMatching(/^spec\.ingress\.kourier\.http-port: is outside 30000 to 32767/),
    ]);
  });
});
