import { expect, test } from "vitest";

import { checkHealth } from "../../../../cmd/kubectl/diagnose/profile-hops.ts";

const context = { kubectl: "kubectl --context hub" };

test.each([
  { name: "fleet-manager", asks: "ask the cluster manager fleet-manager why" },
  { name: "", asks: "ask whoever writes the status of the ClusterProfile why" },
])("an unhealthy profile of the cluster manager '$name' says: $asks", ({ name, asks }) => {
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "eu-1", uid: "a", resourceVersion: "1" },
    spec: { clusterManager: { name } },
    status: {},
  } as const;
  const { findings = [] } = checkHealth(profile, context);
  expect(findings.map(({ code }) => code)).toEqual(["KNF2004"]);
  expect(findings[0]?.next).toContain(asks);
});
