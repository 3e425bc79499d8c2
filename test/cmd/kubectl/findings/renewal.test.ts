import { expect, test } from "vitest";

import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import { rootCauseOf } from "../../../../cmd/kubectl/findings/diagnosis.ts";
import { finding, hopTitles } from "../../../../cmd/kubectl/findings/hops/hop.ts";
import { withRenewal } from "../../../../cmd/kubectl/findings/renewal.ts";

function nextOf(code: KnfCode, manager: string, context: string): readonly string[] | undefined {
  const hop = {
    id: "authentication",
    title: hopTitles.authentication,
    state: "FAIL",
    code,
    message: "",
    evidence: [],
    findings: [finding("error", code)],
    because: null,
    durationMs: 1,
  } as const;
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace: "fleet",
      name: "eu-1",
      uid: "a",
      resourceVersion: "1",
      annotations: { "knfleet.dev/registered-context": context },
    },
    spec: { clusterManager: { name: manager } },
  } as const;
  return rootCauseOf(withRenewal([hop], profile))?.next;
}

test("a revoked token of a registered cluster leads to register, and to nobody else", () => {
  const register = "kubectl knfleet register fleet/eu-1";
  const made = "knfleet-register";
  for (const code of ["KNF5001", "KNF3014", "KNF3015"] as const) {
    expect(nextOf(code, made, "eu-1")).toContain(register);
    expect(nextOf(code, made, "kind-a")).toContain(`${register} --from-context kind-a`);
    expect(nextOf(code, "m", "eu-1")?.join()).not.toContain("register");
  }
  expect(nextOf("KNF5002", made, "eu-1")?.join()).not.toContain(register);
});
