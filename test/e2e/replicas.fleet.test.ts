import { beforeAll, expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Access } from "../fleet/cluster.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { builtInProviderFile, type Replica, replicaKubeconfig } from "./built-in-access.ts";
import { writingVerbs } from "./requests.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({ spokes: [{ admissionWebhooks: false }] });
const objects = 120;
const slowRttMs = 300;

/** Two replicas that every audit log tells apart: each comes as somebody else, to the hub and to the spoke. */
const replicas: readonly [Replica, Replica] = [
  { name: "replica-a", credentials: "credentials-a" },
  { name: "replica-b", credentials: "credentials-b" },
];
const tokens = new Map<Replica, string>();
let releaseDir: string;

/** The usual renew deadline, because a leader that installs 360 objects is busy; others do not wait longer than they must. */
const patientLeases: readonly string[] = [
  "--leader-elect-lease-duration=11s",
  "--leader-elect-retry-period=1s",
];

beforeAll(async () => {
  // For its side effect: the role of the controller.
  await fleet().controllerKubeconfig();
  releaseDir = await writeThinRelease(fleet().folder, objects);
  for (const replica of replicas) {
    const { name, credentials = "" } = replica;
    const identity = { namespace: "knfleet", name, clusterRoles: ["knfleet-spoke"] };
    const { token } = await fleet().spoke(0).serviceAccountToken(identity);
    tokens.set(replica, token);
    await createNamespace(credentials);
  }
}, 600_000);

async function createNamespace(name: string): Promise<void> {
  await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

interface Running {
  readonly name: string;
  readonly process: ControllerProcess;
}

async function start(
  replica: Replica,
  way: Pick<Access, "server"> = {},
  leases: readonly string[] = [],
): Promise<Running> {
  const process = await startControllerProcess({
    kubeconfig: await replicaKubeconfig(fleet().hub, replica, way),
    providerFile: await builtInProviderFile(fleet(), replica),
    releaseDir,
    leaderElection: true,
    // The guard knows one controller by its user name; these two have one each. All components are on one cluster.
    flags: ["--anchor-protection=None", "--spoke-namespace=Component", ...leases],
  });
  return { name: replica.name, process };
}

function leads({ process }: Running): boolean {
  return process.logLines({ msg: "Reconciling" }).length > 0;
}

/** A component with a ClusterProfile of its own, which leads to the one spoke that there is. */
async function create(name: string): Promise<ObjectKey> {
  const { admin } = fleet().hub;
  const ref = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader", name });
  for (const [{ credentials: namespace = "" }, token] of tokens) {
    const metadata = { namespace, name: ref.secret.name };
    await admin.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData: { token } });
  }
  await createNamespace(name);
  const key = { apiVersion: operatorApiVersion, kind: "KnativeEventing" };
  const spec = { clusterProfileRef: { namespace: ref.namespace, name } };
  await admin.create({ ...key, metadata: { namespace: name, name }, spec });
  return { ...key, namespace: name, name };
}

async function ready(key: ObjectKey): Promise<KubeObject> {
  return waitFor(
    `${key.namespace} to be ready`,
    async () => {
      const object = await fleet().hub.admin.get(key);
      return conditionOf(object, "Ready")?.status === "True" && object;
    },
    { timeoutMs: 60_000 },
  );
}

/** What a replica wrote to a cluster, but for the Lease itself. */
async function writesOf(name: string, cluster: Cluster): Promise<readonly AuditedRequest[]> {
  const writes = await cluster.auditLog.requests({
    user: new RegExp(`:${name}$`),
    verb: writingVerbs,
  });
  return writes.filter(({ resource }) => resource !== "leases");
}

const leaseKey = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  namespace: "knfleet-system",
  name: "knfleet-controller",
};

async function holder(): Promise<unknown> {
  return valueAt(await fleet().hub.admin.get(leaseKey), "spec", "holderIdentity");
}

/** Writes of both replicas to one cluster, told apart, in the order of receipt: `aaabbb` when one wrote after the other. */
async function orderOfWrites(cluster: Cluster, since: Date): Promise<string> {
  const all = await Promise.all(
    replicas.map(async ({ name }) => {
      const writes = await writesOf(name, cluster);
      return writes
        .filter(({ receivedAt }) => receivedAt >= since)
        .map(({ receivedAt }) => ({ letter: name.slice(-1), at: receivedAt.getTime() }));
    }),
  );
  const letters = all
    .flat()
    .toSorted((a, b) => a.at - b.at)
    .map(({ letter }) => letter);
  return letters.filter((letter, index) => letter !== letters[index - 1]).join("");
}

// More than 15 s: a Lease runs out.
test("a leader that was paused for longer than the Lease writes nothing when it wakes (C18)", async () => {
  const running = [
    await start(replicas[0], {}, patientLeases),
    await start(replicas[1], {}, patientLeases),
  ];
  try {
    await waitFor("a leader", () => running.some(leads), { timeoutMs: 60_000 });
    const leader = running.find(leads);
    const standby = running.find((one) => one !== leader);
    if (leader === undefined || standby === undefined) throw new Error("There is no leader");
    const since = new Date();
    fleet().spoke(0).proxy.setRtt(slowRttMs);
    const before = (await writesOf(leader.name, fleet().spoke(0))).length;
    const keys = await Promise.all([1, 2, 3].map((n) => create(`pause-${n}`)));
    // In the middle of its work, with requests under way and others that wait for them.
    await waitFor("writes", async () => {
      const writes = await writesOf(leader.name, fleet().spoke(0));
      return writes.length > before + 20;
    });
    leader.process.signal("SIGSTOP");
    await standby.process.logged({ msg: "Reconciling" });
    const taken = (await writesOf(standby.name, fleet().spoke(0))).length;
    await waitFor("the new leader to write", async () => {
      const writes = await writesOf(standby.name, fleet().spoke(0));
      return writes.length > taken;
    });
    const identity = await holder();
    leader.process.signal("SIGCONT");
    expect(await leader.process.exited).toEqual({ code: 1, signal: null });
    expect(leader.process.stderr).toMatch(/^Error: The Lease [^\n]+\n$/);
    await Promise.all(keys.map(ready));
    fleet().spoke(0).proxy.setRtt(0);
    const [old, next] = [leader.name.slice(-1), standby.name.slice(-1)];
    expect(await orderOfWrites(fleet().hub, since)).toBe(`${old}${next}`);
    expect(await orderOfWrites(fleet().spoke(0), since)).toBe(`${old}${next}`);
    expect(await holder()).toBe(identity);
    // Back as the standby.
    await using again = await leader.process.startAgain();
    await again.logged({ msg: "Waiting to become the leader" });
  } finally {
    await Promise.all(running.map(({ process }) => process[Symbol.asyncDispose]()));
  }
}, 600_000);

// More than 15 s: 120 objects are installed and removed, and the connection to the hub that died without a word is missed only after a while.
test("a new leader whose picture of the hub stood still does not bring back what its predecessor removed (C14)", async () => {
  const first = await start(replicas[0]);
  await using _first = first.process;
  await waitFor("a leader", () => leads(first), { timeoutMs: 60_000 });
  const { hub } = fleet();
  const key = await create("removed");
  await ready(key);
  const second = await start(replicas[1], { server: hub.proxy.url });
  await using _second = second.process;
  await second.process.logged({ msg: "Waiting to become the leader" });
  const since = new Date();
  // The connection for the Lease is soon another one; that to the hub takes longer to be missed.
  hub.proxy.abandon();
  const asked = (resource: string) =>
    hub.auditLog.requests({ user: /:replica-b$/, verb: ["get", "watch"], resource, since });
  await hub.admin.remove(key);
  await waitFor("the Lease to be asked for", async () => (await asked("leases")).length > 1);
  await waitFor("the component to be gone", async () => (await hub.admin.get(key)) === undefined);
  expect(await asked("knativeeventings")).toEqual([]);
  await first.process.stop();
  await second.process.logged({ msg: "Reconciling" });
  // By then it has done what it had to do for all others.
  await ready(await create("afterwards"));
  const writes = await writesOf(second.name, fleet().spoke(0));
  const ofIt = writes.filter(({ namespace, name }) => [namespace, name].includes("removed"));
  expect(ofIt).toEqual([]);
}, 300_000);
