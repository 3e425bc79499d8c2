import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { ManifestWork } from "../../../api/delivery.ts";
import { recordAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { ensureWork } from "../../../controller/pull/hub-works.ts";
import { agentWork } from "../../../controller/pull/works.ts";
import { hubWithNone, unexpected } from "../dispatched-hub.ts";

const desired = agentWork("spoke-1", "image");
const { signal } = new AbortController();

/** The work as an API server stores it: with fields of its own, and defaults of the CRD. */
function stored(change: Partial<ManifestWork> = {}): ManifestWork {
  const metadata = {
    ...desired.metadata,
    name: "knfleet-agent",
    namespace: "spoke-1",
    uid: "u",
    resourceVersion: "1",
  };
  const defaults: object = { executor: null };
  const spec = { ...defaults, ...recordAt(desired, "spec") };
  return { ...desired, metadata, spec, ...change };
}

/** Ensures the work on a hub that answers the write as told. */
function ensure(found: ManifestWork | undefined, apply: () => Promise<KubeObject> = unexpected) {
  const { deps } = hubWithNone();
  const hub = { ...deps.hub, apply };
  return ensureWork(desired, { hub, hubId: "hub", stored: found }, signal);
}

function refusing(status: number, message: string): () => Promise<KubeObject> {
  const facts = { status, message, reason: "", causes: [], isStatus: true };
  return () => Promise.reject(new ApiError({ ...facts, request: "PATCH /works" }));
}

describe("a work is ensured", () => {
  test("without a write when it is stored with more fields", async () => {
    const work = stored();
    expect(await ensure(work)).toBe(work);
  });

  test.each([
    ["is missing", undefined],
    ["has another label", stored({ metadata: { ...stored().metadata, labels: {} } })],
    ["has other manifests", stored({ spec: { workload: { manifests: [] } } })],
    [
      "has a field that was taken away since",
      stored({
        metadata: { ...stored().metadata, annotations: { "knfleet.dev/work-hash": "of more" } },
      }),
    ],
  ])("by a write when it %s", async (_, found) => {
    const written = stored();
    expect(await ensure(found, () => Promise.resolve(written))).toBe(written);
  });

  test("but not while it is being deleted", async () => {
    const work = stored();
    const metadata = { ...work.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    await expect(ensure({ ...work, metadata })).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: "ManifestWork spoke-1/knfleet-agent is still being deleted",
    });
  });

  test.each([
    [403, "manifestworks is forbidden: no", { reason: "AccessProviderFailed", code: "Forbidden" }],
    [
      400,
      'admission webhook "w" denied the request: no',
      { reason: "AccessProviderFailed", code: "AdmissionRefused" },
    ],
    [404, 'namespaces "spoke-1" not found', { reason: "ClusterProfileNotFound" }],
  ])("unless the hub answers %i %s", async (status, message, error) => {
    await expect(ensure(undefined, refusing(status, message))).rejects.toMatchObject(error);
  });

  test("and an error that may pass is left to the queue", async () => {
    await expect(ensure(undefined, refusing(503, "busy"))).rejects.toBeInstanceOf(ApiError);
  });
});
