import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { kubeconfigOf } from "../fleet/kubeconfig.ts";
import { startProfileHub } from "../support/profile-hub.ts";

/** What the process is told first: the profiles, and the token of each profile's Secret. */
export interface FlappingStart {
  readonly profiles: readonly ClusterProfile[];
  readonly tokens: Readonly<Record<string, string>>;
}

/** What it is told then: how long to turn every profile unhealthy or healthy again, ten times a second. */
export interface FlappingOrder {
  readonly flapMs: number;
}

/** What it answers: a kubeconfig when it serves, how many flips it sent when it has flapped. */
export type FlappingAnswer =
  | { readonly kubeconfig: string }
  | { readonly flips: number; readonly elapsedMs: number };

const roundMs = 100;
const stepMs = 10;

// A process of its own, and not a real API server: neither its work nor its pace is to be measured, only what its events do.
const authority = createAuthority("flapping-hub");
const identity = authority.issue({ commonName: "hub", usage: "server", hosts: ["127.0.0.1"] });
const tokens = new Map<string, string>();
const profiles: ClusterProfile[] = [];
const hub = await startProfileHub({ identity, token: (name) => tokens.get(name) });

process.on("message", (message: FlappingStart | FlappingOrder) => {
  if ("flapMs" in message) {
    void flap(message.flapMs).then(answer);
    return;
  }
  for (const [name, token] of Object.entries(message.tokens)) tokens.set(name, token);
  profiles.push(...message.profiles);
  for (const profile of profiles) hub.put(profile);
  const caPem = authority.certificatePem;
  const entry = { name: "flapping", server: hub.server, caPem, identity: { token: "any" } };
  answer({ kubeconfig: kubeconfigOf(entry) });
});
process.once("disconnect", () => void hub[Symbol.asyncDispose]());

function answer(text: FlappingAnswer): void {
  process.send?.(text);
}

/** Spread evenly over time, by the clock: a step that comes late makes up for it. Ends with all healthy. */
async function flap(flapMs: number): Promise<FlappingAnswer> {
  const startedAt = performance.now();
  const wanted = Math.floor(flapMs / roundMs / 2) * 2 * profiles.length;
  let flips = 0;
  while (flips < wanted) {
    const due = Math.min(wanted, ((performance.now() - startedAt) / roundMs) * profiles.length);
    for (; flips < due; flips += 1) turn(flips);
    await new Promise((done) => setTimeout(done, stepMs));
  }
  return { flips, elapsedMs: performance.now() - startedAt };
}

function turn(flip: number): void {
  const profile = profiles[flip % profiles.length];
  if (profile === undefined) return;
  const isHealthy = Math.floor(flip / profiles.length) % 2 === 1;
  const conditions = [
    {
      type: "ControlPlaneHealthy",
      status: isHealthy ? ("True" as const) : ("False" as const),
      reason: "Flapping",
      message: "",
      lastTransitionTime: "2026-11-01T00:00:00Z",
    },
  ];
  hub.put({ ...profile, status: { ...profile.status, conditions } });
}
