import { describe, expect, test } from "vitest";

import type { Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import type { Ran } from "./run-knfleet.ts";

/** How often a cluster was asked for lists of a resource. */
async function pagesOf(cluster: Fleet["hub"], resource: string, since: Date): Promise<number> {
  const filter = { userAgent: /^kubectl-knfleet/, verb: "list", resource, since };
  return (await cluster.auditLog.requests(filter)).length;
}

/** Tests of lists that API servers answer in pages, on the fleet of the file that calls it. */
export function testManyObjects(fleet: () => Fleet, scene: () => FleetScene): void {
  function knfleet(...args: readonly string[]): Promise<Ran> {
    const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
    const patience = ["--spoke-timeout", "60s", "--request-timeout", "60s"];
    return scene().knfleet([...args, ...patience], { env: { KUBECONFIG, KNFLEET_PROVIDER_FILE } });
  }

  describe("a list of more objects than one answer holds", () => {
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
