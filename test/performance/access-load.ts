import { readdir, readlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { connectHub } from "../../access/hub.ts";
import { openSpokes } from "../../access/open-spokes.ts";
import type { Spokes } from "../../access/spokes.ts";
import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { knownResource } from "../../api/resources.ts";

/** What a process of its own saw that engages many spokes; printed as JSON. */
export interface AccessLoad {
  readonly spokes: number;
  /** From nothing until every spoke has answered. */
  readonly engagedMs: number;
  readonly bytesPerSpoke: number;
  readonly flips: number;
  /** How much live memory and how many sockets the flapping added. */
  readonly flappingBytes: number;
  readonly flappingSockets: number;
}

const [kubeconfig = "", providerFile = "", count = "0"] = process.argv.slice(2);
const namespace = "many";
const userAgent = "knfleet-bench/0";
const flappingMs = 10_000;
const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
const refs = Array.from({ length: Number(count) }, (_, index) => ({
  namespace,
  name: `spoke-${index}`,
}));

const environment = { KUBECONFIG: "/nonexistent", PATH: process.env["PATH"] };
const signal = AbortSignal.timeout(120_000);
await using hub = await connectHub({ kubeconfig, environment, userAgent });
await hub.client.list({ resource, namespace: "default" }, {}, signal);
const before = await settled();
const startedAt = performance.now();
await using spokes = await openSpokes(
  { hub: hub.client, providerFile, environment, userAgent },
  signal,
);
await Promise.all(refs.map((ref) => spokes.acquire(ref, signal)));
const engagedMs = performance.now() - startedAt;
const engaged = await settled();
// A first round, so that what every profile's first change costs once is not counted as growth.
await flap(2_000);
await allConnected(spokes);
const rested = await settled();
const flips = await flap(flappingMs);
await allConnected(spokes);
const after = await settled();
const load: AccessLoad = {
  spokes: refs.length,
  engagedMs,
  bytesPerSpoke: (engaged.bytes - before.bytes) / refs.length,
  flips,
  flappingBytes: after.liveBytes - rested.liveBytes,
  flappingSockets: after.sockets - rested.sockets,
};
process.stdout.write(JSON.stringify(load));

/** Turns profiles unhealthy and healthy again, ten times a second each or as fast as the hub allows. */
async function flap(durationMs: number): Promise<number> {
  const end = performance.now() + durationMs;
  let done = 0;
  const worker = async (first: number): Promise<void> => {
    for (let at = first; performance.now() < end; at += 8) {
      const ref = refs[at % refs.length];
      if (ref === undefined) return;
      await turn(ref, false);
      await turn(ref, true);
      done += 2;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, first) => worker(first)));
  return done;
}

async function turn(ref: { namespace: string; name: string }, healthy: boolean): Promise<void> {
  const condition = {
    type: "ControlPlaneHealthy",
    status: healthy ? "True" : "False",
    reason: "Flapping",
    message: "",
    lastTransitionTime: "2026-11-01T00:00:00Z",
  };
  const patch = { status: { conditions: [condition] } };
  await hub.client.patch({ ...ref, resource }, patch, { subresource: "status" }, signal);
}

async function allConnected(from: Spokes): Promise<void> {
  while (refs.some((ref) => from.state(ref)?.kind !== "connected")) {
    signal.throwIfAborted();
    await delay(50);
  }
}

interface Settled {
  readonly bytes: number;
  /** Without what the allocator keeps for later. */
  readonly liveBytes: number;
  readonly sockets: number;
}

async function settled(): Promise<Settled> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await delay(200);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { bytes: rss, liveBytes: heapUsed + external, sockets: await openSockets() };
}

/** From the kernel: Node does not list idle sockets, because they hold nothing up. */
async function openSockets(): Promise<number> {
  const folder = "/proc/self/fd";
  const links = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")),
  );
  return links.filter((link) => link.startsWith("socket:")).length;
}
