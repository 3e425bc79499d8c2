import { beforeAll, describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import type { Ran } from "./run-knfleet.ts";

const namespace = "many";
const hubOnly = ["-n", namespace, "--no-live", "-o", "name"];
const names = Array.from({ length: 1_100 }, (_, index) => `many-${index}`);

/** How often a cluster was asked for lists of a resource. */
async function pagesOf(cluster: Fleet["hub"], resource: string, since: Date): Promise<number> {
  const filter = { userAgent: /^kubectl-knfleet/, verb: "list", resource, since };
  return (await cluster.auditLog.requests(filter)).length;
}

/** Tests of lists that API servers answer in pages; the fleet of the file that calls it is full afterwards. */
export function testManyObjects(fleet: () => Fleet, scene: () => FleetScene): void {
  function knfleet(...args: readonly string[]): Promise<Ran> {
    const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
    const patience = ["--spoke-timeout", "60s", "--request-timeout", "60s"];
    return scene().knfleet([...args, ...patience], { env: { KUBECONFIG, KNFLEET_PROVIDER_FILE } });
  }

  describe("a list of more objects than one answer holds", () => {
    beforeAll(async () => {
      const { admin } = fleet().hub;
      await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      const kinds = [
        { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing", spec: {} },
        {
          apiVersion: "multicluster.x-k8s.io/v1alpha1",
          kind: "ClusterProfile",
          spec: { clusterManager: { name: "test" } },
        },
      ];
      const objects = names.flatMap((name): readonly Manifest[] =>
        kinds.map((kind) => ({ ...kind, metadata: { namespace, name } })),
      );
      for (let at = 0; at < objects.length; at += 50) {
        // oxlint-disable-next-line no-await-in-loop -- no more at a time than a server takes well
        await Promise.all(objects.slice(at, at + 50).map((object) => admin.create(object)));
      }
    }, 300_000);

    test("of installations is whole, each once", async () => {
      const since = new Date();
      const { stdout, stderr, exitCode } = await knfleet("status", "ks", ...hubOnly);
      expect(stdout.trimEnd().split("\n").toSorted()).toEqual(
        names.map((name) => `knativeserving.operator.knative.dev/${name}`).toSorted(),
      );
      expect(stderr).toContain("1100 installations: 0 healthy, 1100 not healthy.\n");
      expect(exitCode).toBe(1);
      expect(await pagesOf(fleet().hub, "knativeservings", since)).toBe(3);
    });

    test("of ClusterProfiles is whole where one is chosen", async () => {
      const { kubeconfig: KUBECONFIG } = scene();
      const env = { KUBECONFIG, KNFLEET_COMPLETION_TIMEOUT: "60s" };
      const { stdout } = await scene().knfleet(["__complete", "connect", "many-"], { env });
      expect(stdout.trimEnd().split("\n")).toHaveLength(names.length + 1);
    });

    test("on a spoke is whole in pages of any size", async () => {
      const spoke = fleet().spoke("spoke-1");
      const roles = ["get", "clusterroles", "-A", "--cluster", "spoke-1", "-o", "name"];
      const whole = await knfleet(...roles, "--chunk-size=0");
      const since = new Date();
      const paged = await knfleet(...roles, "--chunk-size=7");
      expect(paged).toEqual(whole);
      const rows = whole.stdout.trimEnd().split("\n").length;
      expect(rows).toBeGreaterThan(60);
      expect(await pagesOf(spoke, "clusterroles", since)).toBe(Math.ceil(rows / 7));
    });
  });
}
