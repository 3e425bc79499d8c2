import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import type { WorkloadOverride } from "../../../render/workloads/pod-template.ts";
import { workloads } from "../../../render/workloads/workloads.ts";
import { autoscaler, withContainer, workload } from "../workload-objects.ts";

function podOf(manifest: Manifest, ...overrides: readonly Omit<WorkloadOverride, "name">[]) {
  return workloads(overrides.map((override) => ({ name: "a", ...override })))(manifest);
}

const job = (metadata: object): Manifest => ({
  ...workload("Job named", {}),
  metadata: { name: "named", generateName: "migrate-", ...metadata },
});

describe("workload overrides", () => {
  test.each(["Deployment a", "StatefulSet a"])("change the %s of their name", (what) => {
    expect(workloads([{ name: "a", replicas: 0 }])(workload(what, {}, { replicas: 2 }))).toEqual(
      workload(what, {}, { replicas: 0 }),
    );
  });

  test.each(["DaemonSet a", "CronJob a", "Deployment b", "Job a", "Rollout a"])(
    "leave %s alone",
    (what) => {
      const manifest = workload(what, {}, { replicas: 2 });
      expect(workloads([{ name: "a", replicas: 3, labels: { x: "y" } }])(manifest)).toBe(manifest);
    },
  );

  test("leave a Deployment of another group alone (N-3)", () => {
    const manifest = { ...workload("a"), apiVersion: "apps.example.com/v1" };
    expect(workloads([{ name: "a", replicas: 3 }])(manifest)).toBe(manifest);
  });

  test("change Jobs by their generateName, but not their number", () => {
    const after = workloads([{ name: "migrate-", annotations: { x: "y" }, replicas: 3 }])(job({}));
    expect(after).toEqual({
      ...job({ annotations: { x: "y" } }),
      spec: { template: { metadata: { annotations: { x: "y" } }, spec: {} } },
    });
    expect(workloads([{ name: "named", labels: { x: "y" } }])(job({}))).toEqual(job({}));
  });

  test("without a name hit nothing (D-38)", () => {
    const manifest = workload("Job fixed");
    expect(workloads([{ name: "", labels: { x: "y" } }])(manifest)).toBe(manifest);
  });

  test.each([
    { name: "webhook", hpa: "webhook" },
    { name: "mt-broker-ingress", hpa: "broker-ingress-hpa" },
    { name: "mt-broker-filter", hpa: "broker-filter-hpa" },
    { name: "broker-filter-hpa", hpa: "broker-filter-hpa" },
    { name: "anything", hpa: "anything" },
  ])("for $name raise HorizontalPodAutoscaler $hpa, never lower it", ({ name, hpa }) => {
    const before = autoscaler(hpa, { minReplicas: 2, maxReplicas: 5 });
    const with4 = autoscaler(hpa, { minReplicas: 4, maxReplicas: 7 });
    expect(workloads([{ name, replicas: 4 }])(before)).toEqual(with4);
    expect(
      workloads([
        { name, replicas: 4 },
        { name, replicas: 3 },
      ])(before),
    ).toEqual(with4);
    expect(
      workloads([
        { name, replicas: 1 },
        { name, labels: { x: "y" } },
      ])(before),
    ).toBe(before);
  });

  test.each(["activator", "StatefulSet kafka-broker-dispatcher"])(
    "leave the replicas of %s to its HorizontalPodAutoscaler",
    (what) => {
      const manifest = workload(what);
      const name = manifest.metadata.name ?? "";
      expect(workloads([{ name, replicas: 4 }])(manifest)).toBe(manifest);
    },
  );

  test("set labels and annotations on the object and its pods, not in the selector", () => {
    const template = { metadata: { labels: { app: "a", old: "1" } }, spec: {} };
    const selector = { matchLabels: { app: "a" } };
    const before = { ...workload("a"), spec: { selector, template } };
    const override = { labels: { app: "b", new: "2" }, annotations: { n: "3" } };
    expect(podOf(before, override)).toEqual({
      ...before,
      metadata: { name: "a", ...override },
      spec: {
        selector,
        template: {
          metadata: { labels: { app: "b", old: "1", new: "2" }, annotations: { n: "3" } },
          spec: {},
        },
      },
    });
  });

  test("replace what places the pods, but not by nothing", () => {
    const before = workload("a", {
      nodeSelector: { old: "1" },
      tolerations: [{ key: "old" }],
      topologySpreadConstraints: [{ maxSkew: 1 }],
      affinity: { podAffinity: {} },
    });
    const spread = { maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" };
    const override = {
      nodeSelector: { new: "2" },
      tolerations: [{ operator: "Exists" }],
      topologySpreadConstraints: [spread],
      affinity: { nodeAffinity: {} },
    };
    expect(podOf(before, override)).toEqual(workload("a", override));
    const empty = { nodeSelector: {}, tolerations: [], topologySpreadConstraints: [] };
    expect(podOf(before, empty)).toBe(before);
  });

  test("empty an affinity", () => {
    expect(podOf(workload("a", { affinity: { podAffinity: {} } }), { affinity: {} })).toEqual(
      workload("a", { affinity: {} }),
    );
  });

  test("set variables by name; of several entries for one container the first counts", () => {
    const valueFrom = { fieldRef: { fieldPath: "status.hostIP" } };
    const before = withContainer("a", {
      env: [
        { name: "A", valueFrom },
        { name: "B", value: "1" },
      ],
    });
    const envVars = [
      { name: "C", valueFrom },
      { name: "A", value: "2" },
    ];
    const env = [
      { container: "c", envVars },
      { container: "c", envVars: [{ name: "D", value: "3" }] },
      { container: "other", envVars },
    ];
    expect(podOf(before, { env })).toEqual(
      withContainer("a", {
        env: [
          { name: "A", value: "2" },
          { name: "B", value: "1" },
          { name: "C", valueFrom },
        ],
      }),
    );
  });

  test("of a container without variables are its variables, as they are", () => {
    const envVars = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    expect(podOf(withContainer("a", {}), { env: [{ container: "c", envVars }] })).toEqual(
      withContainer("a", { env: envVars }),
    );
    const manifest = withContainer("a", {});
    expect(podOf(manifest, { env: [{ container: "c" }] })).toBe(manifest);
  });

  test("set resources and probes", () => {
    const before = withContainer("a", {
      readinessProbe: { exec: {} },
      livenessProbe: { exec: {} },
    });
    expect(
      podOf(before, {
        resources: [{ container: "c", limits: { cpu: "1" } }],
        readinessProbes: [{ container: "c", periodSeconds: 2 }],
        livenessProbes: [{ container: "c" }],
      }),
    ).toEqual(
      withContainer("a", {
        resources: { limits: { cpu: "1" } },
        readinessProbe: { exec: {}, periodSeconds: 2 },
      }),
    );
  });

  test("switch the node's network on and off; the way names are resolved stays", () => {
    const on = workload("a", { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" });
    expect(podOf(workload("a", {}), { hostNetwork: true })).toEqual(on);
    expect(podOf(workload("a", {}), { hostNetwork: true }, { hostNetwork: false })).toEqual(
      workload("a", { dnsPolicy: "ClusterFirstWithHostNet" }),
    );
    const manifest = workload("a", {});
    expect(podOf(manifest, { hostNetwork: false })).toBe(manifest);
  });

  test("of one name add up, in their order", () => {
    expect(
      podOf(
        workload("a"),
        { replicas: 2, labels: { one: "1", both: "1" }, nodeSelector: { one: "1" } },
        { replicas: 3, labels: { both: "2" }, nodeSelector: { two: "2" } },
      ),
    ).toMatchObject({
      metadata: { labels: { one: "1", both: "2" } },
      spec: { replicas: 3, template: { spec: { nodeSelector: { two: "2" } } } },
    });
  });

  test.each(["version", "volumeMounts"])("with %s alone change nothing", (field) => {
    const manifest = withContainer("a", {});
    expect(podOf(manifest, { [field]: "x" })).toBe(manifest);
  });
});
