import { describe, expect, test } from "vitest";

import { flattened, type TreeNode } from "../../../cmd/kubectl/fleet/tree/tree-node.ts";
import { wrongToken, type FleetScene } from "./fleet-scene.ts";
import type { Ran } from "./run-knfleet.ts";

/** Tests of `tree` on the fleet of the scene. */
export function testTreesOfSpokes(scene: () => FleetScene): void {
  function tree(...args: readonly string[]): Promise<Ran> {
    const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
    return scene().knfleet(["tree", ...args, "--spoke-timeout", "50s"], {
      env: { KUBECONFIG, KNFLEET_PROVIDER_FILE, LANG: "C.UTF-8" },
    });
  }

  describe("tree", () => {
    test("leads from the hub to the pod that does not start, and hides what is healthy", async () => {
      const { stdout, stderr, exitCode } = await tree("ke/knative-eventing");
      const lines = stdout.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, "  "));
      expect(lines).toEqual([
        "KnativeEventing team-a/knative-eventing  OK  Ready, 1.23.0",
        "└─ ClusterProfile fleet/spoke-2  OK  ControlPlaneHealthy",
        expect.stringMatching(/^└─ Provider kubeconfig-secretreader {2}OK {2}\/\S+$/),
        "├─ Secret fleet-credentials/spoke-2-kubeconfig  OK",
        expect.stringMatching(/^└─ Cluster https:\S+ {2}OK {2}v1\.36\.\d+$/),
        "└─ Namespace team-a  OK  Active",
        "└─ ConfigMap knativeeventing-knative-eventing-root-owner  OK  anchor",
        expect.stringMatching(/^├─ Deployment imc-dispatcher {2}FAIL {2}0\/1 available/),
        expect.stringMatching(/^│ {2}└─ Pod imc-dispatcher-\S+ {2}FAIL {2}Pending/),
        "└─ 2 Deployments  OK  all available",
        "",
      ]);
      expect(stderr).toBe("next: kubectl knfleet diagnose ke/knative-eventing -n team-a\n");
      expect(exitCode).toBe(0);
    });

    test("shows how far the ways lead to clusters that cannot be read, and what is on the hub itself", async () => {
      const { stdout, exitCode } = await tree("-A", "-o", "json");
      const { items }: { readonly items: readonly TreeNode[] } = JSON.parse(stdout);
      const byName = Object.fromEntries(
        items.flatMap(flattened).map(({ kind, name, state }) => [`${kind} ${name}`, state]),
      );
      expect(byName).toMatchObject({
        "ClusterProfile spoke-gone": "OK",
        "Secret spoke-gone": "OK",
        "Cluster https://127.0.0.1:9": "FAIL",
        "Deployment eventing-controller": "OK",
      });
      expect(stdout).not.toContain(wrongToken);
      expect(exitCode).toBe(3);
    });

    test("shows every pod with --all", async () => {
      const { stdout } = await tree("ks/knative-serving", "--all");
      expect(stdout).toMatch(
        /Deployment activator +OK +1\/1 available\n.*Pod activator-\S+ +OK +Running/,
      );
    });
  });
}
