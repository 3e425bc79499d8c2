import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { ManifestWork } from "../../../api/delivery.ts";
import { recordAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { ensureWork, orphanWork, removeOrphanedWorks } from "../../../controller/pull/hub-works.ts";
import { agentWork } from "../../../controller/pull/works.ts";
import { unexpected } from "../../support/bare-client.ts";
import { hubWithNone } from "../dispatched-hub.ts";

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

/** What a component says of a refusal: the cause in words of ours, and then in those of the hub. */
function lacking(code: string, why: string) {
  const words = `[${code}] ManifestWork spoke-1/knfleet-agent: ${why}: `;
  return { reason: "AccessProviderFailed", code, message: expect.stringContaining(words) };
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
    [
      403,
      'manifestworks.work.open-cluster-management.io "knfleet-agent" is forbidden: User "a" cannot patch resource "manifestworks" in API group "work.open-cluster-management.io" in the namespace "spoke-1"',
      lacking(
        "WorkRightMissing",
        "the controller lacks the right to patch manifestworks.work.open-cluster-management.io in namespace spoke-1 on the hub",
      ),
    ],
    [
      403,
      'manifestworks "knfleet-agent" is forbidden: exceeded quota: few, requested: count/manifestworks=1',
      lacking("WorkRefused", "the hub refuses it, because the quota few is exhausted"),
    ],
    [
      409,
      'admission webhook "w" denied the request: no',
      lacking("WorkRefused", "the hub refuses it, because the admission webhook w denies it"),
    ],
    [
      401,
      "manifestworks \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
      lacking(
        "WorkRefused",
        "the hub refuses it, because the ValidatingAdmissionPolicy p denies it",
      ),
    ],
    [
      500,
      'Internal error occurred: failed calling webhook "w": no endpoints',
      lacking("WebhookSilent", "the hub refuses it for now, because the webhook w does not answer"),
    ],
    [
      500,
      "etcdserver: request is too large",
      lacking("WorkRefused", "the hub refuses it, because it is larger than the cluster can store"),
    ],
    [422, "spec.workload: Invalid value", lacking("WorkRefused", "the hub refuses it")],
    [500, "failed to create typed patch object (x)", lacking("WorkRefused", "the hub refuses it")],
    [
      403,
      "unable to create new content in namespace spoke-1 because it is being terminated",
      {
        reason: "ClusterBusy",
        message: "ManifestWork spoke-1/knfleet-agent: the hub's namespace spoke-1 is being deleted",
      },
    ],
    [
      403,
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: because it is being terminated soon",
      lacking(
        "WorkRefused",
        "the hub refuses it, because the ValidatingAdmissionPolicy p denies it",
      ),
    ],
    [
      404,
      'namespaces "spoke-1" not found',
      { reason: "AccessProviderFailed", code: "NotManagedByOCM" },
    ],
  ])("unless the hub answers %i %s", async (status, message, error) => {
    await expect(ensure(undefined, refusing(status, message))).rejects.toMatchObject(error);
  });

  test("and an error that may pass is left to the queue", async () => {
    await expect(ensure(undefined, refusing(503, "busy"))).rejects.toBeInstanceOf(ApiError);
    const uncounted = refusing(
      403,
      '"a" is forbidden: status unknown for quota: few, resources: x',
    );
    await expect(ensure(undefined, uncounted)).rejects.toBeInstanceOf(ApiError);
  });
});

const orphaning = { propagationPolicy: "Orphan" } as const;

/** A work that the agent of Open Cluster Management has applied in this generation, while it is in generation 2. */
function applied(observedGeneration: number, deleteOption: object = {}): ManifestWork {
  const condition = { type: "Applied", status: "True", observedGeneration } as const;
  const { metadata } = stored();
  const spec: object = { deleteOption };
  return stored({
    metadata: { ...metadata, name: "work", generation: 2 },
    spec,
    status: { conditions: [condition] },
  });
}

/** A hub with works, and the writes that it gets. */
function hubWith(works: readonly ManifestWork[]) {
  const writes: unknown[] = [];
  const hub = {
    list: async () => ({ items: works, resourceVersion: "1" }),
    patch: async (ref: { readonly name: string }, patch: unknown) => {
      writes.push({ patch: ref.name, with: patch });
      return stored();
    },
    remove: async (ref: { readonly name: string }, options: object) => {
      writes.push({ remove: ref.name, ...options });
      return "gone" as const;
    },
  };
  return { hub, writes };
}

describe("a work that is orphaned", () => {
  test("says so first, and does not go before its agent knows", async () => {
    const { hub, writes } = hubWith([]);
    expect(await orphanWork(applied(2), hub, signal)).toBe(false);
    const deleteOption = { propagationPolicy: "Orphan", selectivelyOrphans: null };
    expect(writes).toEqual([
      { patch: "work", with: { metadata: { uid: "u" }, spec: { deleteOption } } },
    ]);
  });

  test("waits without a write until its agent has applied that", async () => {
    const { hub, writes } = hubWith([]);
    expect(await orphanWork(applied(1, orphaning), hub, signal)).toBe(false);
    expect(writes).toEqual([]);
  });

  test("goes when its agent has applied that", async () => {
    const { hub, writes } = hubWith([]);
    expect(await orphanWork(applied(2, orphaning), hub, signal)).toBe(true);
    expect(writes).toEqual([{ remove: "work", uid: "u" }]);
  });

  test("is left alone while it is going", async () => {
    const { hub, writes } = hubWith([]);
    const work = applied(2);
    const metadata = { ...work.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(await orphanWork({ ...work, metadata }, hub, signal)).toBe(true);
    expect(writes).toEqual([]);
  });
});

describe("before the next work of a cluster", () => {
  test("the orphaned ones go, but not that of the agent, and nothing is written meanwhile", async () => {
    const agent = { ...applied(2, orphaning), metadata: stored().metadata };
    const all = [agent, applied(2), applied(2, orphaning)];
    const { hub, writes } = hubWith(all);
    await expect(removeOrphanedWorks(all, hub, signal)).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: "ManifestWork spoke-1/work of a removed component has yet to go",
    });
    expect(writes).toEqual([{ remove: "work", uid: "u" }]);
  });

  test("nothing is waited for where none is orphaned", async () => {
    const agent = { ...applied(2, orphaning), metadata: stored().metadata };
    const { hub, writes } = hubWith([agent, applied(2)]);
    await removeOrphanedWorks([agent, applied(2)], hub, signal);
    expect(writes).toEqual([]);
  });
});
