// Servers of its own: the API server of a spoke is killed.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import * as fc from "fast-check";
import { expect, test, vi } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { openSpokes, type SpokesOptions } from "../../../access/spokes/open-spokes.ts";
import type { Spokes } from "../../../access/spokes/spokes.ts";
import type { ClusterProfileRef } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { create, read } from "../../e2e/installation.ts";
import type { KeyPair } from "../../fleet/certificates.ts";
import type { Profile } from "../../fleet/fleet.ts";
import { conditionOf } from "../../fleet/json-record.ts";
import { credentialNamespace } from "../../fleet/profiles.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { startControllerProcess } from "../../support/controller-process.ts";
import { runsOf, seed } from "../../support/fuzz.ts";
import { held, leakedSince } from "../../support/held.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { rethrow } from "../../support/rethrow.ts";

const fleet = useFleet({ spokes: [{ name: "spoke-1", kwok: false }] });
const configMap = knownResource("v1", "ConfigMap");
const apiVersion = "client.authentication.k8s.io/v1";
const userAgent = "knfleet-life-test/0";

interface Exec {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
}

async function providerFile(file: string, exec: Exec): Promise<string> {
  const { name, ...config } = exec;
  const env = [{ name: "POD_NAMESPACE", value: credentialNamespace }];
  const execConfig = { apiVersion, provideClusterInfo: true, env, ...config };
  const path = join(fleet().folder, file);
  await writeFile(path, JSON.stringify({ providers: [{ name, execConfig }] }));
  return path;
}

test("a client certificate is rotated under a watch, and no event is lost (C10)", async () => {
  const spoke = fleet().spoke(0);
  await using clock = new QuickClock(5);
  const folder = join(fleet().folder, "rotating");
  await mkdir(folder);
  const certify = async (pair: KeyPair): Promise<void> => {
    const status = {
      clientCertificateData: pair.certificatePem,
      clientKeyData: pair.keyPem,
      expirationTimestamp: "@",
    };
    const text = JSON.stringify({ kind: "ExecCredential", apiVersion, status });
    await writeFile(join(folder, "credential.json"), text);
  };
  const plugin = join(folder, "plugin");
  // It tells the time by the same clock.
  const tellTime = () => writeFile(join(folder, "seconds"), `${Number(clock.date()) / 1_000 + 8}`);
  await tellTime();
  const end = `$(date -u -d "@$(cat ${folder}/seconds)" +%Y-%m-%dT%H:%M:%SZ)`;
  await writeFile(plugin, `#!/bin/sh\nsed "s/@/${end}/" ${folder}/credential.json\n`);
  await chmod(plugin, 0o755);
  await certify(spoke.clientCertificate("rotating-1", ["system:masters"]));
  const profile = await fleet().addProfile(spoke, { plugin: "secretreader", name: "rotating" });
  await using hub = await connectHub({
    clock,
    kubeconfig: fleet().hub.adminKubeconfigPath,
    environment: {},
    userAgent,
  });
  const file = await providerFile("rotating.json", { name: "secretreader", command: plugin });
  await using spokes = await openSpokes(
    {
      clock,
      hub: hub.client,
      providerFile: file,
      environment: process.env,
      userAgent,
    },
    AbortSignal.timeout(60_000),
  );
  const connection = await vi.waitFor(() => spokes.acquire(profile, AbortSignal.timeout(60_000)), {
    timeout: 60_000,
  });
  const seen: string[] = [];
  const failures: unknown[] = [];
  let lists = 0;
  using reflector = new Reflector(
    {
      clock,
      client: connection.client,
      ref: { resource: configMap, namespace: "default" },
    },
    {
      onChange: ({ metadata }) => seen.push(metadata.name),
      onDelete: () => undefined,
      onBug: rethrow,
      onError: (error) => failures.push(error),
      onSynced: () => {
        lists += 1;
      },
    },
    connection.signal,
  );
  await reflector.synced;
  await certify(spoke.clientCertificate("rotating-2", ["system:masters"]));
  // Until the old connection is cut, 30 s after the new one took over.
  const written: string[] = [];
  const until = performance.now() + 180_000;
  while (failures.length === 0 && performance.now() < until) {
    await tellTime();
    const name = `rotation-${written.length}`;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } };
    // Half of them by others, half by the connection itself, so that it needs its credential.
    if (written.length % 2 === 0) await spoke.admin.create(body);
    else {
      const ref = { resource: configMap, namespace: "default" };
      await connection.client.create(
        ref,
        body,
        { fieldManager: "test" },
        AbortSignal.timeout(60_000),
      );
    }
    written.push(name);
    await delay(100);
  }
  expect(failures).toHaveLength(1);
  await vi.waitFor(() => expect(seen).toEqual(expect.arrayContaining(written)), {
    timeout: 60_000,
  });
  // A watch that failed is followed by a list, which may be what tells of the last event.
  await vi.waitFor(() => expect(lists).toBe(2), { timeout: 60_000 });
  expect(new Set(seen).size).toBe(seen.length);
  expect(spokes.state(profile)).toMatchObject({ kind: "connected", connection });
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  expect(
    await connection.client.request("POST", path, review, AbortSignal.timeout(60_000)),
  ).toMatchObject({ status: { userInfo: { username: "rotating-2" } } });
}, 600_000);

test("a provider file that is no longer valid is told by the metric and by the condition, until it is (T-28, L10)", async () => {
  const profile = await fleet().addProfile(fleet().spoke(0), {
    plugin: "secretreader",
    name: "unmatched",
  });
  const command = "builtin:secretreader";
  const file = await providerFile("changing.json", { name: "other", command });
  await using controller = await startControllerProcess({
    kubeconfig: fleet().hub.adminKubeconfigPath,
    providerFile: file,
    releaseDir: sampleDirOf(),
    flags: ["--log-level=debug"],
  });
  await create(fleet().hub, { kind: "KnativeEventing", on: profile });
  const message = async (): Promise<string> => {
    const component = await read(fleet().hub, "KnativeEventing");
    return String(conditionOf(component, "TargetClusterResolved")?.message);
  };
  const isValid = async (): Promise<string | undefined> =>
    (await controller.metrics())
      .split("\n")
      .find((l) => l.startsWith("knfleet_provider_file_valid"));
  const patience = { timeout: 60_000, interval: 200 };
  await expect.poll(message, patience).toContain("[NoMatchingProvider]");
  expect(await message()).not.toContain("last good one");
  expect(await isValid()).toBe("knfleet_provider_file_valid 1");

  await writeFile(file, '{"providers": [');
  await expect.poll(message, patience).toContain("the last good one is in use");
  expect(await message()).toContain("[NoMatchingProvider]");
  expect(await isValid()).toBe("knfleet_provider_file_valid 0");
  expect(controller.logLines({ level: "warn" })).toContainEqual(
    expect.objectContaining({ msg: "Kept the last good provider file" }),
  );

  await providerFile("changing.json", { name: "secretreader", command });
  await expect
    .poll(async () => {
      const component = await read(fleet().hub, "KnativeEventing");
      return conditionOf(component, "TargetClusterResolved")?.status;
    }, patience)
    .toBe("True");
  expect(await isValid()).toBe("knfleet_provider_file_valid 1");
  const steps = controller.logLines({ msg: "A step on the way to a spoke" });
  expect(steps.map(({ step }) => step)).toEqual(
    expect.arrayContaining(["spoke.plugin", "spoke.tls", "spoke.request", "spoke.attempt"]),
  );
}, 600_000);

/** What a user of the spoke meets who asks for it and sends a request. */
async function met(spokes: Spokes, { namespace, name }: ClusterProfileRef): Promise<string> {
  try {
    const connection = await spokes.acquire({ namespace, name }, AbortSignal.timeout(60_000));
    await connection.client.request("GET", "/version", undefined, AbortSignal.timeout(3_000));
    return `works ${connection.profile.uid} ${connection.fingerprint}`;
  } catch (error) {
    return error instanceof FleetError ? `${error.reason} ${error.code}` : "broke";
  }
}

async function sameAsFresh(
  spokes: Spokes,
  options: SpokesOptions,
  refs: readonly ClusterProfileRef[],
): Promise<void> {
  await using fresh = await openSpokes(options, AbortSignal.timeout(60_000));
  const all = (of: Spokes): Promise<string[]> => Promise.all(refs.map((ref) => met(of, ref)));
  await vi.waitFor(
    async () => {
      const [now, wanted] = await Promise.all([all(spokes), all(fresh)]);
      expect(now).toEqual(wanted);
    },
    { timeout: 60_000, interval: 500 },
  );
}

// More than 15 s: a server freezes, keys and tokens change, and after each run two sets of connections are compared on real clusters.
test(`after any events on real clusters all is as after a fresh start (KNFLEET_SEED=${seed})`, async () => {
  const spoke = fleet().spoke(0);
  const identity = { namespace: "knfleet", name: "lived", clusterRoles: ["knfleet-spoke"] };
  const publish = (name: string): Promise<Profile> =>
    fleet().addProfile(spoke, { plugin: "secretreader", name, identity });
  const profiles = new Map([
    ["life-a", await publish("life-a")],
    ["life-b", await publish("life-b")],
  ]);
  const refs = [...profiles.values()].map(({ namespace, name }) => ({ namespace, name }));
  const wrongCa = Buffer.from(fleet().hub.caPem).toString("base64");
  const builtIn = { name: "secretreader", command: "builtin:secretreader" };
  const every = (work: (profile: Profile) => Promise<unknown>): Promise<unknown> =>
    Promise.all([...profiles.values()].map(work));
  const events = {
    unready: () => profiles.get("life-a")?.update({ healthy: false }),
    ready: () => profiles.get("life-a")?.update({ healthy: true }),
    moved: () => every((profile) => profile.update({ via: "direct" })),
    back: () => every((profile) => profile.update({ via: "proxy" })),
    "other CA": () =>
      profiles.get("life-b")?.update({ cluster: { "certificate-authority-data": wrongCa } }),
    "right CA": () => profiles.get("life-b")?.update({ cluster: {} }),
    deleted: async () => {
      await profiles.get("life-b")?.remove();
      profiles.delete("life-b");
    },
    created: async () => profiles.set("life-b", await publish("life-b")),
    revoked: () => profiles.get("life-a")?.revoke(),
    renewed: () => every((profile) => profile.renew()),
    "spoke away": () => spoke.proxy.setMode("refuse"),
    "spoke there": () => spoke.proxy.setMode("open"),
    "spoke restarts": async () => {
      await spoke.stop("SIGKILL");
      await spoke.start();
    },
    "file invalid": () => writeFile(join(fleet().folder, "life.json"), "["),
    "file good": () => providerFile("life.json", builtIn),
    pause: () => delay(1_000),
  };
  const chosen = fc.constantFrom(...Object.entries(events));
  const length = runsOf(56);
  const [script = []] = fc.sample(fc.array(chosen, { minLength: length, maxLength: length }), {
    seed,
    numRuns: 1,
  });
  const before = await held();
  {
    // Attempts and questions follow each other in a fifth of the time.
    await using clock = new QuickClock(5);
    const kubeconfig = fleet().hub.adminKubeconfigPath;
    await using hub = await connectHub({ clock, kubeconfig, environment: {}, userAgent });
    const file = await providerFile("life.json", builtIn);
    const options = {
      clock,
      hub: hub.client,
      providerFile: file,
      environment: {},
      userAgent,
    };
    await using spokes = await openSpokes(options, AbortSignal.timeout(60_000));
    for (const [, event] of script) {
      await event();
      for (const ref of refs) void met(spokes, ref);
    }
    await events["file good"]();
    await sameAsFresh(spokes, options, refs);
    // And with everything well again.
    await events["spoke there"]();
    await events.created();
    await events.renewed();
    await sameAsFresh(spokes, options, refs);
  }
  // The fleet's own clients and proxies live in this process too, and keep sockets open; test/access/spokes/open-spokes-property.test.ts
  // counts without them.
  const { sockets: _, ...leaked } = await leakedSince(before);
  expect(leaked).toEqual({});
}, 600_000);
