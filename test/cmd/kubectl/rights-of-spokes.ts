import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

import { describe, expect, test } from "vitest";

import { releaseDir } from "../../e2e/release-dir.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import type { Cluster, Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { rowsOf, type Ran } from "./run-knfleet.ts";

async function applyTo(cluster: Cluster, manifests: string): Promise<string> {
  const binary = await ensureBinaries(["kubectl"]);
  const args = ["--kubeconfig", cluster.adminKubeconfigPath, "apply", "-f", "-"];
  const child = spawn(binary("kubectl"), args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(manifests);
  const [said] = await Promise.all([text(child.stdout), once(child, "close")]);
  return said;
}

/** Tests of `can-i` against the RBAC of a real spoke. */
export function testRightsOfSpokes(fleet: () => Fleet, scene: () => FleetScene): void {
  async function canI(...args: readonly string[]): Promise<Ran> {
    const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
    // Some 200 reviews take their time on a busy machine.
    const patience = ["--spoke-timeout", "50s"];
    const line = ["can-i", ...args, "--release-dir", await releaseDir(), ...patience];
    return scene().knfleet(line, { env: { KUBECONFIG, KNFLEET_PROVIDER_FILE } });
  }

  describe("can-i", () => {
    test("finds what a credential lacks, and kubectl apply of what it prints mends it", async () => {
      const spoke = fleet().spoke("spoke-1");
      const identity = {
        namespace: "knfleet",
        name: "limited",
        rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] }],
      };
      await fleet().addProfile(spoke, { plugin: "secretreader", name: "spoke-limited", identity });
      const user = "system:serviceaccount:knfleet:limited";
      const before = await canI("fleet/spoke-limited");
      expect(rowsOf(before.stdout)).toContainEqual(
        expect.objectContaining({
          CLUSTER: "spoke-limited",
          RESOURCE: "deployments.apps",
          GET: "yes",
          WATCH: "no",
        }),
      );
      expect(before.stderr).toMatch(
        new RegExp(`fleet/spoke-limited: ${user} lacks \\d+ of \\d+ rights for KnativeServing`),
      );
      expect(before.exitCode).toBe(1);
      const roles = await canI("fleet/spoke-limited", "-o", "clusterrole");
      expect(roles.exitCode).toBe(1);
      expect(await applyTo(spoke, roles.stdout)).toMatch(/clusterrolebinding\S+ created/);
      // Authorizers learn of roles by watches.
      await expect
        .poll(async () => (await canI("fleet/spoke-limited")).exitCode, { timeout: 60_000 })
        .toBe(0);
      // Nothing was taken away by it, and what it prints now is nothing.
      const after = await canI("fleet/spoke-limited", "-o", "clusterrole");
      expect(after).toMatchObject({ stdout: "", exitCode: 0 });
    }, 240_000);

    test("says of the whole fleet who may do everything, and which clusters could not be asked", async () => {
      const { stdout, stderr, exitCode } = await canI("-A");
      expect(rowsOf(stdout)).toContainEqual(
        expect.objectContaining({ CLUSTER: "spoke-2", FOR: "<all>", CREATE: "yes" }),
      );
      expect(stderr).toContain("2 of 5 clusters could not be read:");
      expect(exitCode).toBe(3);
    });
  });
}
