import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { distOfRun } from "../../build/bundle-of-run.ts";
import type { DistFolder } from "../../build/dist-folder.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { kubectlWith, pathWithProgram, type Kubectl } from "./plugin-folder.ts";
import { rowsOf, type Ran } from "./run-knfleet.ts";

/** Tests of the program that `npm run build` makes, as the real kubectl finds it, on the fleet of the file that calls it. */
export function testThroughKubectl(fleet: () => Fleet, scene: () => FleetScene): void {
  let dist: DistFolder | undefined;
  let kubectl: Kubectl;

  function knfleet(...args: readonly string[]): Promise<Ran> {
    const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
    const patience = ["--spoke-timeout", "50s"];
    return kubectl(["knfleet", ...args, ...patience], {
      env: { KUBECONFIG, KNFLEET_PROVIDER_FILE },
    });
  }

  describe("the built program as a plugin of the real kubectl", () => {
    beforeAll(async () => {
      const built = await distOfRun();
      dist = built;
      const bin = join(fleet().folder, "bin");
      await mkdir(bin);
      kubectl = await kubectlWith(await pathWithProgram(bin, built.path("kubectl-knfleet.js")));
    });
    afterAll(async () => dist?.[Symbol.asyncDispose]());

    test("is found on PATH and reaches the spokes; output and exit code pass through", async () => {
      const { stdout, stderr, exitCode } = await knfleet("status", "-A");
      expect(rowsOf(stdout).map(({ CLUSTER, LIVE }) => [CLUSTER, LIVE])).toEqual([
        ["spoke-2", "1/3 not available"],
        ["spoke-gone", "Unreachable"],
        ["spoke-denied", "Denied"],
        ["spoke-1", "Ready"],
        ["<hub>", "Ready"],
      ]);
      expect(stderr).toContain("next: kubectl knfleet deployments ke/knative-eventing -n team-a");
      expect(exitCode).toBe(1);
    });

    test("is the login of the kubeconfig that connect makes", async () => {
      const { stdout, exitCode } = await kubectl(
        ["knfleet", "connect", "spoke-1", "--", "kubectl", "get", "ns", "-o", "name"],
        {
          env: { KUBECONFIG: scene().kubeconfig, KNFLEET_PROVIDER_FILE: scene().providerFile },
        },
      );
      expect(stdout).toContain("namespace/team-a\n");
      expect(exitCode).toBe(0);
    });
  });
}
