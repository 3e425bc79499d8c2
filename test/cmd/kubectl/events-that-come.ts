import { describe, expect, test } from "vitest";

import type { Cluster, Fleet } from "../../fleet/fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { FleetScene } from "./fleet-scene.ts";

const namespace = "team-a";
const involvedObject = { apiVersion: "apps/v1", kind: "Deployment", namespace, name: "controller" };

/** Writes an Event in team-a, or counts it once more. */
async function tell(
  { admin }: Cluster,
  { name, count = 1, about = involvedObject }: { name: string; count?: number; about?: object },
): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+/, "");
  await admin.apply({
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name },
    involvedObject: about,
    reason: "Told",
    message: `\u001b[2J${name} ${count}`,
    type: "Normal",
    count,
    firstTimestamp: now,
    lastTimestamp: now,
  });
}

/** Tests of `events -w`, on the fleet of the file that calls it. */
export function testEventsThatCome(fleet: () => Fleet, scene: () => FleetScene): void {
  describe("events -w", () => {
    test("prints what comes on hub and spoke, also after the connection broke, until Ctrl-C", async () => {
      const { hub } = fleet();
      const spoke = fleet().spoke("spoke-1");
      const key = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" };
      const serving = await hub.admin.get({ ...key, namespace, name: "knative-serving" });
      const { uid } = serving?.metadata ?? {};
      const about = { ...key, namespace, name: "knative-serving", uid };
      const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
      let stdout = "";
      const printed = (text: string): Promise<true> => waitFor(text, () => stdout.includes(text));
      await tell(spoke, { name: "first" });
      const ran = await scene().knfleet(["events", "ks", "-w", "-o", "json"], {
        env: { KUBECONFIG, KNFLEET_PROVIDER_FILE },
        during: async (child) => {
          child.stdout?.on("data", (text: Buffer) => (stdout += text.toString()));
          await printed("first 1");
          await tell(spoke, { name: "second" });
          await tell(hub, { name: "third", about });
          await Promise.all([printed("second 1"), printed("third 1")]);
          await spoke.proxy.setMode("reset");
          await tell(spoke, { name: "fourth" });
          await spoke.proxy.setMode("open");
          await printed("fourth 1");
          await tell(spoke, { name: "first", count: 2 });
          await printed("first 2");
          child.kill("SIGINT");
        },
      });
      expect(ran.exitCode).toBe(130);
      const items: readonly unknown[] = ran.stdout
        .trimEnd()
        .split("\n")
        .map((line): unknown => JSON.parse(line));
      expect(items).toContainEqual(
        expect.objectContaining({ cluster: "fleet/spoke-1", reason: "Told", count: 2 }),
      );
      expect(items).toContainEqual(
        expect.objectContaining({ cluster: null, message: expect.stringContaining("third 1") }),
      );
      expect(ran.stdout.match(/second 1/g)).toHaveLength(1);
    });
  });
}
