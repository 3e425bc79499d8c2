import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import type { ProviderFile } from "../../../access/providers/provider-config.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import { connectSpoke } from "../../../access/spokes/spoke-connection.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { startProfileHub } from "../../support/profile-hub.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, requesterTo, serverIdentity, stub, untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(300_000);
const patience = { timeout: 90_000, interval: 50 };
let folder: string;
let command: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-concurrency-"));
  command = join(folder, "plugin");
  const output = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T"}}`;
  const lines = [
    "#!/bin/sh",
    // The kind of the provider is its first argument.
    `mkdir -p ${folder}/running/$1.$$`,
    `ls ${folder}/running | grep -c "^$1" >> ${folder}/$1`,
    `ls ${folder}/running | wc -l >> ${folder}/all`,
    // However slow the machine is: it ends when the test has seen it.
    `until [ -e ${folder}/go ]; do sleep 0.05; done`,
    `rmdir ${folder}/running/$1.$$`,
    `echo '${output}'`,
  ];
  await writeFile(command, `${lines.join("\n")}\n`);
  await chmod(command, 0o755);
  await mkdir(join(folder, "running"));
});

afterEach(() => rm(folder, { recursive: true }));

async function most(of: string): Promise<number> {
  const numbers = (await readFile(join(folder, of), "utf8")).trim().split("\n").map(Number);
  return Math.max(...numbers);
}

/** How many plugins of each kind run. */
async function running(): Promise<Readonly<Record<string, number>>> {
  const names = await readdir(join(folder, "running"));
  const kinds = Object.groupBy(names, (name) => name.split(".", 1)[0] ?? "");
  return Object.fromEntries(Object.entries(kinds).map(([kind, all = []]) => [kind, all.length]));
}

test("of real plugins two of a provider run at the same time, or as many as it says, and eight of all (T-45, X33)", async () => {
  const api = await stub();
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca };
  const deps = {
    clock: systemClock,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
    // On a busy machine all take long.
    plugins: new PluginLimits(systemClock, { limit: 8, longLimit: 4, longMs: 3_600_000 }),
  };
  const patient = { timeout: "5m" };
  const providers: ProviderFile = fileOf(
    rawProvider("usual", patient, { command, args: ["usual"] }),
    rawProvider("one", { ...patient, maxConcurrency: 1 }, { command, args: ["one"] }),
    rawProvider("many", { ...patient, maxConcurrency: 20 }, { command, args: ["many"] }),
  );
  const connect = async (name: string, number: number): Promise<void> => {
    const plain = profileOf({ accessProviders: [entryOf(name, cluster)] });
    const metadata = { ...plain.metadata, name: `${name}-${number}` };
    const profile = { ...plain, metadata };
    const connection = await connectSpoke({ profile, providers }, deps, signal).catch(noMatter);
    await connection?.[Symbol.asyncDispose]();
  };
  const counts = { usual: 6, one: 3, many: 14 };
  const all = Object.entries(counts).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, number) => connect(name, number)),
  );
  await expect.poll(running, patience).toEqual({ usual: 2, one: 1, many: 5 });
  // The last one has counted, too, before the first one ends.
  await expect.poll(() => most("all"), patience).toBe(8);
  await expect.poll(() => most("usual"), patience).toBe(2);
  await writeFile(join(folder, "go"), "");
  await Promise.all(all);
  expect(await most("usual")).toBe(2);
  expect(await most("one")).toBe(1);
  expect(await most("all")).toBe(8);
  const runs = await Promise.all(
    Object.keys(counts).map((name) => readFile(join(folder, name), "utf8")),
  );
  expect(runs.map((text) => text.trim().split("\n").length)).toEqual(Object.values(counts));
}, 150_000);

test("however many requests wait for a credential, its plugin runs once", async () => {
  const api = await stub();
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca };
  const profile = profileOf({ accessProviders: [entryOf("one", cluster)] });
  const providers = fileOf(rawProvider("one", {}, { command, args: ["one"] }));
  const deps = { clock: systemClock, environment: { PATH: "/usr/bin:/bin" }, userAgent: "test" };
  await writeFile(join(folder, "go"), "");
  await using connection = await connectSpoke({ profile, providers }, deps, signal);
  await Promise.all(
    Array.from({ length: 30 }, () => connection.client.request("GET", "/", undefined, signal)),
  );
  expect((await readFile(join(folder, "one"), "utf8")).trim().split("\n")).toHaveLength(1);
});

test("a maxConcurrency that the provider file changes holds for plugins that wait already, and for connections that stay", async () => {
  const api = await stub();
  const providerFile = join(folder, "providers.json");
  const fileSays = (maxConcurrency: number): Promise<void> => {
    const provider = rawProvider(
      "file",
      { maxConcurrency, timeout: "5m" },
      { command, args: ["file"] },
    );
    return writeFile(providerFile, JSON.stringify({ providers: [provider] }));
  };
  await fileSays(1);
  const hub = untilTheEnd(await startProfileHub({ identity: serverIdentity }));
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca };
  const names = ["a", "b", "c"];
  for (const name of names) {
    const profile = profileOf({ accessProviders: [entryOf("file", cluster)] });
    hub.put({ ...profile, metadata: { ...profile.metadata, name, uid: name } });
  }
  const options = {
    clock: systemClock,
    hub: createKubeClient(requesterTo({ server: hub.server })),
    providerFile,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
  };
  const spokes = untilTheEnd(await openSpokes(options, signal));
  const acquire = (name: string) => spokes.acquire({ namespace: "fleet", name }, signal);
  const waiting = names.map((name) => acquire(name).catch(noMatter));
  await expect.poll(running, patience).toEqual({ file: 1 });
  await fileSays(3);
  await expect.poll(running, patience).toEqual({ file: 3 });
  await writeFile(join(folder, "go"), "");
  await Promise.all(waiting);
});

/** On a busy machine a server may answer too late; only the plugins are counted here. */
function noMatter(): undefined {
  return undefined;
}
