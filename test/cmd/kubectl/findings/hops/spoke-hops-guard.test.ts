import { expect, test } from "vitest";

import type { Condition } from "../../../../../api/kubernetes.ts";
import { checkGuard } from "../../../../../cmd/kubectl/findings/hops/spoke-hops.ts";
import { anchorAnnotations } from "../../../../../installation/anchor.ts";
import { MemorySpoke } from "../../../../controller/guard/memory-spoke.ts";
import { serving } from "../../../../support/component.ts";

const { signal } = new AbortController();
const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
const since = "2026-02-03T04:05:06Z";

const anchor = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "knativeserving-knative-serving-root-owner",
    namespace: "knative-serving",
    uid: "a",
    resourceVersion: "1",
    annotations: { [anchorAnnotations.hubId]: hubId },
  },
};

/** The findings on a cluster without any policy, so many seconds after a condition was written. */
async function findingsAfter(seconds: number, reason: string): Promise<readonly string[]> {
  const said = { type: "AnchorProtected", status: "False", reason, lastTransitionTime: since };
  const conditions: readonly Condition[] = [{ ...said, status: "False" }];
  const { client } = { client: new MemorySpoke(hubId).clientOf("somebody") };
  const now = new Date(Date.parse(since) + seconds * 1_000);
  const result = await checkGuard(serving({ status: { conditions } }), anchor, {
    client,
    signal,
    now,
  });
  return (result.findings ?? []).map(({ code }) => code);
}

test("a guard that is being proven is no error, unless that lasts longer than any proof", async () => {
  expect(await findingsAfter(5, "Probing")).toEqual([]);
  expect(await findingsAfter(61, "Probing")).toEqual(["KNF6005"]);
  expect(await findingsAfter(5, "NotEnforced")).toEqual(["KNF6005"]);
});
