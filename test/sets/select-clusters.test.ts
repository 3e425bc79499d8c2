import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { DesiredSpecs } from "../../sets/desired-spec.ts";
import { matchesProfile } from "../../sets/select-clusters.ts";
import { stageOf } from "../../sets/stages.ts";

const cluster = { namespace: "fleet", name: "a" };

function profileWith(properties: { readonly location?: string | undefined }): ClusterProfile {
  const { location: value } = properties;
  const list = value === undefined ? [] : [{ name: "location", value }];
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { ...cluster, uid: "a", resourceVersion: "1", labels: { env: "prod" } },
    status: { properties: list },
  };
}

const inEurope = { name: "location", operator: "In", values: ["eu"] } as const;
const elsewhere = { name: "location", operator: "NotIn", values: ["eu"] } as const;

describe("a selector by properties", () => {
  test.each([
    { selector: {}, properties: {}, matches: true },
    { selector: { matchProperties: [inEurope] }, properties: { location: "eu" }, matches: true },
    { selector: { matchProperties: [inEurope] }, properties: { location: "us" }, matches: false },
    { selector: { matchProperties: [inEurope] }, properties: {}, matches: false },
    { selector: { matchProperties: [elsewhere] }, properties: {}, matches: true },
    {
      selector: { matchLabels: { env: "lab" }, matchProperties: [inEurope] },
      properties: { location: "eu" },
      matches: false,
    },
    {
      selector: { matchProperties: [inEurope, { name: "gpu", operator: "Exists" }] },
      properties: { location: "eu" },
      matches: false,
    },
  ])("$selector of a cluster with $properties: $matches", ({ selector, properties, matches }) => {
    expect(matchesProfile(selector, profileWith(properties))).toBe(matches);
  });

  test("puts a cluster into its stage, and a cluster without a ClusterProfile into none of them", () => {
    const stages = [
      { name: "europe", selector: { matchProperties: [inEurope] } },
      { name: "rest", selector: {} },
    ];
    const stageWith = (profile: ClusterProfile | undefined) =>
      stageOf(stages, { cluster, profile });
    expect(stageWith(profileWith({ location: "eu" }))).toBe("europe");
    expect(stageWith(profileWith({ location: "us" }))).toBe("rest");
    expect(stageWith(undefined)).toBe("rest");
  });

  test("chooses the override of a cluster, and a changed property another one", () => {
    const specs = new DesiredSpecs({
      template: { spec: { version: "1.23" } },
      overrides: [
        { name: "eu", selector: { matchProperties: [inEurope] }, patch: { version: "1.22" } },
      ],
    });
    expect(specs.of(profileWith({ location: "eu" }))).toMatchObject({ spec: { version: "1.22" } });
    expect(specs.of(profileWith({ location: "us" }))).toMatchObject({ spec: { version: "1.23" } });
  });
});
