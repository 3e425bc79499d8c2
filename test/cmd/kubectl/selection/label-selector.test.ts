import { describe, expect, test } from "vitest";

import { globMatches } from "../../../../api/cluster-profile.ts";
import { traitsOf } from "../../../../cmd/kubectl/hub/profiles.ts";
import { labelMatcher } from "../../../../cmd/kubectl/selection/label-selector.ts";

const labels = { region: "eu", tier: "", "example.com/zone": "a" };

describe("a selector for labels", () => {
  test.each([
    ["region=eu", true],
    ["region==eu", true],
    ["region=us", false],
    ["region!=us", true],
    ["none!=us", true],
    ["tier=", true],
    ["region=eu,example.com/zone=a", true],
    ["region=eu,example.com/zone=b", false],
    ["region in (us, eu)", true],
    ["region in (us)", false],
    ["region notin (us)", true],
    ["none notin (us)", true],
    ["region", true],
    ["!region", false],
    ["!none", true],
    ["constructor", false],
    ["region in (eu),tier", true],
    ["", true],
  ])("%j: %s", (selector, holds) => expect(labelMatcher(selector, "--on")(labels)).toBe(holds));

  test.each(["=a", "a=b=c", "a in b", "a>1"])("%s is refused with its flag", (selector) => {
    expect(() => labelMatcher(selector, "--on")).toThrow(/--on/);
  });
});

test("properties of a ClusterProfile count as its labels, and win", () => {
  const profile = {
    apiVersion: "v1",
    kind: "ClusterProfile",
    metadata: { name: "a", uid: "u", resourceVersion: "1", labels },
    status: { properties: [{ name: "region", value: "us" }, { name: 1 }, null] },
  };
  expect(traitsOf(profile)).toMatchObject({ region: "us", tier: "" });
});

test.each([
  ["eu-*", "eu-1", true],
  ["eu-?", "eu-12", false],
  ["fleet/*", "fleet/a", true],
  ["a.b", "axb", false],
  ["***************************b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false],
  ["(", "(", true],
])("the glob %s for %s: %s", (glob, text, matches) =>
  expect(globMatches(glob, text)).toBe(matches),
);
