import { setTimeout as delay } from "node:timers/promises";

import { beforeAll, expect, onTestFinished, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import { partLease, shardOf } from "../../api/shards.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { shortLeases } from "../support/short-leases.ts";
import { builtInProviderFile, replicaKubeconfig } from "./built-in-access.ts";
import { guardWritesTo, writesTo, writingVerbs } from "./requests.ts";
import { writeThinRelease } from "./thin-release.ts";

const shards = 4;
const fleet = useFleet({
  spokes: [{ admissionWebhooks: false }, { admissionWebhooks: false }],
});
const objects = 60;
const account = { name: "sharing" };
let releaseDir: string;

/** A ClusterProfile for each spoke, each in a shard of its own; the other shards have none. */
const profiles = [profileIn(0), profileIn(2)] as const;

beforeAll(async () => {
  // For its side effect: the role of the controller.
  await fleet().controllerKubeconfig();
  releaseDir = await writeThinRelease(fleet().folder, objects);
  await Promise.all(
    profiles.map(async (name, index) => {
      await fleet().addProfile(fleet().spoke(index), { plugin: "secretreader", name });
      await create(name);
    }),
  );
}, 600_000);

function profileIn(shard: number): string {
  for (let number = 1; ; number += 1) {
    const name = `cluster-${number}`;
    if (shardOf(`fleet/${name}`, shards) === shard) return name;
  }
}

const eventing = { apiVersion: operatorApiVersion, kind: "KnativeEventing" };

/** A component in a namespace that is named like its ClusterProfile. */
async function create(profile: string): Promise<void> {
  const { admin } = fleet().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: profile } });
  const spec = { clusterProfileRef: { namespace: "fleet", name: profile } };
  await admin.create({ ...eventing, metadata: { namespace: profile, name: profile }, spec });
}

async function readyOf(profile: string) {
  const object = await fleet().hub.admin.get({ ...eventing, namespace: profile, name: profile });
  return conditionOf(object, "Ready");
}

async function becomesReady(profile: string): Promise<void> {
  await waitFor(`${profile} to be ready`, async () => (await readyOf(profile))?.status === "True");
}

/** Flags for the times of Leases in a test that waits for none to run out, on servers that have just started and are busy. */
const usualLeases: readonly string[] = [];

/** Starts a replica that is ready. It is stopped at the end of the test. */
async function start(leases: readonly string[] = shortLeases): Promise<ControllerProcess> {
  const replica = await startControllerProcess({
    kubeconfig: await replicaKubeconfig(fleet().hub, account, {}),
    providerFile: await builtInProviderFile(fleet(), {
      ...account,
      credentials: credentialNamespace,
    }),
    releaseDir,
    leaderElection: true,
    flags: [`--shards=${shards}`, ...leases],
  });
  onTestFinished(() => replica[Symbol.asyncDispose]());
  return replica;
}

/** Starts replicas that share the shards fairly. */
async function startAll(
  count: number,
  leases: readonly string[] = shortLeases,
): Promise<readonly [ControllerProcess, ...ControllerProcess[]]> {
  const others = Promise.all(Array.from({ length: count - 1 }, () => start(leases)));
  const replicas = [await start(leases), ...(await others)] as const;
  await shareFairly(replicas);
  return replicas;
}

async function shareFairly(replicas: readonly ControllerProcess[]): Promise<void> {
  const share = shards / replicas.length;
  await waitFor("the shares to be fair", async () => {
    const held = await Promise.all(replicas.map(shardsOf));
    return held.every((one) => Math.abs(one - share) < 1) && sumOf(held) === shards;
  });
}

async function serveAll(replicas: readonly ControllerProcess[]): Promise<void> {
  const held = () => Promise.all(replicas.map(shardsOf));
  await waitFor("all shards to be served", async () => sumOf(await held()) === shards);
}

/** How many shards a replica says that it serves. */
async function shardsOf(replica: ControllerProcess): Promise<number> {
  return Number(/^knfleet_shards_held (\d+)$/m.exec(await replica.metrics())?.[1]);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** How a replica is called in its Leases and its requests. */
function identityOf(replica: ControllerProcess): string {
  const line = replica.logLines().find(({ identity }) => identity !== undefined);
  return String(line?.["identity"]);
}

/** The replica that has the Lease for a ClusterProfile. */
async function holderFor(profile: string): Promise<string> {
  const lease = await fleet().hub.admin.get({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "knfleet-system",
    name: partLease(shardOf(`fleet/${profile}`, shards), shards),
  });
  return String(valueAt(lease, "spec", "holderIdentity"));
}

/** The replicas that wrote to a cluster since a time, one after the other: the first one again when it came back. */
async function writersTo(cluster: Cluster, since: Date): Promise<readonly string[]> {
  const writes = await cluster.auditLog.requests({
    userAgent: "knfleet-controller",
    verb: writingVerbs,
    since,
  });
  const writers = writes.map(({ userAgent }) => /\((.*)\)/.exec(userAgent)?.[1] ?? userAgent);
  return writers.filter((writer, index) => writer !== writers[index - 1]);
}

/** Spokes to which a replica came back after another one had written there, as two do that write at a time. */
async function sharedSpokes(since: Date): Promise<readonly string[]> {
  const writers = await Promise.all(fleet().spokes.map((spoke) => writersTo(spoke, since)));
  return writers.flatMap((names, index) =>
    new Set(names).size === names.length ? [] : [`${profiles[index]}: ${names.join(", ")}`],
  );
}

/**
 * Deletes objects on every spoke while something happens, one after the other, and once more after it: whoever serves a spoke puts them back. Resolves when all are back.
 */
async function whileObjectsVanish(happens: () => Promise<unknown>): Promise<void> {
  let isOver = false;
  const deleteObjects = async (spoke: Cluster): Promise<void> => {
    for (let number = 0, isLast = false; !isLast; number += 1) {
      isLast = isOver;
      const name = `thin-${String(number % objects).padStart(3, "0")}`;
      const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative-eventing", name };
      const uid = (await spoke.admin.get(key))?.metadata.uid;
      await spoke.admin.remove(key);
      const isBack = async () => {
        const now = (await spoke.admin.get(key))?.metadata.uid;
        return now !== undefined && now !== uid;
      };
      await waitFor(`${name} to be back`, isBack, { timeoutMs: 90_000, everyMs: 200 });
      // Often enough for two replicas that both serve the spoke to be seen, and no more.
      await delay(200);
    }
  };
  const running = Promise.all(fleet().spokes.map(deleteObjects));
  try {
    await happens();
  } finally {
    isOver = true;
  }
  await running;
}

test("a replica that joins gets its share of the shards, and one that stops leaves its share to the others", async () => {
  const since = new Date();
  const [first] = await startAll(1, usualLeases);
  await Promise.all(profiles.map(becomesReady));
  let others: readonly ControllerProcess[] = [];
  await whileObjectsVanish(async () => {
    others = await Promise.all([start(usualLeases), start(usualLeases)]);
    await shareFairly([first, ...others]);
  });
  expect(await sharedSpokes(since)).toEqual([]);
  const later = new Date();
  await whileObjectsVanish(async () => {
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    await serveAll(others);
  });
  expect(await sharedSpokes(later)).toEqual([]);
}, 300_000);

// More than 15 s: three controllers start, one stands still until its Leases are over, and the others take its shards first.
test("a replica that stood still for longer than its Leases writes nothing when it goes on, and ends", async () => {
  const replicas = await startAll(3);
  // Of four shards two have no spoke; a replica that serves one of these alone would have nothing to write.
  const holder = await holderFor(profiles[0]);
  const [stopped] = replicas.filter((replica) => identityOf(replica) === holder);
  if (stopped === undefined) throw new Error(`${holder} is none of the replicas`);
  const others = replicas.filter((replica) => replica !== stopped);
  const since = new Date();
  await whileObjectsVanish(async () => {
    stopped.signal("SIGSTOP");
    await serveAll(others);
  });
  const woken = new Date();
  await whileObjectsVanish(async () => {
    stopped.signal("SIGCONT");
    expect(await stopped.exited).toEqual({ code: 1, signal: null });
  });
  expect(await sharedSpokes(since)).toEqual([]);
  const writers = await Promise.all(fleet().spokes.map((spoke) => writersTo(spoke, woken)));
  expect(writers.flat()).not.toContain(identityOf(stopped));
}, 300_000);

test("of two ClusterProfiles that lead to one cluster the first one has it, until its last component is gone", async () => {
  const spoke = fleet().spoke(0);
  const [profile] = profiles;
  const other = "second-way";
  expect(shardOf(`fleet/${other}`, shards)).not.toBe(shardOf(`fleet/${profile}`, shards));
  await fleet().addProfile(spoke, { plugin: "secretreader", name: other });
  await startAll(2);
  await becomesReady(profile);
  const since = new Date();
  await create(other);
  await waitFor(
    "the second one to be refused",
    async () => (await readyOf(other))?.reason === "DuplicateComponent",
  );
  expect(await writesTo(spoke, since)).toEqual([]);
  expect(await guardWritesTo(spoke, since)).toEqual([]);
  await fleet().hub.admin.remove({ ...eventing, namespace: profile, name: profile });
  await becomesReady(other);
  await fleet().hub.admin.remove({ ...eventing, namespace: other, name: other });
  await waitFor("the cluster to be free", async () => (await readyOf(other)) === undefined);
  // For the other tests.
  await create(profile);
  await becomesReady(profile);
}, 300_000);
