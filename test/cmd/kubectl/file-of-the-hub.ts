import { describe, expect, test } from "vitest";

import type { Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { rowsOf } from "./run-knfleet.ts";

/** Tests of `status` without a provider file of its own, on the fleet of the file that calls it. */
export function testFileOfTheHub(fleet: () => Fleet, scene: () => FleetScene): void {
  describe("status without a provider file of its own", () => {
    test("uses the provider file of the hub's ConfigMap, in the controller's namespaces (D10, T-85)", async () => {
      const { admin } = fleet().hub;
      const namespace = "knfleet-system";
      const place = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "knfleet-providers" };
      const providers = ["secretreader", "kubeconfig-secretreader"].map((name) => ({
        name,
        execConfig: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: `builtin:${name}`,
          env: [{ name: "POD_NAMESPACE", value: "fleet-credentials" }],
          provideClusterInfo: true,
        },
      }));
      const binding = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        name: "knfleet-controller",
      };
      const { name: bindingName, ...bindingKind } = binding;
      await admin.apply({
        ...bindingKind,
        metadata: { name: bindingName, labels: { "app.kubernetes.io/part-of": "knfleet" } },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "knfleet-controller",
        },
        subjects: [{ kind: "ServiceAccount", name: "knfleet-controller", namespace }],
      });
      await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      await admin.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          namespace,
          name: place.name,
          labels: { "knfleet.dev/access-providers": "" },
        },
        data: { "config.json": JSON.stringify({ providers }) },
      });
      try {
        // The namespace of the context is another one.
        const env = { KUBECONFIG: scene().kubeconfig };
        const { stdout, stderr, exitCode } = await scene().knfleet(["status"], { env });
        expect(rowsOf(stdout)).toMatchObject([
          { CLUSTER: "spoke-2", LIVE: "1/3 not available" },
          { CLUSTER: "spoke-1", LIVE: "Ready" },
        ]);
        expect(stderr).toMatch(/^provider file: ConfigMap knfleet-system\/knfleet-providers\n/);
        expect(exitCode).toBe(1);
      } finally {
        await admin.remove(place);
        await admin.remove(binding);
      }
    });
  });
}
