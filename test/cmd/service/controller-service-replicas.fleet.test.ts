// Servers of its own: the API server of the hub is frozen, and a second one runs beside it.
import { hostname } from "node:os";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { operatorApiVersion } from "../../../api/component.ts";
import { shardOf } from "../../../api/shards.ts";
import { replicaKubeconfig } from "../../e2e/built-in-access.ts";
import type { Access } from "../../fleet/cluster.ts";
import { conditionOf, valueAt } from "../../fleet/json-record.ts";
import { readManifests } from "../../fleet/manifest-files.ts";
import { startRelay } from "../../fleet/relay.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../support/controller-process.ts";
import { shortLeases } from "../../support/short-leases.ts";
import { runText } from "../kubectl/run-text.ts";

const root = resolve(import.meta.dirname, "../../..");
const releaseDir = join(root, "test/fixtures/release");
const fleet = useFleet({ spokes: 0 });

/** With exactly the rights that docs/hub-role.yaml gives. */
async function replica({ server }: Partial<Access> = {}): Promise<ControllerProcess> {
  const { hub } = fleet();
  for (const manifest of await readManifests(join(root, "docs/hub-role.yaml"))) {
    await hub.admin.apply(manifest);
  }
  const identity = await hub.serviceAccountToken({
    namespace: "knfleet-system",
    name: "knfleet-controller",
  });
  const access = { identity, ...(server === undefined ? {} : { server }) };
  const kubeconfig = await hub.writeKubeconfig("replica.kubeconfig", access);
  return startControllerProcess({
    kubeconfig,
    releaseDir,
    leaderElection: true,
    flags: shortLeases,
  });
}

/** One of several that share the fleet, with the rights that the chart gives those. */
async function sharingReplica(shards: number): Promise<ControllerProcess> {
  const kubeconfig = await replicaKubeconfig(fleet().hub, { name: "sharing" });
  const flags = [`--shards=${shards}`];
  return startControllerProcess({ kubeconfig, releaseDir, leaderElection: true, flags });
}

async function leaseField(name: "holderIdentity" | "renewTime"): Promise<unknown> {
  const lease = await fleet().hub.admin.get({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "knfleet-system",
    name: "knfleet-controller",
  });
  return valueAt(lease, "spec", name);
}

function holder(): Promise<unknown> {
  return leaseField("holderIdentity");
}

function leads(controller: ControllerProcess): boolean {
  return controller.logLines({ msg: "Reconciling" }).length > 0;
}

test("the rights of docs/hub-role.yaml are enough to hold a component and to report on it", async () => {
  await using controller = await replica();
  await controller.logged({ msg: "Reconciling" });
  const { admin } = fleet().hub;
  const namespace = "reported";
  const key = { apiVersion: operatorApiVersion, kind: "KnativeEventing", namespace, name: "a" };
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const { apiVersion, kind, name } = key;
  await admin.create({ apiVersion, kind, metadata: { namespace, name } });
  const component = await waitFor("a report", async () => {
    const stored = await admin.get(key);
    return conditionOf(stored, "InstallSucceeded")?.reason === "Error" && stored;
  });
  // It may not install anything on the hub itself: that needs the role for spokes.
  expect(conditionOf(component, "InstallSucceeded")?.message).toContain("[Forbidden]");
  expect(component.metadata.finalizers).toEqual(["knativeeventings.operator.knative.dev"]);
  await expect
    .poll(async () => {
      const events = await admin.list({ apiVersion: "v1", kind: "Event", namespace });
      return events.map((event) => event["reason"]);
    })
    .toContain("ApplyFailed");
  await admin.patch(key, { metadata: { finalizers: null } });
  await admin.remove(key);
});

describe("two replicas", () => {
  test("take turns: the second is ready, waits, and follows at once when the first stops", async () => {
    await using first = await replica();
    await first.logged({ msg: "Reconciling" });
    await using second = await replica();
    await second.logged({ msg: "Waiting to become the leader" });
    expect(leads(second)).toBe(false);
    expect(await second.metrics()).toContain('leader_election_master_status{name="knfleet"} 0');
    expect(await first.metrics()).toContain('leader_election_master_status{name="knfleet"} 1');

    expect(await first.stop()).toEqual({ code: 0, signal: null });
    expect(first.logLines({ msg: "Released the Lease" })).toHaveLength(1);
    await second.logged({ msg: "Reconciling" });
  });

  test("never lead at the same time: one that was paused ends when it wakes, and writes nothing", async () => {
    await using first = await replica();
    await first.logged({ msg: "Reconciling" });
    await using second = await replica();
    await second.logged({ msg: "Waiting to become the leader" });

    first.signal("SIGSTOP");
    await second.logged({ msg: "Reconciling" });
    const identity = await holder();
    const since = new Date();
    first.signal("SIGCONT");
    expect(await first.exited).toMatchObject({ code: 1 });
    expect(first.stderr).toMatch(/^Error: The Lease [^\n]+\n$/);
    const own = await fleet().hub.auditLog.requests({
      verb: ["update"],
      resource: "leases",
      since,
    });
    // A renewal that was on its way may have come to the server, which refuses it.
    expect(own.filter(({ code }) => code >= 300 && code !== 409)).toEqual([]);
    expect(await holder()).toBe(identity);
  });

  test("whose leader's connections die without a word go on with it, over new ones", async () => {
    const { proxy } = fleet().hub;
    await using controller = await replica({ server: proxy.url });
    await controller.logged({ msg: "Reconciling" });
    const identity = await holder();
    proxy.abandon();
    const abandonedAt = Date.now();
    // Longer than it may be without a renewal, and than anybody else has to leave the Lease alone: 8 s.
    await waitFor("renewals", async () => {
      const renewedAt = Date.parse(String(await leaseField("renewTime")));
      return renewedAt > abandonedAt + 9_000 || controller.logLines({ level: "error" }).length > 0;
    });
    expect(controller.logLines({ level: "error" })).toEqual([]);
    expect(await holder()).toBe(identity);
  });

  test("whose leader's server of the hub hangs, but not its connections, go on with it over another one", async () => {
    const { hub } = fleet();
    await using stuck = await hub.startBeside();
    let { port } = stuck;
    // What a balancer does: it leaves connections where they are, and sends new ones to a server that works.
    await using balancer = await startRelay(() => ({ host: "127.0.0.1", port }));
    await using controller = await replica({ server: `https://127.0.0.1:${balancer.port}` });
    await controller.logged({ msg: "Reconciling" });
    const identity = await holder();
    port = Number(new URL(hub.server).port);
    stuck.stick();
    const component = { apiVersion: operatorApiVersion, kind: "KnativeEventing" };
    const key = { ...component, namespace: "default", name: "stuck" };
    const created = { ...component, metadata: { namespace: key.namespace, name: key.name } };
    await hub.admin.create(created);
    const isReported = async (): Promise<boolean> =>
      conditionOf(await hub.admin.get(key), "InstallSucceeded")?.reason === "Error";
    // 3 s until the Lease goes over another connection, and 6 s of renewals that do not appear.
    await waitFor("a report", isReported, { timeoutMs: 60_000 });
    expect(controller.logLines({ msg: "Lost the leadership" })).toEqual([]);
    expect(await holder()).toBe(identity);
    await hub.admin.patch(key, { metadata: { finalizers: null } });
    await hub.admin.remove(key);
  });

  // More than 15 s: the time without a renewal passes, and then that of the Lease.
  test("whose leader cannot reach the hub for 7 s have none until it is back", async () => {
    await using controller = await replica();
    await controller.logged({ msg: "Reconciling" });
    fleet().hub.pause();
    const exit = await controller.exited;
    fleet().hub.resume();
    expect(exit).toEqual({ code: 1, signal: null });
    await using next = await controller.startAgain();
    await waitFor("the next one to lead", () => leads(next), { timeoutMs: 60_000 });
  });
});

/** What `kubectl knfleet` prints of the hub, as a document. */
async function document(...args: readonly string[]): Promise<unknown> {
  const env = { KUBECONFIG: fleet().hub.adminKubeconfigPath };
  const { stdout } = await runText([...args, "-o", "json"], { env, at: new Date() });
  return JSON.parse(stdout);
}

describe("kubectl knfleet", () => {
  // The replicas of this test have one host name.
  const name = hostname();

  test("names the leader", async () => {
    await using leader = await replica();
    await leader.logged({ msg: "Reconciling" });
    expect(await document("version")).toMatchObject({
      summary: { shards: 1, replicas: [{ name, shards: [0], fleet: true }] },
    });
  });

  test("names the replicas that share the fleet, and what none of them serves", async () => {
    const { admin } = fleet().hub;
    const [shards, namespace] = [2, "served"];
    const key = { apiVersion: operatorApiVersion, kind: "KnativeEventing", namespace, name: "a" };
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const spec = { clusterProfileRef: { namespace: "fleet", name: "nowhere" } };
    const { apiVersion, kind } = key;
    await admin.create({ apiVersion, kind, metadata: { namespace, name: "a" }, spec });
    const shard = shardOf("fleet/nowhere", shards);
    {
      await using _one = await sharingReplica(shards);
      await using _two = await sharingReplica(shards);
      await expect
        .poll(() => document("version"), { timeout: 60_000 })
        .toMatchObject({ summary: { shards, replicas: [{ name, shards: [0, 1], fleet: true }] } });
      expect(await document("status", "-n", namespace)).toMatchObject({
        items: [{ replica: { name, shard, shards } }],
      });
      const step = { id: "replica", state: "OK", message: `${name} serves shard ${shard} of 2` };
      expect(await document("diagnose", "ke/a", "-n", namespace)).toMatchObject({
        items: [{ hops: expect.arrayContaining([expect.objectContaining(step)]) }],
      });
    }
    expect(await document("version")).toMatchObject({
      summary: { shards, replicas: [{ name: null, shards: [0, 1], fleet: true }] },
    });
    expect(await document("status", "-n", namespace)).toMatchObject({
      items: [{ replica: { name: null, shard, shards } }],
    });
    await admin.patch(key, { metadata: { finalizers: null } });
    await admin.remove(key);
  });
});
