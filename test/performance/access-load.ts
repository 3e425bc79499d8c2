import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { connectHub, type HubConnection } from "../../access/hub/hub.ts";
import { openSpokes } from "../../access/spokes/open-spokes.ts";
import type { Spokes } from "../../access/spokes/spokes.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { clusterProfileApiVersion, isClusterProfile } from "../../api/cluster-profile.ts";
import { knownResource } from "../../api/resources.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import type { FlappingAnswer, FlappingOrder, FlappingStart } from "./flapping-hub.ts";

/** What a process of its own saw that engages many spokes; printed as JSON. */
export interface AccessLoad {
  readonly spokes: number;
  /** From nothing until every spoke has answered. */
  readonly engagedMs: number;
  readonly bytesPerSpoke: number;
  readonly flips: number;
  readonly flipsPerSecond: number;
  /** Live memory and open sockets before and after the flapping. */
  readonly rested: Held;
  readonly flapped: Held;
}

interface Held {
  readonly liveBytes: number;
  readonly sockets: number;
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
const signal = AbortSignal.timeout(280_000);
await using hub = await connectHub({ clock: systemClock, kubeconfig, environment, userAgent });
const start = await flappingStart();
const engagement = await engage(hub);
const flapping = await flapAll(start);
const load: AccessLoad = { spokes: refs.length, ...engagement, ...flapping };
process.stdout.write(JSON.stringify(load));

/** Connects to all spokes, whose profiles are on a real hub. */
async function engage(
  from: HubConnection,
): Promise<Pick<AccessLoad, "engagedMs" | "bytesPerSpoke">> {
  const before = await settled();
  const startedAt = performance.now();
  await using spokes = await opened(from);
  const engagedMs = performance.now() - startedAt;
  const after = await settled();
  const connected = refs.filter((ref) => spokes.state(ref)?.kind === "connected").length;
  return { engagedMs, bytesPerSpoke: (after.bytes - before.bytes) / connected };
}

async function opened(from: HubConnection): Promise<Spokes> {
  const options = { clock: systemClock, hub: from.client, providerFile, environment, userAgent };
  const spokes = await openSpokes(options, signal);
  // On a busy machine a first attempt may fail; it is made again, and that is part of the time.
  await Promise.all(refs.map((ref) => spokes.acquire(ref, signal).catch(() => undefined)));
  await allConnected(spokes);
  return spokes;
}

/** The same profiles on a hub that turns each unhealthy and healthy again, ten times a second. */
async function flapAll(
  known: FlappingStart,
): Promise<Pick<AccessLoad, "flips" | "flipsPerSecond" | "rested" | "flapped">> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-bench-"));
  const generator = fork(join(import.meta.dirname, "flapping-hub.ts"));
  try {
    const served = await asked(generator, known);
    const file = join(folder, "kubeconfig");
    await writeFile(file, "kubeconfig" in served ? served.kubeconfig : "");
    await using flappingHub = await connectHub({
      clock: systemClock,
      kubeconfig: file,
      environment,
      userAgent,
    });
    await using spokes = await opened(flappingHub);
    // A first round, so that what every profile's first change costs once is not counted as growth.
    await asked(generator, { flapMs: flappingMs });
    await allConnected(spokes);
    const rested = await settled();
    const done = await asked(generator, { flapMs: flappingMs });
    await allConnected(spokes);
    const flapped = await settled();
    if (!("flips" in done)) throw new Error("The hub did not flap");
    const { flips, elapsedMs } = done;
    return { flips, flipsPerSecond: flips / (elapsedMs / 1_000), rested, flapped };
  } finally {
    generator.disconnect();
    await rm(folder, { recursive: true });
  }
}

async function asked(
  generator: ChildProcess,
  message: FlappingStart | FlappingOrder,
): Promise<FlappingAnswer> {
  generator.send(message);
  const [answer]: FlappingAnswer[] = await once(generator, "message", { signal });
  if (answer === undefined) throw new Error("The flapping hub said nothing");
  return answer;
}

async function flappingStart(): Promise<FlappingStart> {
  const { items } = await hub.client.list({ resource, namespace }, {}, signal);
  const secrets = { resource: knownResource("v1", "Secret"), namespace: credentialNamespace };
  const held = await hub.client.list(secrets, {}, signal);
  const tokens = held.items.map(({ metadata, ...rest }) => {
    const data: unknown = rest["data"];
    const isData = typeof data === "object" && data !== null && "token" in data;
    const text = isData ? Buffer.from(String(data.token), "base64").toString() : "";
    return [metadata.name, text] as const;
  });
  return { profiles: items.filter(isClusterProfile), tokens: Object.fromEntries(tokens) };
}

async function allConnected(from: Spokes): Promise<void> {
  while (refs.some((ref) => from.state(ref)?.kind !== "connected")) {
    signal.throwIfAborted();
    await delay(50);
  }
}

async function settled(): Promise<Held & { readonly bytes: number }> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await delay(200);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  // `liveBytes`: without what the allocator keeps for later.
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
