import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../../api/kubernetes.ts";
import { renderedProblems } from "../../../../webhook/rules/rendered/rendered-problems.ts";
import { serving } from "../../../support/component.ts";

const deployment = (labels: object, requests: object, limits: object): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "controller" },
  spec: {
    selector: { matchLabels: { app: "controller" } },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: "controller", resources: { requests, limits } }] },
    },
  },
});
const labels = { app: "controller" };
type Amounts = Readonly<Record<string, string>>;
const settings = (requests: Amounts, limits: Amounts = {}) => ({
  container: "controller",
  requests,
  limits,
});
const linesOf = (spec: Parameters<typeof serving>[0], ...manifests: readonly Manifest[]) =>
  renderedProblems(serving(spec), manifests).map(({ path, message }) => `${path}: ${message}`);

describe("what a cluster would refuse of a release as it was rendered", () => {
  test("a label by which a workload finds its pods, with the override that changes it", () => {
    const workloads = [
      { name: "activator", labels: { app: "other", more: "labels" } },
      { name: "controller", labels: { app: "other", more: "labels" } },
    ];
    const manifest = deployment({ app: "other", more: "labels" }, {}, {});
    expect(linesOf({ spec: { workloads } }, manifest)).toEqual([
      'spec.workloads[1].labels.app: must stay "controller", because the workload finds its pods by it',
    ]);
  });

  test("a request above a limit of the release", () => {
    const workloads = [{ name: "controller", resources: [settings({ cpu: "4" })] }];
    const manifest = deployment(labels, { cpu: "4" }, { cpu: "1000m" });
    expect(linesOf({ spec: { workloads } }, manifest)).toEqual([
      'spec.workloads[0].resources[0].requests.cpu: the request "4" is above the limit "1000m"',
    ]);
  });

  test("a limit below a request of the release, once for all workloads", () => {
    const spec = { resources: [settings({}, { memory: "1Ki" })] };
    const manifest = deployment(labels, { memory: "100Mi" }, { memory: "1Ki" });
    expect(linesOf({ spec }, manifest, manifest)).toEqual([
      'spec.resources[0].limits.memory: the request "100Mi" is above the limit "1Ki"',
    ]);
  });

  test("a request that cannot be met by half, without a limit and with another one", () => {
    const workloads = [{ name: "controller", resources: [settings({ "a.b/gpu": "1" })] }];
    const path = 'spec.workloads[0].resources[0].requests["a.b/gpu"]';
    expect(linesOf({ spec: { workloads } }, deployment(labels, { "a.b/gpu": "1" }, {}))).toEqual([
      `${path}: the request "1" needs a limit of the same amount`,
    ]);
    const two = deployment(labels, { "a.b/gpu": "1" }, { "a.b/gpu": "2" });
    expect(linesOf({ spec: { workloads } }, two)).toEqual([
      `${path}: the request "1" must be equal to the limit "2"`,
    ]);
  });

  test.each([
    { kind: "Job", wanted: "storage-", isOf: true },
    { kind: "Job", wanted: "storage-migration", isOf: true },
    { kind: "Job", wanted: "migration", isOf: false },
    { kind: "Job", wanted: "", isOf: false },
    { kind: "Deployment", wanted: "storage-migration", isOf: false },
    { kind: "Deployment", wanted: "storage-migration-1.23", isOf: true },
  ])("of a $kind, with an override of $wanted: $isOf", ({ kind, wanted, isOf }) => {
    const manifest = {
      ...deployment(labels, { cpu: "4" }, { cpu: "1" }),
      kind,
      metadata: { name: "storage-migration-1.23", generateName: "storage-" },
    };
    const workloads = [{ name: wanted, resources: [settings({ cpu: "4" })] }];
    expect(linesOf({ spec: { workloads } }, manifest)).toHaveLength(isOf ? 1 : 0);
  });

  test.each<readonly [string, Amounts, Amounts]>([
    ["equal amounts", { cpu: "1" }, { cpu: "1000m" }],
    ["amounts in other units", { memory: "1Gi" }, { memory: "2000Mi" }],
    ["no limit", { cpu: "4" }, {}],
  ])("but not %s", (_what, requests, limits) => {
    const workloads = [{ name: "controller", resources: [settings(requests, limits)] }];
    expect(linesOf({ spec: { workloads } }, deployment(labels, requests, limits))).toEqual([]);
  });

  test("and nothing that the release brings itself", () => {
    expect(linesOf({}, deployment({}, { cpu: "2" }, { cpu: "1" }))).toEqual([]);
  });
});
