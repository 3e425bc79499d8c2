import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { rowsOf } from "../run-knfleet.ts";
import { lease } from "./lease-facts.ts";
import { halfServed, mayNotList, mayNotListBindings, run, shared } from "./two-shards.ts";

const leader = [lease("knfleet-controller", { holder: "pod-a" })];
const withMember = [...halfServed, lease("knfleet-member-of-2-c", { holder: "pod-c" })];

function inNamespace(namespace: string, object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

describe("status -o wide", () => {
  const unknown = { one: "<unknown>", two: "<unknown>", home: "<unknown>" };

  test.each([
    {
      name: "of a leader",
      leases: leader,
      replicas: { one: "pod-a", two: "pod-a", home: "pod-a" },
    },
    { name: "of shards", leases: shared, replicas: { one: "pod-a", two: "pod-b", home: "pod-a" } },
    {
      name: "of a shard that ran out",
      leases: withMember,
      replicas: { one: "pod-a", two: "<none>", home: "pod-a" },
      code: 1,
    },
    { name: "without a Lease", leases: [], replicas: unknown },
    {
      name: "without the right to list Leases",
      leases: leader,
      answer: mayNotList,
      replicas: unknown,
    },
    {
      name: "without the right to list what proves a Lease",
      leases: leader,
      answer: mayNotListBindings,
      replicas: unknown,
    },
    {
      name: "whatever a tenant writes in a namespace of her own",
      leases: [
        ...leader,
        ...["knfleet-controller", "knfleet-shard-0-of-2", "knfleet-shard-1-of-2"].map((name) =>
          inNamespace("tenant", lease(name, { holder: "forged", age: -3_600 })),
        ),
      ],
      replicas: { one: "pod-a", two: "pod-a", home: "pod-a" },
    },
  ])("shows the replica $name", async ({ leases, answer, replicas, code = 0 }) => {
    const { stdout, exitCode } = await run(["status", "--no-live", "-o", "wide"], leases, answer);
    const rows = rowsOf(stdout).map(({ NAME = "", REPLICA }) => [NAME, REPLICA]);
    expect(Object.fromEntries(rows)).toEqual(replicas);
    expect(exitCode).toBe(code);
  });

  test("and documents say it", async () => {
    const json = ["status", "--no-live", "-o", "json"];
    const known = await run([...json, "--sort-by", ".name"], withMember);
    expect(JSON.parse(known.stdout)).toMatchObject({
      items: [
        { name: "home", replica: { name: "pod-a", shard: 0, shards: 2 } },
        { name: "one", replica: { name: "pod-a", shard: 0, shards: 2 } },
        { name: "two", replica: { name: null, shard: 1, shards: 2 } },
      ],
    });
    const refused = await run(json, leader, mayNotList);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      items: [{ replica: null }, { replica: null }, { replica: null }],
    });
  });
});

describe("version", () => {
  test.each([
    ["a leader", leader, ["Replica: pod-a (leader)"]],
    [
      "a leader that let go",
      [lease("knfleet-controller", { age: 60 })],
      ["Replica: <none> (leader)"],
    ],
    ["shards", shared, ["Replica: pod-a (shard 0 of 2, fleet)", "Replica: pod-b (shard 1 of 2)"]],
    [
      "shards of which one has no replica",
      withMember,
      [
        "Replica: pod-a (shard 0 of 2, fleet)",
        "Replica: pod-c (no shard of 2)",
        "Replica: <none> (shard 1 of 2)",
      ],
    ],
    ["no Lease", [], []],
  ])("names the replicas with %s", async (_, leases, lines) => {
    const { stdout, exitCode } = await run(["version", "--no-live"], leases);
    expect(stdout.split("\n").filter((line) => line.startsWith("Replica"))).toEqual(lines);
    expect(exitCode).toBe(0);
  });

  test("says nothing of them without the right to list Leases", async () => {
    const { stdout, exitCode } = await run(["version", "--no-live"], shared, mayNotList);
    expect(stdout).not.toContain("Replica");
    expect(exitCode).toBe(0);
  });

  test("says it in documents", async () => {
    const { stdout } = await run(["version", "--no-live", "-o", "json"], withMember);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: {
        shards: 2,
        replicas: [
          { name: "pod-a", shards: [0], fleet: true },
          { name: "pod-c", shards: [], fleet: false },
          { name: null, shards: [1], fleet: false },
        ],
      },
    });
  });
});

interface Step {
  readonly id: string;
}

async function stepsOf(
  target: string,
  leases: readonly KubeObject[],
): Promise<Readonly<Record<string, Step>>> {
  const { stdout } = await run(["diagnose", target, "-o", "json"], leases);
  const { items }: { items: readonly { hops: readonly Step[] }[] } = JSON.parse(stdout);
  return Object.fromEntries((items[0]?.hops ?? []).map((step) => [step.id, step]));
}

describe("diagnose", () => {
  test("names the leader in the step of the controller, and needs no other", async () => {
    const { controller, replica } = await stepsOf("ks/one", leader);
    expect(controller).toMatchObject({
      state: "OK",
      message: expect.stringMatching(
        /^Lease knfleet-system\/knfleet-controller is held by pod-a_\S+, renewed 2 s ago$/,
      ),
    });
    expect(replica).toBeUndefined();
  });

  test.each([
    ["ks/one", "pod-a serves shard 0 of 2"],
    ["ks/two", "pod-b serves shard 1 of 2"],
    ["ke/home", "pod-a serves shard 0 of 2"],
    ["fleet/spoke-2", "pod-b serves shard 1 of 2"],
  ])("says of %s that %s", async (target, message) => {
    const { controller, replica } = await stepsOf(target, shared);
    expect(controller).toMatchObject({
      state: "OK",
      message: "2 replicas serve 2 of 2 shards, by Leases in namespace knfleet-system",
    });
    expect(replica).toMatchObject({ state: "OK", message });
  });

  test("says that a shard has no replica, why, and what to look at", async () => {
    const { controller, replica } = await stepsOf("ks/two", withMember);
    const pods = "kubectl get pods -n knfleet-system";
    expect(controller).toMatchObject({
      state: "WARN",
      code: "KNF1005",
      message: "No replica serves shard 1 of 2",
    });
    expect(replica).toMatchObject({
      state: "FAIL",
      code: "KNF1005",
      message: expect.stringMatching(
        /^No replica serves shard 1 of 2, to which the cluster belongs: Lease knfleet-system\/knfleet-shard-1-of-2 is held by pod-b_\S+, renewed 70 s ago and has run out$/,
      ),
      findings: [{ next: [pods, expect.stringContaining("knfleet-controller")] }],
    });
    expect((await stepsOf("ks/one", withMember))["replica"]).toMatchObject({ state: "OK" });
  });

  test("says it once where no replica works at all", async () => {
    const ended = shared.map(({ metadata: { name } }) => lease(name));
    const { controller, replica } = await stepsOf("ks/two", ended);
    expect(controller).toMatchObject({
      state: "FAIL",
      code: "KNF1005",
      message: "No replica holds the Lease of any of 2 shards in namespace knfleet-system",
    });
    expect(replica).toBeUndefined();
  });
});

test("check tells of a shard without a replica once, and not at every cluster", async () => {
  const { stdout } = await run(["check", "-o", "json"], withMember);
  const { items }: { items: readonly { check: string; code: string | null }[] } =
    JSON.parse(stdout);
  const told = items.filter(({ code }) => code === "KNF1005");
  expect(told).toMatchObject([{ check: "controller", state: "WARN" }]);
});
