import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { keyOf, type Manifest } from "../../../../../api/kubernetes.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { controllerBinding } from "../../controller-binding.ts";
import { type Ran, runKnfleet } from "../../run-knfleet.ts";
import { leaseOf } from "./upstream-chart-objects.ts";

const fleet = useFleet({ spokes: 0 });
const operatorPlace = "operators";
/** With it knfleet is at work, so that the migration comes to its last step. */
const heldLease = leaseOf("knfleet-system", "knfleet-controller");

beforeAll(async () => {
  const { admin } = fleet().hub;
  for (const name of ["team-a", operatorPlace, "knfleet-system"])
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await admin.apply(controllerBinding("knfleet", "knfleet-system"));
});

/** Makes objects for one test. */
async function given(...manifests: readonly Manifest[]): Promise<void> {
  onTestFinished(async () => {
    for (const manifest of manifests) await fleet().hub.admin.remove(keyOf(manifest));
  });
  for (const manifest of manifests) await fleet().hub.admin.apply(manifest);
}

function migrate(timeout = "60s"): Promise<Ran> {
  const args = ["migrate", "from-upstream", "--apply", "--yes", "--timeout", timeout];
  return runKnfleet(args, { env: { KUBECONFIG: fleet().hub.adminKubeconfigPath } });
}

describe("a Lease with the name of an operator's", () => {
  const ofUpstream = "knative-operator.knative.dev.operator.pkg.reconciler.knativeserving.00-of-01";

  test("does not hold a migration up in the namespace of a tenant, and is told", async () => {
    await given(heldLease, leaseOf("team-a", ofUpstream));
    const { stderr, exitCode } = await migrate();
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      `Lease team-a/${ofUpstream}, held by pod-a, does not count as that of upstream's operator`,
    );
  });

  test("does not stand for a controller in the namespace of a tenant", async () => {
    await given(leaseOf("team-a", "knfleet-controller"));
    const { stdout, exitCode } = await migrate("1s");
    expect(stdout).toContain("by hand: 3 install-knfleet");
    expect(stdout).toContain("does not count as that of knfleet");
    expect(exitCode).toBe(124);
  });

  test("counts where a ServiceAccount of its namespace has the rights of an operator, as OLM gives them", async () => {
    const rbac = "rbac.authorization.k8s.io";
    const role = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name: "ko.v1-abc" } };
    await given(
      heldLease,
      leaseOf(operatorPlace, ofUpstream),
      {
        ...role,
        rules: [{ apiGroups: ["operator.knative.dev"], resources: ["*"], verbs: ["*"] }],
      },
      {
        ...role,
        kind: "ClusterRoleBinding",
        roleRef: { apiGroup: rbac, kind: role.kind, name: role.metadata.name },
        subjects: [{ kind: "ServiceAccount", namespace: operatorPlace, name: "ko" }],
      },
    );
    const { stdout, exitCode } = await migrate();
    expect(stdout).toContain("Both operators are at work");
    expect(stdout).not.toContain("does not count");
    expect(exitCode).toBe(2);
  });
});
