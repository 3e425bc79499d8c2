import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ensureBinaries } from "../../fleet/binaries.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { pathWithPlugin } from "./plugin-folder.ts";
import { rowsOf, runKnfleet } from "./run-knfleet.ts";

/** Tests of the plugin as the real kubectl finds, starts and completes it, on the fleet of the file that calls it. */
export function testThroughKubectl(fleet: () => Fleet, scene: () => FleetScene): void {
  describe("as a plugin of the real kubectl", () => {
    test("it is found on PATH and its output and exit code pass through", async () => {
      const binary = await ensureBinaries(["kubectl"]);
      const PATH = await pathWithPlugin(fleet().folder);
      const ran = await runKnfleet(["knfleet", "status", "-A", "--no-live"], {
        command: binary("kubectl"),
        env: { PATH, KUBECONFIG: scene().kubeconfig },
      });
      expect(ran.exitCode).toBe(0);
      expect(rowsOf(ran.stdout)).toHaveLength(5);
    });

    test("kubectl completes it with the file that completion installs", async () => {
      const binary = await ensureBinaries(["kubectl"]);
      const { folder } = fleet();
      const env = {
        PATH: await pathWithPlugin(folder),
        XDG_CACHE_HOME: folder,
        KUBECONFIG: scene().kubeconfig,
        // The second that a person waits may be too short for a busy machine.
        KNFLEET_COMPLETION_TIMEOUT: "60s",
      };
      const installed = await runKnfleet(["knfleet", "completion", "install"], {
        command: binary("kubectl"),
        env,
      });
      expect(installed.stdout).toBe(`${join(folder, "kubectl_complete-knfleet")}\n`);
      const offered = await runKnfleet(["__complete", "knfleet", "status", "ks"], {
        command: binary("kubectl"),
        env,
      });
      expect(offered.stdout).toBe("ks/knative-serving\tReady\n:4\n");
    });
  });
}
