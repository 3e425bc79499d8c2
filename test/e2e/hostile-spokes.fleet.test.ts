import { beforeAll, expect, onTestFinished, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../access/api-stub.ts";
import { createAuthority } from "../fleet/certificates.ts";
import type { ProfileOptions } from "../fleet/fleet.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { usageOf } from "../performance/process-usage.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../support/controller-process.ts";
import { builtInProviderFile, replicaKubeconfig } from "./built-in-access.ts";
import { liar, lies } from "./lying-spoke.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({ spokes: 1, hub: { kwok: false } });
const replica = { name: "hostile" };
const brackets = "[".repeat(10 * 1024 * 1024);
const mebibyte = 1024 * 1024;
let start: (more?: Partial<ControllerProcessOptions>) => Promise<ControllerProcess>;

beforeAll(async () => {
  await fleet().controllerKubeconfig();
  const options = {
    kubeconfig: await replicaKubeconfig(fleet().hub, replica),
    providerFile: await builtInProviderFile(fleet(), replica),
    releaseDir: sampleDirOf(),
  };
  start = (more = {}) => startControllerProcess({ ...options, ...more });
}, 600_000);

/** A component on a cluster of its own, which is the real spoke when `profile` says nothing else. */
async function create(name: string, profile: Partial<ProfileOptions> = {}): Promise<ObjectKey> {
  const { admin } = fleet().hub;
  const options = { plugin: "secretreader", name, ...profile } as const;
  const ref = await fleet().addProfile(fleet().spoke(0), options);
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const type = { apiVersion: operatorApiVersion, kind: "KnativeEventing" };
  const spec = { clusterProfileRef: { namespace: ref.namespace, name } };
  await admin.create({ ...type, metadata: { namespace: name, name }, spec });
  return { ...type, namespace: name, name };
}

interface HostileSpoke extends Required<Pick<ProfileOptions, "via" | "cluster">> {
  readonly asked: () => number;
  /** How many objects were sent. */
  readonly sent: () => number;
}

/** A component for each of the spokes, one after the other. */
async function createFor(spokes: readonly HostileSpoke[], name: string): Promise<ObjectKey[]> {
  const keys: ObjectKey[] = [];
  for (const [index, { via, cluster }] of spokes.entries()) {
    keys.push(await create(`${name}-${index}`, { via, cluster }));
  }
  return keys;
}

/** Removes components while their controller is at work: one of another test may not share its cluster with them. */
async function removed(keys: readonly ObjectKey[]): Promise<void> {
  const { admin } = fleet().hub;
  for (const key of keys) await admin.remove(key);
  await waitFor("the components to go", async () => {
    const left = await Promise.all(keys.map((key) => admin.get(key)));
    return left.every((component) => component === undefined);
  });
}

/** A spoke that answers all but `spared` paths with 10 MB of brackets. */
function hostileSpoke(spared: (path: string) => boolean): Promise<HostileSpoke> {
  const version: StubAnswer = { body: '{"gitVersion":"v1.36.3"}' };
  return spokeThat(({ path }) => (spared(path) ? version : { body: brackets }));
}

async function spokeThat(answer: (request: StubRequest) => StubAnswer): Promise<HostileSpoke> {
  const authority = createAuthority("hostile");
  const identity = authority.issue({ commonName: "a", usage: "server", hosts: ["127.0.0.1"] });
  const stub = await startApiStub({ identity, answer });
  onTestFinished(() => stub[Symbol.asyncDispose]());
  const caData = Buffer.from(authority.certificatePem).toString("base64");
  return {
    via: stub.server,
    cluster: { server: stub.server, "certificate-authority-data": caData },
    asked: () => stub.requests.length,
    sent: () => stub.requests.filter(({ method }) => method === "PATCH").length,
  };
}

async function isReady(key: ObjectKey): Promise<boolean> {
  return conditionOf(await fleet().hub.admin.get(key), "Ready")?.status === "True";
}

async function isTooLarge(key: ObjectKey): Promise<boolean> {
  const condition = conditionOf(await fleet().hub.admin.get(key), "TargetClusterResolved");
  return condition?.status === "False" && String(condition.message).includes("[TooLarge]");
}

function isVersion(path: string): boolean {
  return path.startsWith("/version");
}

// More than 15 s: dozens of answers of 10 MB are made, sent and refused on two cores.
test("four spokes that answer with megabytes of brackets do not take the memory, and the others are served", async () => {
  await using controller = await start({
    releaseDir: await writeThinRelease(fleet().folder, 3),
    // Spokes that fail are asked again after longer and longer pauses.
    clockFactor: 5,
  });
  const spokes = await Promise.all([
    ...Array.from({ length: 2 }, () => hostileSpoke(() => false)),
    // These are connected to, and asked for more.
    ...Array.from({ length: 2 }, () => hostileSpoke(isVersion)),
  ]);
  await using undo = new AsyncDisposableStack();
  const hostile = await createFor(spokes, "hostile");
  undo.defer(() => removed(hostile));
  const asked = (least: number): boolean => spokes.every((spoke) => spoke.asked() >= least);
  await waitFor("all of them to be asked", async () => asked(3), { timeoutMs: 120_000 });
  const good = await create("good");
  undo.defer(() => removed([good]));
  await waitFor("the other to be ready", () => isReady(good), {
    timeoutMs: 180_000,
  });
  await waitFor("all of them to be asked again", async () => asked(5), { timeoutMs: 180_000 });
  expect(await Promise.all(hostile.map(isReady))).not.toContain(true);
  const { peakResidentBytes } = await usageOf(controller.pid);
  console.error(`The controller took ${Math.round(peakResidentBytes / mebibyte)} MiB at most`);
  expect(peakResidentBytes).toBeLessThan(250 * mebibyte);
}, 600_000);

// More than 15 s: twelve spokes are connected and lie, in the time that they have in truth, and one installs beside them.
test("twelve spokes that lie in watches, in four ways, do not take the memory, and the others are served", async () => {
  await using controller = await start({ flags: ["--anchor-protection=TwinOwner"] });
  const told = lies.flatMap((lie) => Array.from({ length: 3 }, () => lie));
  const spokes = await Promise.all(told.map((lie) => spokeThat(liar(lie))));
  const startedAt = performance.now();
  const keys = await createFor(spokes, "liar");
  const asked = (): boolean => spokes.every((spoke) => spoke.asked() >= 15);
  await waitFor("all of them to be asked", async () => asked(), { timeoutMs: 180_000 });
  const good = await create("honest");
  await waitFor("the other to be ready", () => isReady(good), { timeoutMs: 180_000 });
  const named = keys.filter((_, index) => told[index]?.exceeds === true);
  const haveFailed = async (): Promise<boolean> =>
    (await Promise.all(named.map(isTooLarge))).every((one) => one);
  await waitFor("those with too many names to fail", haveFailed, { timeoutMs: 180_000 });
  const { peakResidentBytes, cpuMs } = await usageOf(controller.pid);
  const took = `${Math.round(peakResidentBytes / mebibyte)} MiB at most and ${cpuMs} ms of CPU`;
  console.error(`The controller took ${took}`);
  expect(peakResidentBytes).toBeLessThan(300 * mebibyte);
  // The watches say again and again that all 149 objects are gone. See `repairPace`: 600 objects at once, then five a second, and the two attempts that
  // had begun before they were paid for.
  const seconds = (performance.now() - startedAt) / 1_000;
  // A fortieth of a core for each. What all of them get when they connect comes once.
  expect(cpuMs).toBeLessThan(10_000 + 300 * seconds);
  const sent = spokes.map((spoke) => spoke.sent());
  expect(Math.max(...sent)).toBeLessThanOrEqual(600 + 5 * seconds + 2 * 160);
}, 600_000);
