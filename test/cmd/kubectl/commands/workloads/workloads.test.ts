import { describe, expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { answersTriggers, trigger } from "../../user-triggers.ts";

const now = "2026-11-25T12:00:00Z";

const triggers = [
  trigger("orders", "True", "2026-11-23T12:00:05Z"),
  trigger("mails", "False", "2026-11-25T11:30:00Z"),
  trigger("bills", "False", "2026-11-23T12:00:05Z", "accounts"),
];

async function workloads(items: readonly object[] | undefined, ...args: readonly string[]) {
  const kinds = ["KnativeEventing", "KnativeServing"] as const;
  const installed = kinds.map((kind) => component({ kind, cluster: null }));
  await using hub = await startStubHub(installed, answersTriggers(items));
  const options = { env: hub.env, at: new Date(now) };
  return await runText(["workloads", "-A", ...args], options);
}

async function namesOf(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await workloads(triggers, "-o", "name", ...args);
  return stdout.split("\n").filter((line) => line !== "");
}

describe("the workloads of a fleet", () => {
  test("are listed with what their controller says", async () => {
    const { stdout, stderr, exitCode } = await workloads(triggers);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"))).toEqual([
      "CLUSTER|NAMESPACE|KIND|NAME|READY|SINCE|REASON|MESSAGE",
      "<hub>|accounts|Trigger|bills|False|47h|BrokerMissing|The Broker default of bills does not exist",
      "<hub>|shop|Trigger|mails|False|30m|BrokerMissing|The Broker default of mails does not exist",
      "<hub>|shop|Trigger|orders|True|47h|<none>|<none>",
      "",
    ]);
  });

  test("are only those that do not work with --broken, and only those that broke lately with --since", async () => {
    expect(await namesOf("--broken")).toEqual([
      "<hub>/accounts/trigger/bills",
      "<hub>/shop/trigger/mails",
    ]);
    expect(await namesOf("--since", "1h")).toEqual(["<hub>/shop/trigger/mails"]);
    expect(await namesOf("--since", "10m")).toEqual([]);
  });

  test("are counted whole, whatever is asked for", async () => {
    const { stdout } = await workloads(triggers, "--since", "1h", "-o", "json");
    const { items, summary }: { items: object[]; summary: object } = JSON.parse(stdout);
    expect(summary).toEqual({ workloads: 3, ready: 1, broken: 2, clusters: 1, unread: 0 });
    expect(items).toEqual([
      {
        cluster: null,
        namespace: "shop",
        kind: "Trigger",
        name: "mails",
        ready: false,
        status: "False",
        reason: "BrokerMissing",
        message: "The Broker default of mails does not exist",
        since: "2026-11-25T11:30:00Z",
        createdAt: "2026-11-07T12:00:00Z",
      },
    ]);
  });

  test("of one installation are those that need it", async () => {
    expect(await namesOf("ke")).toHaveLength(3);
    const { stderr } = await workloads(triggers, "ks");
    expect(stderr).toContain("No workloads found.");
  });

  test("that nobody has are said to be none", async () => {
    expect((await workloads([])).stderr).toContain("No workloads found.");
    expect((await workloads(triggers, "--since", "1m")).stderr).toContain(
      "None of 3 workloads is asked for.",
    );
  });

  test("that may not be listed are named, with code 3", async () => {
    const { stderr, exitCode } = await workloads(undefined);
    expect(stderr).toContain("The right to list triggers.eventing.knative.dev");
    expect(exitCode).toBe(3);
  });
});
