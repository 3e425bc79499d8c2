import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeEach, expect, onTestFinished, test, vi } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { placementSets } from "../../../access/providers/placement.ts";
import { openSpokes, type SpokesOptions } from "../../../access/spokes/open-spokes.ts";
import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import type { SpokeConnection, Spokes } from "../../../access/spokes/spokes.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { AccessProvider, ClusterProfile } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { portOf } from "../../fleet/ports.ts";
import {
  type ProfileHub,
  type ProfileHubOptions,
  startProfileHub,
} from "../../support/profile-hub.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { rethrow } from "../../support/rethrow.ts";
import { type ApiStub, startApiStub, type StubAnswer } from "../api-stub.ts";
import { entryOf, healthy, profileOf, rawProvider } from "../builders.ts";
import { authority, requesterTo, serverIdentity, untilTheEnd } from "../loopback.ts";
import { startProxyStub } from "../proxy-stub.ts";

const signal = AbortSignal.timeout(600_000);
const patience = { timeout: 60_000, interval: 20 };
const apiVersion = "client.authentication.k8s.io/v1";
const output = `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"T1"}}`;
const configMap = knownResource("v1", "ConfigMap");

let folder: string;
let warnings: string[];

beforeEach(async () => {
  warnings = [];
  folder = await mkdtemp(join(tmpdir(), "knfleet-life-"));
  onTestFinished(() => rm(folder, { recursive: true }));
});

interface Scene {
  readonly hub: ProfileHub;
  readonly spokes: Spokes;
}

/** A hub on a real socket, and the spokes of its profiles, reached with a real plugin. */
async function scene(
  more: Omit<ProfileHubOptions, "identity"> = {},
  environment: Readonly<Record<string, string>> = {},
  options: Partial<Pick<SpokesOptions, "clock" | "path" | "releaseMs">> = {},
): Promise<Scene> {
  const command = join(folder, "plugin");
  await writeFile(command, `#!/bin/sh\necho '${output}'\n`);
  await chmod(command, 0o755);
  const providerFile = join(folder, "providers.json");
  const providers = [rawProvider("sr", {}, { command })];
  await writeFile(providerFile, JSON.stringify({ providers }));
  const hub = untilTheEnd(await startProfileHub({ identity: serverIdentity, ...more }));
  const client = createKubeClient(requesterTo({ server: hub.server }));
  const log = {
    info: () => undefined,
    warn: (_facts: object, message: string) => void warnings.push(message),
    error: (facts: object) => rethrow(facts),
  };
  const all = {
    clock: systemClock,
    ...options,
    hub: client,
    providerFile,
    environment: { PATH: "/usr/bin:/bin", ...environment },
    userAgent: "test",
    log,
  };
  return { hub, spokes: untilTheEnd(await openSpokes(all, signal)) };
}

function ref(name: string): { readonly namespace: string; readonly name: string } {
  return { namespace: "fleet", name };
}

/** A healthy profile with this access entry. */
function profile(name: string, entry: AccessProvider, uid = name): ClusterProfile {
  const made = profileOf({ accessProviders: [entry] });
  return { ...made, metadata: { ...made.metadata, name, uid } };
}

function entryTo(server: string, caPem = authority.certificatePem): AccessProvider {
  const data = Buffer.from(caPem).toString("base64");
  return entryOf("sr", { server, "certificate-authority-data": data });
}

async function spoke(identity = serverIdentity, port = 0): Promise<ApiStub> {
  return untilTheEnd(await startApiStub({ identity, answer: openWatches, port }));
}

function openWatches({ path }: { readonly path: string }): StubAnswer {
  return { open: path.includes("watch=") };
}

function connection(spokes: Spokes, name: string): Promise<SpokeConnection> {
  return vi.waitFor(() => spokes.acquire(ref(name), signal), patience);
}

async function reasonOf(spokes: Spokes, name: string): Promise<string> {
  const error: unknown = await spokes.acquire(ref(name), signal).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return "none";
  if (error instanceof FleetError) return error.reason;
  throw new Error("Not a FleetError", { cause: error });
}

test("L03: a spoke that swallows everything holds up neither others nor who asks for its state", async () => {
  const { hub, spokes } = await scene({}, {}, { clock: untilTheEnd(new QuickClock(7)) });
  const hole = createServer().listen(0, "127.0.0.1");
  await once(hole, "listening");
  onTestFinished(() => void hole.close());
  hub.put(profile("dark", entryTo(`https://127.0.0.1:${portOf(hole.address())}`)));
  hub.put(profile("good", entryTo((await spoke()).server)));
  const waiting = reasonOf(spokes, "dark");
  await connection(spokes, "good");
  expect(spokes.state(ref("dark"))?.kind).toBe("connecting");
  expect(await waiting).toBe("RemoteClientCreationFailed");
  expect(await reasonOf(spokes, "dark")).toBe("RemoteClientCreationFailed");
  hole.unref();
});

test("a profile that is being deleted and held by a finalizer is not ready, and its connection is given for a removal only", async () => {
  const { hub, spokes } = await scene();
  const stays = profile("one", entryTo((await spoke()).server));
  hub.put(stays);
  const { client } = await connection(spokes, "one");
  const told: string[] = [];
  using _listening = spokes.onChange(({ name }) => void told.push(name));
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const metadata = { ...stays.metadata, deletionTimestamp, finalizers: ["other.example/held"] };
  hub.put({ ...stays, metadata });
  await vi.waitFor(() => expect(told).toEqual(["one"]), patience);
  await expect(spokes.acquire(ref("one"), signal)).rejects.toMatchObject({
    reason: "ClusterProfileNotReady",
    message:
      "ClusterProfile fleet/one is being deleted since 2026-01-01T00:00:00Z, and a finalizer holds it",
  });
  const removal = await spokes.acquire({ ...ref("one"), isRemoval: true }, signal);
  expect(removal.client).toBe(client);
  // Made anew under its name.
  hub.remove("fleet", "one");
  hub.put(profile("one", entryTo((await spoke()).server), "second"));
  await connection(spokes, "one");
});

test("L04: a profile that is not ready for a while keeps its connection, which nobody new is given", async () => {
  const { hub, spokes } = await scene();
  const ready = profile("one", entryTo((await spoke()).server));
  hub.put(ready);
  const before = await connection(spokes, "one");
  const conditions = [{ ...healthy, status: "False" as const }];
  hub.put({ ...ready, status: { ...ready.status, conditions } });
  await expect.poll(() => reasonOf(spokes, "one"), patience).toBe("ClusterProfileNotReady");
  expect(before.signal.aborted).toBe(false);
  hub.put(ready);
  expect(await connection(spokes, "one")).toBe(before);
});

test("L05: a profile that is deleted and created again is another cluster", async () => {
  const { hub, spokes } = await scene();
  const { server } = await spoke();
  hub.put(profile("one", entryTo(server), "uid-1"));
  const before = await connection(spokes, "one");
  hub.remove("fleet", "one");
  hub.put(profile("one", entryTo(server), "uid-2"));
  await vi.waitFor(() => expect(before.signal.aborted).toBe(true), patience);
  const after = await connection(spokes, "one");
  expect(after.profile.uid).toBe("uid-2");
  expect(after.signal.aborted).toBe(false);
});

test("L06: spokes go on working while the hub is away", async () => {
  const { hub, spokes } = await scene();
  hub.put(profile("one", entryTo((await spoke()).server)));
  const before = await connection(spokes, "one");
  await hub[Symbol.asyncDispose]();
  await vi.waitFor(() => expect(warnings).toContain("Cannot watch ClusterProfiles"), patience);
  expect(await spokes.acquire(ref("one"), signal)).toBe(before);
  await expect(before.client.request("GET", "/api", undefined, signal)).resolves.toBeDefined();
});

test("L07: a definition of ClusterProfiles that comes later is found without a restart", async () => {
  let served: "v1alpha1" | undefined;
  const { hub, spokes } = await scene({ serves: () => served });
  await vi.waitFor(() => expect(warnings).toContain("Cannot watch ClusterProfiles"), patience);
  expect(await reasonOf(spokes, "one")).toBe("ClusterProfileUnavailable");
  hub.put(profile("one", entryTo((await spoke()).server)));
  served = "v1alpha1";
  await connection(spokes, "one");
});

test("L08: profiles are read as v1alpha2 when that is what the hub serves, also later", async () => {
  let served: "v1alpha1" | "v1alpha2" = "v1alpha2";
  const { hub, spokes } = await scene({ serves: () => served });
  const { server } = await spoke();
  const other = {
    ...profile("one", entryTo(server)),
    apiVersion: "multicluster.x-k8s.io/v1alpha2",
  };
  hub.put(other);
  const before = await connection(spokes, "one");
  served = "v1alpha1";
  hub.cut();
  hub.put(profile("two", entryTo(server)));
  await connection(spokes, "two");
  expect(before.signal.aborted).toBe(false);
});

test("C13: a rotated CA changes the endpoint of its own cluster, and nothing of another", async () => {
  const { hub, spokes } = await scene();
  const rotated = createAuthority("rotated");
  const identity = rotated.issue({ commonName: "api", usage: "server", hosts: ["127.0.0.1"] });
  const old = await spoke();
  const steady = await spoke();
  hub.put(profile("one", entryTo(old.server)));
  hub.put(profile("other", entryTo(steady.server)));
  const [before, other] = [await connection(spokes, "one"), await connection(spokes, "other")];
  const watches = [before, other].map(async ({ client }) => {
    const events = client.watch({ resource: configMap }, { resourceVersion: "1" }, signal);
    for await (const event of events) void event;
  });
  const ends = watches.map((watch) => watch.then(String, (error: Error) => error.message));
  await vi.waitFor(() => expect(steady.requests.length).toBeGreaterThan(1), patience);
  await old[Symbol.asyncDispose]();
  await spoke(identity, old.port);
  hub.put(profile("one", entryTo(old.server, rotated.certificatePem)));
  await vi.waitFor(() => expect(before.signal.aborted).toBe(true), patience);
  const after = await connection(spokes, "one");
  expect(after.fingerprint).not.toBe(before.fingerprint);
  await ends[0];
  // Its watch goes on: it has not ended when the one of the rotated cluster has.
  expect(await Promise.race([ends[1], Promise.resolve("goes on")])).toBe("goes on");
  expect(await spokes.acquire(ref("other"), signal)).toBe(other);
});

/** One that has the entry in the old list only. */
function listed(entry: AccessProvider): ClusterProfile {
  return {
    ...profile("one", entry),
    status: { conditions: [healthy], credentialProviders: [entry] },
  };
}

test("D01: of three clusters of a decision one without a profile is told as such, and the others are reached", async () => {
  const { hub, spokes } = await scene();
  const { server } = await spoke();
  for (const name of ["a", "c"]) hub.put(profile(name, entryTo(server)));
  const decisions = ["a", "b", "c"].map((name) => ({ clusterProfileRef: { name } }));
  const { metadata } = profileOf();
  const decision = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "PlacementDecision" };
  const [set] = placementSets([{ ...decision, metadata, decisions }]);
  await connection(spokes, "a");
  const reached = set?.clusters.map(async ({ name }) => [name, await reasonOf(spokes, name)]);
  expect(await Promise.all(reached ?? [])).toEqual([
    ["a", "none"],
    ["b", "ClusterProfileNotFound"],
    ["c", "none"],
  ]);
});

test("R07: the deprecated list is told of once for a profile, however often it changes", async () => {
  const { hub, spokes } = await scene();
  const { server } = await spoke();
  const entry = entryTo(server);
  hub.put(listed(entry));
  const before = await connection(spokes, "one");
  hub.put(listed({ ...entry, cluster: { ...entry.cluster, "tls-server-name": "kube.internal" } }));
  await vi.waitFor(() => expect(before.signal.aborted).toBe(true), patience);
  await connection(spokes, "one");
  expect(warnings.filter((line) => line === "The profile uses the deprecated list")).toHaveLength(
    1,
  );
});

test.each<{ readonly row: string; readonly what: string; readonly more: Record<string, string> }>([
  { row: "T09", what: "as NO_PROXY says", more: { NO_PROXY: "127.0.0.1" } },
  { row: "T10", what: "on purpose: T-15", more: {} },
])(
  "$row: without proxy-url a spoke is reached directly, whatever our environment says ($what)",
  async ({ more }) => {
    const proxy = untilTheEnd(await startProxyStub());
    const url = `http://127.0.0.1:${proxy.port}`;
    const { hub, spokes } = await scene({}, { HTTPS_PROXY: url, https_proxy: url, ...more });
    hub.put(profile("one", entryTo((await spoke()).server)));
    await connection(spokes, "one");
    expect(proxy.asked).toEqual([]);
  },
);

test("a spoke that nobody uses any more is left alone after a while, and connected to anew when it is asked for", async () => {
  const path = new PathMetrics(systemClock);
  const { hub, spokes } = await scene({}, {}, { path, releaseMs: 50 });
  const { server } = await spoke();
  for (const name of ["one", "two"]) hub.put(profile(name, entryTo(server)));
  const [one, two] = [await connection(spokes, "one"), await connection(spokes, "two")];
  for (const name of ["one", "two", "never asked for"]) spokes.release(ref(name));
  // Somebody came in time.
  expect(await connection(spokes, "two")).toBe(two);
  await vi.waitFor(() => expect(one.signal.aborted).toBe(true), patience);
  expect(spokes.state(ref("one"))).toBeUndefined();
  expect([...path.spokes().keys()]).toEqual(["fleet/two"]);
  await expect(one.client.request("GET", "/version", undefined, signal)).rejects.toMatchObject({
    reason: "RemoteClusterStale",
  });
  await connection(spokes, "one");
  expect([...path.spokes().keys()].toSorted()).toEqual(["fleet/one", "fleet/two"]);
  expect(spokes.state(ref("two"))).toMatchObject({ kind: "connected", connection: two });
});

test("a spoke that cannot be reached and that nobody uses any more is not tried again", async () => {
  const { hub, spokes } = await scene({}, {}, { releaseMs: 50 });
  const away = await spoke();
  await away[Symbol.asyncDispose]();
  hub.put(profile("away", entryTo(away.server)));
  await vi.waitFor(async () => {
    expect(await reasonOf(spokes, "away")).toBe("RemoteClientCreationFailed");
  }, patience);
  spokes.release(ref("away"));
  await vi.waitFor(() => expect(spokes.state(ref("away"))).toBeUndefined(), patience);
});
