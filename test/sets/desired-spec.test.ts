import { describe, expect, test } from "vitest";

import { type ClusterProfile, globMatches } from "../../api/cluster-profile.ts";
import type { FleetSet } from "../../api/fleet-set.ts";
import { DesiredSpecs, mergePatch, revisionNameOf } from "../../sets/desired-spec.ts";
import { matchesLabels, selectsProfile } from "../../sets/select-clusters.ts";
import { SetWorld } from "./set-world.ts";

const profile: ClusterProfile = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: {
    namespace: "fleet",
    name: "eu-9",
    uid: "eu-9",
    resourceVersion: "1",
    labels: { region: "eu" },
  },
  spec: { displayName: "Europe 9", clusterManager: { name: "ocm" } },
  status: { properties: [{ name: "registry", value: "r.example.com" }] },
};

test.each([
  { patch: { a: "z", c: { f: null } }, merged: { a: "z", c: { d: "e" } } },
  { patch: { c: null }, merged: { a: "b" } },
  { patch: { c: ["list"] }, merged: { a: "b", c: ["list"] } },
  {
    patch: { new: { deep: { value: 1, none: null } } },
    merged: { a: "b", c: { d: "e", f: "g" }, new: { deep: { value: 1 } } },
  },
])("RFC 7386: $patch", ({ patch, merged }) => {
  expect(mergePatch({ a: "b", c: { d: "e", f: "g" } }, patch)).toEqual(merged);
});

describe("values of a ClusterProfile", () => {
  test.each([
    ["$(cluster.name)", "eu-9"],
    ["$(cluster.namespace)/$(cluster.displayName)", "fleet/Europe 9"],
    ["$(cluster.labels[region])", "eu"],
    ["$(cluster.properties[registry]:-x)/knative/${NAME}", "r.example.com/knative/${NAME}"],
    ["$(cluster.properties[none]:-fallback)", "fallback"],
    ["$$(cluster.name) $(POD_NAME)", "$(cluster.name) $(POD_NAME)"],
    // The escape of Kubernetes in variables of containers.
    ["$$(POD_NAME)", "$$(POD_NAME)"],
  ])("%s becomes %s", (text, expected) => {
    const specs = new DesiredSpecs({
      template: { spec: { registry: { default: `${text} $(cluster.name)` } } },
    });
    expect(specs.of(profile)).toMatchObject({
      spec: { registry: { default: `${expected} eu-9` } },
    });
  });

  test("that are missing are named, and the version is taken as it is", () => {
    const missing = { template: { spec: { registry: { default: "$(cluster.labels[zone])" } } } };
    expect(new DesiredSpecs(missing).of(profile)).toEqual({ missing: "cluster.labels[zone]" });
    const literal = { template: { spec: { version: "$(cluster.name)" } } };
    expect(new DesiredSpecs(literal).of(profile)).toMatchObject({
      spec: { version: "$(cluster.name)" },
    });
  });
});

test("overrides are merged in order, by labels or by names", () => {
  const content = {
    template: { spec: { version: "1.23", "high-availability": { replicas: 1 } } },
    overrides: [
      {
        name: "eu",
        selector: { matchLabels: { region: "eu" } },
        patch: { "high-availability": { replicas: 3 } },
      },
      { name: "pinned", clusters: ["eu-?"], patch: { version: "1.22" } },
      { name: "us", clusters: ["us-*"], patch: { version: "1.21" } },
    ],
  };
  expect(new DesiredSpecs(content).of(profile)).toMatchObject({
    spec: { version: "1.22", "high-availability": { replicas: 3 } },
  });
});

test("the name of a revision follows from kind, template and overrides alone", () => {
  const { set } = new SetWorld({}, []);
  const name = revisionNameOf(set);
  const overrides = [{ name: "pinned", clusters: ["eu-?"], patch: { version: "1.22" } }];
  expect(name).toMatch(/^prod-[0-9a-f]{10}$/);
  const changed: FleetSet = { ...set, spec: { ...set.spec, revisionHistoryLimit: 3 } };
  expect(revisionNameOf(changed)).toBe(name);
  expect(revisionNameOf({ ...set, spec: { ...set.spec, overrides } })).not.toBe(name);
  expect(revisionNameOf({ ...set, kind: "KnativeEventingSet" })).not.toBe(name);
});

test.each([
  [{}, true],
  [{ namespaces: ["other"] }, false],
  [{ matchLabels: { region: "us" } }, false],
  [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a"] }] }, true],
  [{ matchProperties: [{ name: "registry", operator: "Exists" as const }] }, true],
  [{ matchProperties: [{ name: "none", operator: "In" as const, values: ["a"] }] }, false],
  [{ clusterManagers: ["ocm"] }, true],
  [{ clusterManagers: ["other"] }, false],
])("the selector %j selects a profile: %s", (selector, expected) => {
  expect(selectsProfile(selector, profile, "fleet")).toBe(expected);
});

test("an operator that does not exist matches nothing, and a glob only whole names", () => {
  expect(matchesLabels({ matchExpressions: [{ key: "a", operator: "Like" }] }, { a: "b" })).toBe(
    false,
  );
  expect([
    globMatches("eu-*", "eu-1"),
    globMatches("eu-*", "neu-1"),
    globMatches("a.b", "axb"),
    globMatches("*a?c*e", "xaabcdcde"),
    globMatches("", "a"),
    globMatches("***", ""),
  ]).toEqual([true, false, false, true, false, true]);
});

test("a glob with many stars takes no longer than others", () => {
  const before = process.threadCpuUsage();
  expect(globMatches("*a".repeat(126), `${"a".repeat(252)}b`)).toBe(false);
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(50);
});
