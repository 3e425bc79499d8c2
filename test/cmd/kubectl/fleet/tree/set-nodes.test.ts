import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { fleetSet, phased, stamped } from "../../set-facts.ts";
import { type Answer, startStubHub } from "../../stub-hub.ts";

const set = fleetSet();
const first = stamped(set, { cluster: null, name: "prod-eu-1" });
const second = stamped(set, {
  cluster: null,
  name: "prod-eu-2",
  stage: "early",
  revision: "prod-6d4f9c01ab",
  ready: { status: "False", reason: "ApplyFailed" },
});
const other = component({ cluster: null, name: "by-hand" });

async function tree(objects: readonly KubeObject[], args: readonly string[], answer?: Answer) {
  await using hub = await startStubHub(objects, answer);
  const ran = await runText(["tree", ...args], { env: { ...hub.env, LANG: "C.UTF-8" } });
  return { ...ran, requests: hub.requests.filter((line) => line.includes("/knfleet.dev/")) };
}

/** The first lines below which everything is about the cluster. */
function hubLines(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => /Knative(?:Serving|Eventing)/.test(line))
    .map((line) => line.replaceAll(/ {2,}/g, "  "));
}

describe("tree", () => {
  test("shows a set above its installations, with stage and revision", async () => {
    const { stdout } = await tree([set, first, second, other], []);
    expect(hubLines(stdout)).toEqual([
      "KnativeServing team-a/by-hand  OK  Ready, 1.23.0",
      "KnativeServingSet team-a/prod  OK  Rolling, stage early, 5/12 done, 1 failed, revision prod-7c9f1b77e2",
      "├─ KnativeServing team-a/prod-eu-1  OK  Ready, 1.23.0, stage canary, revision prod-7c9f1b77e2",
      "└─ KnativeServing team-a/prod-eu-2  FAIL  NotReady, 1.23.0, stage early, revision prod-6d4f9c01ab, KNF1018 ApplyFailed",
    ]);
  });

  test("names the installation below a set that has failed, and not the set", async () => {
    const { stderr } = await tree([set, second], []);
    expect(stderr).toBe("next: kubectl knfleet diagnose ks/prod-eu-2 -n team-a\n");
  });

  test("has the set in its document, and counts installations", async () => {
    const { stdout } = await tree([set, first, second], ["-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { installations: 2 },
      items: [
        {
          kind: "KnativeServingSet",
          namespace: "team-a",
          name: "prod",
          cluster: null,
          state: "OK",
          children: [{ name: "prod-eu-1" }, { name: "prod-eu-2" }],
        },
      ],
    });
  });

  test("shows a set that is halted as failed, and why", async () => {
    const halted = fleetSet({ status: phased("Halted", { waitingFor: "2 clusters failed" }) });
    const { stdout } = await tree([halted, first], []);
    expect(stdout).toMatch(/^KnativeServingSet team-a\/prod +FAIL +Halted.*, 2 clusters failed$/m);
  });

  test("says of a set that it does not exist, or may not be read", async () => {
    const gone = await tree([first], []);
    expect(gone.stdout).toMatch(/^KnativeServingSet team-a\/prod +WARN +The set does not exist$/m);
    const body = { kind: "Status", apiVersion: "v1", code: 403, message: "no" };
    const denied = await tree([set, first], [], ({ path }) =>
      path.includes("/knfleet.dev/") ? { status: 403, body } : undefined,
    );
    expect(denied.stdout).toMatch(/^KnativeServingSet.* UNKNOWN +The set may not be read$/m);
  });

  test("asks for no set when no set has made an installation", async () => {
    expect((await tree([set, other], [])).requests).toEqual([]);
  });
});
