import { once } from "node:events";

import { describe, expect, test } from "vitest";

import { readFlags } from "../../../cmd/kubectl/flags.ts";
import { openFleetFeed } from "../../../cmd/kubectl/fleet/fleet-feed.ts";
import { Fleet as CommandFleet } from "../../../cmd/kubectl/fleet/fleet.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { rowsOf, type Ran } from "./run-knfleet.ts";

function knfleet(scene: FleetScene, ...args: readonly string[]): Promise<Ran> {
  return scene.knfleet(args, { env: { KUBECONFIG: scene.kubeconfig } });
}

/** Says on the hub, as a controller would, whether Serving in team-a is ready. */
async function sayReady({ admin }: Fleet["hub"], status: "True" | "False"): Promise<void> {
  const key = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" };
  const name = { ...key, namespace: "team-a", name: "knative-serving" };
  const object = await admin.get(name);
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, "");
  const conditions = [{ type: "Ready", status, reason: "ApplyFailed", lastTransitionTime }];
  const observedGeneration = object?.metadata.generation;
  const patch = { status: { observedGeneration, version: "1.23.0", conditions } };
  await admin.patch(name, patch, { subresource: "status" });
}

const readClock = (): Date => new Date();

/** Tests of what the hub alone is needed for, on the fleet of the file that calls it. */
export function testHubFlagsAndChanges(fleet: () => Fleet, scene: () => FleetScene): void {
  describe("while the hub changes", () => {
    test("status -w prints the row that changed, and Ctrl-C ends it with 130", async () => {
      let stdout = "";
      const env = { KUBECONFIG: scene().kubeconfig };
      const ran = await scene().knfleet(["status", "-w", "--no-live"], {
        env,
        during: async (child) => {
          child.stdout?.on("data", (text: Buffer) => (stdout += text.toString()));
          await waitFor("the first rows", () => stdout.split("\n").length > 2);
          await sayReady(fleet().hub, "False");
          await waitFor("the row that changed", () => stdout.includes("NotReady"));
          child.kill("SIGINT");
        },
      });
      await sayReady(fleet().hub, "True");
      expect(ran.exitCode).toBe(130);
      expect(ran.stdout.trimEnd().split("\n").at(-1)).toMatch(
        /^team-a +knative-serving .*NotReady/,
      );
    });

    test("top shows what the clusters say, and hears of the hub at once", async () => {
      const { kubeconfig, providerFile } = scene();
      const raw = { kubeconfig, clusterprofileProviderFile: providerFile };
      const limits = { requestTimeout: "60s", spokeTimeout: "60s", allNamespaces: true };
      const flags = readFlags({ ...raw, ...limits }, {});
      const { PATH = "" } = process.env;
      const output = { write: () => undefined };
      const terminal = { args: [], env: { PATH }, stdout: output, stderr: output, now: readClock };
      const line = { args: [], flags, options: {}, terminal };
      const stop = new AbortController();
      const options = { reachesSpokes: true, selects: true };
      await using opened = new CommandFleet(line, options, stop.signal);
      const feed = await openFleetFeed(opened, { watch: true, onChange: () => undefined });
      const inTeamA = () =>
        feed
          .state()
          .report.items.find(
            ({ namespace, kind }) => namespace === "team-a" && kind === "KnativeServing",
          );
      try {
        await feed.readOnce;
        expect(inTeamA()).toMatchObject({ hub: { state: "Ready" }, live: { state: "Ready" } });
        const states = feed.state().report.items.map(({ live }) => live.state);
        expect(states.toSorted()).toEqual([
          "Denied",
          "NotAvailable",
          "Ready",
          "Ready",
          "Unreachable",
        ]);
        await sayReady(fleet().hub, "False");
        await waitFor("the row that changed", () => inTeamA()?.hub.state === "NotReady");
        // What the cluster said is not forgotten.
        expect(inTeamA()?.live.state).toBe("Ready");
      } finally {
        stop.abort();
        await sayReady(fleet().hub, "True");
      }
    });

    test("wait hears of it at once, and holds it for the stable time", async () => {
      await sayReady(fleet().hub, "False");
      const env = { KUBECONFIG: scene().kubeconfig };
      let saidAt = 0;
      const ran = await scene().knfleet(
        ["wait", "ks/knative-serving", "--for=version=1.23", "--stable=1s"],
        {
          env,
          during: async (child) => {
            await once(child, "spawn");
            saidAt = performance.now();
            await sayReady(fleet().hub, "True");
          },
        },
      );
      expect(ran.exitCode).toBe(0);
      expect(ran.stderr).toMatch(/^met: 1 of 1/);
      expect(performance.now() - saidAt).toBeGreaterThanOrEqual(1_000);
    });
  });

  describe("the connection flags of kubectl", () => {
    test("impersonate users and groups on the hub", async () => {
      const jane = await knfleet(scene(), "status", "-A", "--no-live", "--as", "jane");
      expect(jane).toMatchObject({ stdout: "", exitCode: 2 });
      expect(jane.stderr).toContain('User "jane" cannot list resource');
      const groups = ["--as-group", "people", "--as-group", "system:masters"];
      const master = await knfleet(scene(), "status", "-A", "--no-live", "--as", "jane", ...groups);
      expect(rowsOf(master.stdout)).toHaveLength(5);
    });

    test("name server, authority and token without any kubeconfig", async () => {
      const { hub } = fleet();
      const { token } = await hub.serviceAccountToken({ namespace: "team-a", name: "nobody" });
      const flags = ["--server", hub.server, "--token", token, "--insecure-skip-tls-verify"];
      const ran = await scene().knfleet(["status", "-A", "--no-live", ...flags], {
        env: { HOME: "/nowhere" },
      });
      expect(ran.stderr).toContain("system:serviceaccount:team-a:nobody");
      expect(ran.stderr).not.toContain(token);
      expect(ran.exitCode).toBe(2);
    });
  });
}
