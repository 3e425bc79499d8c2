import { expect, test } from "vitest";

import { checkHealth } from "../../../../../cmd/kubectl/findings/hops/profile-hops.ts";

test.each([
  { name: "fleet-manager", asks: "Ask the cluster manager fleet-manager why." },
  { name: "", asks: "Ask whoever writes the status of the ClusterProfile why." },
])("an unhealthy profile of the cluster manager '$name' says: $asks", ({ name, asks }) => {
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "eu-1", uid: "a", resourceVersion: "1" },
    spec: { clusterManager: { name } },
    status: {},
  } as const;
  const { findings = [] } = checkHealth(profile);
  expect(findings.map(({ code }) => code)).toEqual(["KNF2004"]);
  expect(findings[0]?.next).toContain(asks);
});

test.each([
  ["TLSUntrusted", "KNF4010"],
  ["Unreachable", "KNF4009"],
  ["EndpointInvalid", "KNF2006"],
  ["SourceGone", "KNF2003"],
])("where knfleet checks a profile itself, %s is %s, and nobody is asked why", (reason, code) => {
  const found = ["knfleet-register", "knfleet-kubeconfig", "knfleet-cluster-api"].map((name) =>
    checkHealth({
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: { namespace: "fleet", name: "eu-1", uid: "a", resourceVersion: "1" },
      spec: { clusterManager: { name } },
      status: {
        conditions: [{ type: "ControlPlaneHealthy", status: "False", reason, message: "Seen" }],
      },
    }),
  );
  for (const { findings = [] } of found) {
    expect(findings).toMatchObject([{ code, message: expect.stringMatching(/: Seen$/) }]);
    expect(findings[0]?.next.join()).not.toMatch(/Ask |cluster manager/);
  }
});

test("a profile that is being deleted names the finalizers that hold it", () => {
  const { findings = [] } = checkHealth({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace: "fleet",
      name: "eu-1",
      uid: "a",
      resourceVersion: "1",
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: ["other.example/held"],
    },
    status: { conditions: [{ type: "ControlPlaneHealthy", status: "True" }] },
  });
  expect(findings).toMatchObject([
    {
      code: "KNF2014",
      evidence: ["finalizer other.example/held"],
      next: [expect.stringMatching(/^kubectl get clusterprofiles\S* eu-1 -n fleet -o yaml$/)],
    },
  ]);
});
