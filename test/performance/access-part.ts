import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { connectHub } from "../../access/hub/hub.ts";
import { loadProviderFile } from "../../access/providers/provider-file.ts";
import { connectSpoke } from "../../access/spokes/spoke-connection.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { clusterProfileApiVersion, isClusterProfile } from "../../api/cluster-profile.ts";
import { knownResource } from "../../api/resources.ts";
import { type Fleet, type Profile, startFleet } from "../fleet/fleet.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import type { AccessLoad } from "./access-load.ts";
import { medianOf } from "./figures.ts";

/** The credential path with built-in readers, against real API servers. */
export interface AccessResult extends AccessLoad {
  /** Resolve, connect and first request at RTT 0: median. */
  readonly firstRequestMs: number;
  /** Round trips to the spoke until the first answer, the hub's one for the Secret included. */
  readonly coldRoundTrips: number;
}

const manySpokes = 200;
const firstRequests = 20;
const slowRttMs = 200;
const userAgent = "knfleet-bench/0";

/** Starts a hub and one spoke that 200 ClusterProfiles lead to, and measures. */
export async function measureAccess(say: (line: string) => void): Promise<AccessResult> {
  await using fleet = await startFleet({
    spokes: [{ name: "spoke-1", kwok: false }],
    log: say,
  });
  const providerFile = await builtInProviders(fleet);
  say("Access: first requests");
  const near = await fleet.addProfile(fleet.spoke(0), { plugin: "secretreader", via: "direct" });
  const times: number[] = [];
  for (let run = 0; run < firstRequests; run += 1) {
    times.push(await firstRequest(fleet, near, providerFile));
  }
  const far = await fleet.addProfile(fleet.spoke(0), { plugin: "secretreader", name: "far" });
  fleet.spoke(0).proxy.setRtt(slowRttMs);
  const slowMs = await firstRequest(fleet, far, providerFile);
  fleet.spoke(0).proxy.setRtt(0);
  say(`Access: publishing ${manySpokes} spokes`);
  await publish(fleet);
  say(`Access: engaging ${manySpokes} spokes, then flapping profiles`);
  const load = await loadOf(fleet, providerFile);
  const firstRequestMs = medianOf(times);
  const coldRoundTrips = Math.round((slowMs - firstRequestMs) / slowRttMs) + 1;
  return { ...load, firstRequestMs, coldRoundTrips };
}

async function builtInProviders(fleet: Fleet): Promise<string> {
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:secretreader",
    env: [
      { name: "KUBECONFIG", value: "/nonexistent" },
      { name: "POD_NAMESPACE", value: credentialNamespace },
    ],
    provideClusterInfo: true,
  };
  const file = join(fleet.folder, "built-in.json");
  await writeFile(file, JSON.stringify({ providers: [{ name: "secretreader", execConfig }] }));
  return file;
}

/** Milliseconds from a profile to the answer of a first request; the connection to the hub is there already. */
async function firstRequest(fleet: Fleet, ref: Profile, providerFile: string): Promise<number> {
  const signal = AbortSignal.timeout(30_000);
  const environment = {};
  const kubeconfig = fleet.hub.adminKubeconfigPath;
  await using hub = await connectHub({ clock: systemClock, kubeconfig, environment, userAgent });
  const { namespace, name } = ref;
  const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  const profile = await hub.client.get({ resource, namespace, name }, {}, signal);
  if (profile === undefined || !isClusterProfile(profile))
    throw new Error(`No ClusterProfile ${name}`);
  const providers = await loadProviderFile({ path: providerFile }, signal);
  const startedAt = performance.now();
  const deps = { clock: systemClock, environment, userAgent, hub: hub.client };
  await using connection = await connectSpoke({ profile, providers }, deps, signal);
  const elapsedMs = performance.now() - startedAt;
  // The probe of the connection is its first request; one more shows that it works.
  await connection.client.request("GET", "/version", undefined, signal);
  return elapsedMs;
}

async function publish(fleet: Fleet): Promise<void> {
  const options = { plugin: "secretreader", namespace: "many", via: "direct" } as const;
  for (let first = 0; first < manySpokes; first += 20) {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const name = `spoke-${first + index}`;
        return fleet.addProfile(fleet.spoke(0), { ...options, name });
      }),
    );
  }
}

async function loadOf(fleet: Fleet, providerFile: string): Promise<AccessLoad> {
  const script = join(import.meta.dirname, "access-load.ts");
  const kubeconfig = fleet.hub.adminKubeconfigPath;
  const args = ["--expose-gc", script, kubeconfig, providerFile, String(manySpokes)];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 300_000,
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  const load: unknown = child.exitCode === 0 ? JSON.parse(output) : undefined;
  if (!isLoad(load)) throw new Error("Engaging many spokes failed");
  return load;
}

function isLoad(value: unknown): value is AccessLoad {
  return typeof value === "object" && value !== null && "engagedMs" in value;
}
