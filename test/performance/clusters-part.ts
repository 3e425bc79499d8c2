import { runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import {
  account,
  applyNamespaces,
  healthOf,
  kubeconfigSecret,
  profileKey,
  startBlackHole,
  startDiscovery,
} from "../controller/discovery/fleet-parts.ts";
import { builtInProviderFile } from "../e2e/built-in-access.ts";
import { type Fleet, startFleet } from "../fleet/fleet.ts";
import { kubeconfigOf } from "../fleet/kubeconfig.ts";
import { portOf } from "../fleet/ports.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { medianOf, seconds } from "./figures.ts";
import type { Goal } from "./goals.ts";

/** How long it takes until a cluster can be used. */
export interface ClustersResult {
  /** `kubectl knfleet register`, from its start to its end; the median of the runs. */
  readonly registerMs: number;
  /** From the start of a controller until all clusters are healthy that 200 Secrets tell of, but for the black holes. */
  readonly discoveryMs: number;
}

const sources = 200;
const blackHoles = 10;

/** Registers one spoke again and again, and then lets a controller discover it under 190 names, beside ten clusters that answer nothing. */
export async function measureClusters(
  runs: number,
  say: (line: string) => void,
): Promise<ClustersResult> {
  await using fleet = await startFleet({ spokes: 1, log: say });
  await applyNamespaces(fleet);
  const times: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    say(`Registering a cluster, run ${run} of ${runs}`);
    times.push(await register(fleet, `registered-${run}`));
  }
  say(`Discovering ${sources} clusters, ${blackHoles} of which answer nothing`);
  return { registerMs: medianOf(times), discoveryMs: await discover(fleet) };
}

async function register(fleet: Fleet, name: string): Promise<number> {
  const files = [fleet.hub, ...fleet.spokes].map(({ adminKubeconfigPath }) => adminKubeconfigPath);
  const providerFile = await builtInProviderFile(fleet, { name: "register" });
  const env = { KUBECONFIG: files.join(":"), KNFLEET_PROVIDER_FILE: providerFile };
  const startedAt = performance.now();
  const { stdout, stderr } = await runKnfleet(
    ["register", name, "--from-context", "spoke-1", "--account", name, "--yes"],
    { env },
  );
  const elapsedMs = performance.now() - startedAt;
  // There is no controller, which the exit code tells, too.
  const profile = await fleet.hub.admin.get(profileKey(name));
  if (profile === undefined) throw new Error(`Not registered:\n${stdout}${stderr}`);
  return elapsedMs;
}

async function discover(fleet: Fleet): Promise<number> {
  const { hub } = fleet;
  const spoke = fleet.spoke(0);
  const blackHole = await startBlackHole();
  using _closing = { [Symbol.dispose]: () => void blackHole.close() };
  const { token } = await spoke.serviceAccountToken(account);
  const dark = `https://127.0.0.1:${portOf(blackHole.address())}`;
  const names = Array.from({ length: sources }, (_, at) => `discovered-${at}`);
  await Promise.all(
    names.map((name, at) => {
      const server = at < blackHoles ? dark : spoke.server;
      const text = kubeconfigOf({ name: "spoke", server, caPem: spoke.caPem, identity: { token } });
      return hub.admin.apply(kubeconfigSecret(name, text));
    }),
  );
  const startedAt = performance.now();
  await using _controller = await startDiscovery(fleet, ["kubeconfig-secrets"]);
  const { name: _any, ...all } = profileKey("");
  await waitFor("the clusters to be healthy", async () => {
    const found = await hub.admin.list(all);
    const healthy = found.filter(
      (one) => one.metadata.name.startsWith("discovered-") && healthOf(one).startsWith("True"),
    );
    return healthy.length === sources - blackHoles;
  });
  return performance.now() - startedAt;
}

/** The goals of a cluster's way into the fleet. */
export function clustersGoals({ registerMs, discoveryMs }: ClustersResult): readonly Goal[] {
  return [
    { text: "kubectl knfleet register", value: registerMs, limit: 5_000, show: seconds },
    {
      text: `${sources} discovered clusters, ${blackHoles} of which answer nothing: the others usable`,
      value: discoveryMs,
      limit: 10_000,
      show: seconds,
    },
  ];
}
