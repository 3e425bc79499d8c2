import { describe, expect, test } from "vitest";

import {
  distrustedProfile,
  refusedReference,
  type ReferenceMode,
  type ReferencePolicy,
} from "../../../access/providers/reference-policy.ts";
import { profileOf } from "../builders.ts";

const grants = [
  { fromNamespace: "team-a", toNamespace: "fleet", names: ["spoke-1"] },
  { fromNamespace: "team-b", toNamespace: "fleet" },
];

function policy(mode: ReferenceMode, rest: Partial<ReferencePolicy> = {}): ReferencePolicy {
  return { mode, grants, ...rest };
}

describe("T-04 which ClusterProfiles components of a namespace may name", () => {
  test.each<[ReferenceMode, string, boolean]>([
    ["Any", "team-z to fleet/spoke-1", true],
    ["Same", "fleet to fleet/spoke-1", true],
    ["Same", "team-a to fleet/spoke-1", false],
    ["Granted", "fleet to fleet/spoke-9", true],
    ["Granted", "team-a to fleet/spoke-1", true],
    ["Granted", "team-a to fleet/spoke-2", false],
    ["Granted", "team-a to other/spoke-1", false],
    ["Granted", "team-b to fleet/spoke-2", true],
    ["Granted", "team-b to other/spoke-2", false],
    ["Granted", "team-z to fleet/spoke-1", false],
    // Names are what they are: no part of one, and nothing that JavaScript knows.
    ["Granted", "team to fleet/spoke-1", false],
    ["Granted", "constructor to fleet/spoke-1", false],
  ])("%s: from %s: %s", (mode, way, may) => {
    const [from = "", namespace = "", name = ""] = way.split(/ to |\//);
    const refusal = refusedReference(from, { namespace, name }, policy(mode));
    expect(refusal === undefined).toBe(may);
  });

  test("the mode Same does not go by grants", () => {
    const ref = { namespace: "fleet", name: "spoke-1" };
    expect(refusedReference("team-a", ref, policy("Same"))).toMatch(/--reference-mode=Same/);
  });
});

function profile(manager?: string, label?: string): ReturnType<typeof profileOf> {
  const { spec: _, metadata, ...rest } = profileOf();
  const labels = label === undefined ? {} : { labels: { "x-k8s.io/cluster-manager": label } };
  const spec = manager === undefined ? {} : { spec: { clusterManager: { name: manager } } };
  return { ...rest, metadata: { ...metadata, ...labels }, ...spec };
}

describe("T-20 whose ClusterProfiles are believed", () => {
  const ref = { namespace: "fleet", name: "spoke-1" };

  test.each<[readonly string[] | undefined, boolean]>([
    [undefined, true],
    [["fleet"], true],
    [["other"], false],
    [[], false],
  ])("namespaces %j: %s, in every mode and of the own namespace, too", (trustedNamespaces, may) => {
    const rest = trustedNamespaces === undefined ? {} : { trustedNamespaces };
    for (const mode of ["Any", "Same", "Granted"] as const) {
      expect(refusedReference("fleet", ref, policy(mode, rest)) === undefined).toBe(may);
    }
  });

  test.each<[string, ReturnType<typeof profileOf>, boolean]>([
    ["a trusted one", profile("ocm"), true],
    ["a trusted one with its label", profile("ocm", "ocm"), true],
    ["another one", profile("mine"), false],
    ["another one with the label of a trusted one", profile("mine", "ocm"), false],
    ["a trusted one with the label of another one", profile("ocm", "mine"), false],
    ["none", profile(), false],
  ])("cluster manager: %s", (_name, one, isTrusted) => {
    const trust = { trustedManagers: ["ocm", "fleet-service"] };
    expect(distrustedProfile(one, trust) === undefined).toBe(isTrusted);
    expect(distrustedProfile(one, {})).toBeUndefined();
  });
});
