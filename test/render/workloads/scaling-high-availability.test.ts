import { describe, expect, test } from "vitest";

import { highAvailability } from "../../../render/workloads/scaling.ts";
import { autoscaler, workload } from "../workload-objects.ts";

describe("high availability", () => {
  test.each([
    { bounds: { minReplicas: 1, maxReplicas: 4 }, replicas: 2, after: [2, 5] },
    { bounds: { minReplicas: 3, maxReplicas: 5 }, replicas: 2, after: [3, 5] },
    { bounds: { minReplicas: 2, maxReplicas: 5 }, replicas: 2, after: [2, 5] },
    { bounds: { minReplicas: 2, maxReplicas: 5 }, replicas: 6, after: [6, 9] },
    { bounds: { minReplicas: 2, maxReplicas: 2 }, replicas: 3, after: [3, 3] },
    { bounds: { maxReplicas: 4 }, replicas: 6, after: [6, 10] },
    { bounds: { minReplicas: null, maxReplicas: 4 }, replicas: 1, after: [1, 5] },
    { bounds: { minReplicas: 1 }, replicas: 6, after: [6, undefined] },
    { bounds: { minReplicas: 1, maxReplicas: 2 }, replicas: 0, after: [1, 2] },
  ])("of $replicas turns $bounds into $after", ({ bounds, replicas, after }) => {
    const [minReplicas, maxReplicas] = after;
    const range = maxReplicas === undefined ? {} : { maxReplicas };
    expect(highAvailability(replicas, [])(autoscaler("any", bounds))).toEqual(
      autoscaler("any", { minReplicas, ...range }),
    );
  });

  test.each([
    { before: workload("controller"), replicas: 3 },
    { before: workload("controller", {}, { replicas: 5 }), replicas: 3 },
    { before: workload("controller", {}, { replicas: 5 }), replicas: 0 },
  ])("gives a Deployment $replicas replicas", ({ before, replicas }) => {
    expect(highAvailability(replicas, [])(before)).toEqual(
      workload("controller", {}, { replicas }),
    );
  });

  test.each([
    "pingsource-mt-adapter",
    "webhook",
    "activator",
    "3scale-kourier-gateway",
    "eventing-webhook",
    "mt-broker-ingress",
    "mt-broker-filter",
    "kafka-broker-dispatcher",
    "kafka-source-dispatcher",
    "kafka-channel-dispatcher",
    "StatefulSet request-reply",
    "DaemonSet agent",
    "Job migrate",
    "Rollout of-another-group",
  ])("leaves %s alone", (what) => {
    const manifest = workload(what, {}, { replicas: 1 });
    expect(highAvailability(3, [])(manifest)).toBe(manifest);
  });

  test("leaves a Deployment of another group alone (N-3)", () => {
    const manifest = { ...workload("a"), apiVersion: "example.com/v1" };
    expect(highAvailability(3, [])(manifest)).toBe(manifest);
  });

  test.each([
    { name: "controller", manifest: workload("controller") },
    { name: "controller", manifest: autoscaler("controller", { minReplicas: 1 }) },
    // Upstream overlooks these two (D-40).
    { name: "mt-broker-ingress", manifest: autoscaler("broker-ingress-hpa", { minReplicas: 1 }) },
    { name: "mt-broker-filter", manifest: autoscaler("broker-filter-hpa", { minReplicas: 1 }) },
  ])("leaves $manifest.kind to the replicas of workload $name", ({ name, manifest }) => {
    expect(highAvailability(3, [{ name, replicas: 0 }])(manifest)).toBe(manifest);
    expect(highAvailability(3, [{ name, labels: {} }])(manifest)).not.toBe(manifest);
  });

  test("of a component that asks for none changes nothing", () => {
    const manifest = workload("controller");
    expect(highAvailability(undefined, [])(manifest)).toBe(manifest);
  });

  test("cannot raise what is no number", () => {
    expect(() => highAvailability(3, [])(autoscaler("a", { minReplicas: "1" }))).toThrow(
      expect.objectContaining({ reason: "ManifestInvalid" }),
    );
  });
});
