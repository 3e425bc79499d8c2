import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { jobs, withoutGenerateName } from "../../../render/workloads/workloads.ts";

const job = (metadata: Manifest["metadata"], labels?: object): Manifest => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata,
  spec: { template: labels === undefined ? {} : { metadata: { labels } } },
});

describe("Jobs", () => {
  const name = jobs("serving", "1.23.0");

  test("are named by version, and only then lose generateName", () => {
    const named = name(job({ generateName: "migrate-" }));
    expect(named.metadata).toEqual({ generateName: "migrate-", name: "migrate-serving-1.23.0" });
    expect(withoutGenerateName(named).metadata).toEqual({ name: "migrate-serving-1.23.0" });
  });

  test("with a fixed name get the version too", () => {
    expect(name(job({ name: "post-install" })).metadata.name).toBe("post-install-serving-1.23.0");
  });

  test.each([
    { labels: undefined, injected: "false" },
    { labels: {}, injected: "false" },
    { labels: { "sidecar.istio.io/inject": "" }, injected: "false" },
    { labels: { "sidecar.istio.io/inject": "true" }, injected: "true" },
  ])("with pod labels $labels have sidecar injection $injected", ({ labels, injected }) => {
    expect(name(job({ name: "a" }, labels))).toMatchObject({
      spec: { template: { metadata: { labels: { "sidecar.istio.io/inject": injected } } } },
    });
  });

  test("of another API group are left alone", () => {
    const other = { ...job({ name: "a" }), apiVersion: "batch.example.com/v1" };
    expect(name(other)).toBe(other);
  });
});
