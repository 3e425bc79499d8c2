import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isRecord } from "../../../api/fields.ts";
import { keyOf } from "../../../api/kubernetes.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { controllerBinding } from "./controller-binding.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { startStubKubelet, type StubKubelet } from "./stub-kubelet.ts";

const namespace = "knfleet-logs";
const labels = { app: "knfleet-controller" };

/** The controller's Deployment on the hub, of which only the log matters. */
const controller = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace, name: "knfleet-controller" },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: "controller", image: "example.com/knfleet:1" }] },
    },
  },
};

/** A line of the controller about Serving in a namespace. */
function say(place: string, msg: string): string {
  return JSON.stringify({ component: `KnativeServing ${place}/knative-serving`, msg });
}

/** Tests of `logs` through real API servers, on the fleet of the file that calls it. */
export function testLogs(fleet: () => Fleet, scene: () => FleetScene): void {
  let hub: StubKubelet;
  let spoke: StubKubelet;
  function env(): Readonly<Record<string, string>> {
    const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
    return { KUBECONFIG, KNFLEET_PROVIDER_FILE };
  }

  describe("logs", () => {
    beforeAll(async () => {
      const { admin } = fleet().hub;
      hub = await startStubKubelet(fleet().hub);
      spoke = await startStubKubelet(fleet().spoke("spoke-1"));
      await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      await admin.apply(controllerBinding("knfleet", namespace));
      await admin.apply(controller);
      await waitFor("the controller's pod", async () => {
        const pods = await admin.list({ apiVersion: "v1", kind: "Pod", namespace });
        return pods.some(({ status }) => isRecord(status) && status["phase"] === "Running");
      });
      hub.write("knfleet-controller", say("team-a", "Reconciled"));
      hub.write("knfleet-controller", say("team-c", "of another one"));
      spoke.write("activator", "\u001b[2Jactivator is here");
      spoke.write("controller", "controller is here");
    });
    afterAll(async () => {
      const { admin } = fleet().hub;
      // Not left to the end of the namespace, which takes its time: other tests would find a controller without pods.
      await admin.remove({ apiVersion: "apps/v1", kind: "Deployment", ...controller.metadata });
      await admin.remove(keyOf(controllerBinding("knfleet", namespace)));
      await admin.remove({ apiVersion: "v1", kind: "Namespace", name: namespace });
      await hub[Symbol.asyncDispose]();
      await spoke[Symbol.asyncDispose]();
    });

    test("of the controller about this installation and of its Deployments stand on one time line", async () => {
      const ran = await scene().knfleet(["logs", "ks/knative-serving"], { env: env() });
      expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
      const said = ran.stdout.trimEnd().split("\n");
      expect(said.map((line) => line.replace(/ \S+ /, " "))).toEqual([
        expect.stringMatching(/^<hub> controller .*"Reconciled"/),
        "fleet/spoke-1 main [2Jactivator is here",
        "fleet/spoke-1 main controller is here",
      ]);
    });

    test("with -f go on with what comes, also after a connection broke, until Ctrl-C", async () => {
      let stdout = "";
      const ran = await scene().knfleet(["logs", "ks", "-f", "-o", "json", "--tail=0"], {
        env: env(),
        during: async (child) => {
          child.stdout?.on("data", (text: Buffer) => (stdout += text.toString()));
          await waitFor("the followers", () => spoke.followers === 2 && hub.followers === 1);
          spoke.write("activator", "first");
          await waitFor("the first line", () => stdout.includes("first"));
          const { followed } = spoke;
          spoke.cut();
          await waitFor("the followers to come back", () => spoke.followed === followed + 2);
          spoke.write("activator", "second");
          hub.write("knfleet-controller", say("team-a", "third"));
          await waitFor("all lines", () => /second[^]*third|third[^]*second/.test(stdout));
          child.kill("SIGINT");
        },
      });
      expect(ran.exitCode).toBe(130);
      expect(ran.stdout).not.toContain("Reconciled");
      const items: readonly unknown[] = ran.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(items).toContainEqual(
        expect.objectContaining({ cluster: "fleet/spoke-1", container: "main", line: "second" }),
      );
      expect(ran.stdout.match(/first|second|third/g)?.toSorted()).toEqual([
        "first",
        "second",
        "third",
      ]);
    });

    test("of a fleet of which clusters cannot be read are incomplete", async () => {
      const ran = await scene().knfleet(["logs", "ks", "-A", "-o", "json"], { env: env() });
      expect(JSON.parse(ran.stdout)).toMatchObject({ complete: false, kind: "LogList" });
      expect(ran.exitCode).toBe(3);
    });
  });
}
