import { describe, expect, test } from "vitest";

import { type ResourceOverrides, withResources } from "../../../render/workloads/pod-template.ts";
import { deprecatedResources } from "../../../render/workloads/workloads.ts";
import { withContainer, workload } from "../workload-objects.ts";

const before = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m" } };

describe("resources of a container", () => {
  test.each<{ overrides: ResourceOverrides; after: object }>([
    {
      overrides: [{ container: "c", limits: { cpu: 2 }, requests: { memory: "64Mi" } }],
      after: {
        limits: { cpu: 2, memory: "1Gi" },
        requests: { cpu: "100m", memory: "64Mi" },
      },
    },
    {
      overrides: [
        { container: "c", limits: { cpu: "3" } },
        { container: "c", limits: { cpu: "4" }, requests: { cpu: "5" } },
      ],
      after: { ...before, limits: { cpu: "3", memory: "1Gi" } },
    },
    {
      overrides: [
        { container: "C", limits: { cpu: "3" } },
        { container: "c", limits: {} },
      ],
      after: before,
    },
  ])("with $overrides are $after", ({ overrides, after }) => {
    expect(withResources(withContainer("a", { resources: before }), [overrides])).toEqual(
      withContainer("a", { resources: after }),
    );
  });

  test("are made where there are none, without empty maps", () => {
    const limits = { cpu: "1" };
    for (const container of [{}, { resources: {} }, { resources: { limits: null } }]) {
      expect(
        withResources(withContainer("a", container), [[{ container: "c", limits, requests: {} }]]),
      ).toEqual(withContainer("a", { resources: { limits } }));
    }
  });

  test("of several overrides are set one after the other", () => {
    const overrides: readonly ResourceOverrides[] = [
      [{ container: "c", limits: { cpu: "3", memory: "2Gi" } }],
      [
        { container: "c", limits: { cpu: "4" } },
        { container: "c", limits: { cpu: "5" } },
      ],
    ];
    expect(withResources(withContainer("a", { resources: before }), overrides)).toEqual(
      withContainer("a", { resources: { ...before, limits: { cpu: "4", memory: "2Gi" } } }),
    );
  });

  test("without a change stay the same object, and take no claims", () => {
    const manifest = withContainer("a", {});
    expect(withResources(manifest, [undefined, []])).toBe(manifest);
    expect(withResources(manifest, [[{ container: "c", claims: [{ name: "x" }] }]])).toBe(manifest);
  });
});

describe("deprecated resources", () => {
  const resources = [{ container: "c", limits: { cpu: "9" } }];
  const after = withContainer("a", { resources: { limits: { cpu: "9" } } });

  test("reach the containers of every Deployment", () => {
    expect(deprecatedResources(resources, [])(withContainer("a", {}))).toEqual(after);
    expect(deprecatedResources(resources, [])(withContainer("b", {}))).not.toEqual(after);
  });

  test("give way to a workload override with resources, and only to that", () => {
    const manifest = withContainer("a", {});
    const transform = (override: object) =>
      deprecatedResources(resources, [{ name: "a", ...override }])(manifest);
    expect(transform({ resources: [{ container: "other" }] })).toBe(manifest);
    expect(transform({ resources: [] })).toEqual(after);
    expect(transform({ labels: { a: "b" } })).toEqual(after);
  });

  test.each(["StatefulSet a", "DaemonSet a", "Job a"])("leave a %s alone", (what) => {
    const manifest = workload(what, { containers: [{ name: "c" }] });
    expect(deprecatedResources(resources, [])(manifest)).toBe(manifest);
  });

  test("that are absent change nothing", () => {
    const manifest = withContainer("a", {});
    expect(deprecatedResources(undefined, [])(manifest)).toBe(manifest);
  });
});
