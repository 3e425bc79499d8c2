import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import {
  type DisruptionBudgetOverrides,
  podDisruptionBudgets,
} from "../../../render/features/named-objects.ts";

const budget = (spec: object, apiVersion = "policy/v1"): Manifest => ({
  apiVersion,
  kind: "PodDisruptionBudget",
  metadata: { name: "b" },
  spec,
});

describe("PodDisruptionBudgets", () => {
  test.each<{ overrides: DisruptionBudgetOverrides; after: object }>([
    { overrides: [{ name: "b", minAvailable: "50%" }], after: { minAvailable: "50%" } },
    { overrides: [{ name: "b", minAvailable: 0 }], after: { minAvailable: 0 } },
    { overrides: [{ name: "b", maxUnavailable: 1 }], after: { maxUnavailable: 1 } },
    {
      overrides: [
        { name: "b", maxUnavailable: 1 },
        { name: "b", minAvailable: 2 },
      ],
      after: { minAvailable: 2 },
    },
    {
      overrides: [
        { name: "b", minAvailable: 2 },
        { name: "b" },
        { name: "b", maxUnavailable: 1, minAvailable: 1 },
      ],
      after: { minAvailable: 2 },
    },
    {
      overrides: [
        { name: "b", unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: {} } },
        { name: "b", maxUnavailable: 1 },
      ],
      after: { minAvailable: "80%" },
    },
    { overrides: [{ name: "c", maxUnavailable: 1 }], after: { minAvailable: "80%" } },
    {
      overrides: [{ name: "c", maxUnavailable: 1, minAvailable: 1 }],
      after: { minAvailable: "80%" },
    },
  ])("with $overrides become $after", ({ overrides, after }) => {
    const selector = { matchLabels: { a: "b" } };
    expect(podDisruptionBudgets(overrides)(budget({ minAvailable: "80%", selector }))).toEqual(
      budget({ ...after, selector }),
    );
  });

  test("cannot have both values", () => {
    const overrides = [{ name: "b", minAvailable: 0, maxUnavailable: 0 }];
    expect(() => podDisruptionBudgets(overrides)(budget({}))).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: expect.stringContaining("PodDisruptionBudget b"),
      }),
    );
  });

  test("of another API group are left alone (N-3)", () => {
    const manifest = budget({}, "example.com/v1");
    expect(podDisruptionBudgets([{ name: "b", minAvailable: 1 }])(manifest)).toBe(manifest);
    expect(podDisruptionBudgets()(budget({}))).toEqual(budget({}));
  });
});
