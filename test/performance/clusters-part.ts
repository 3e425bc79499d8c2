import { join, resolve } from "node:path";

import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import { healthOf, startBlackHole, writeProviders } from "../controller/discovery/fleet-parts.ts";
import { builtInProviderFile } from "../e2e/built-in-access.ts";
import { writeThinRelease } from "../e2e/thin-release.ts";
import { type Fleet, startFleet } from "../fleet/fleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { kubeconfigOf } from "../fleet/kubeconfig.ts";
import { portOf } from "../fleet/ports.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess } from "../support/controller-process.ts";
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
const [credentials, profiles] = ["fleet-credentials", "fleet"];

/** Registers one spoke again and again, and then lets a controller discover it under 190 names, beside ten clusters that answer nothing. */
export async function measureClusters(
  runs: number,
  say: (line: string) => void,
): Promise<ClustersResult> {
  await using fleet = await startFleet({ spokes: 1, log: say });
  for (const name of [credentials, profiles, "knfleet-system"]) {
    await fleet.hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
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
  const key = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile", namespace: profiles };
  const profile = await fleet.hub.admin.get({ ...key, name });
  if (profile === undefined) throw new Error(`Not registered:\n${stdout}${stderr}`);
  return elapsedMs;
}

async function discover(fleet: Fleet): Promise<number> {
  const { hub, folder } = fleet;
  const spoke = fleet.spoke(0);
  const blackHole = await startBlackHole();
  using _closing = { [Symbol.dispose]: () => void blackHole.close() };
  const account = { namespace: "knfleet", name: "knfleet-hub", clusterRoles: ["knfleet-spoke"] };
  const { token } = await spoke.serviceAccountToken(account);
  const kubeconfig = await fleet.controllerKubeconfig();
  await applyFile(hub, resolve(import.meta.dirname, "../../docs/discovery-role.yaml"));
  const dark = `https://127.0.0.1:${portOf(blackHole.address())}`;
  const names = Array.from({ length: sources }, (_, at) => `discovered-${at}`);
  await Promise.all(
    names.map((name, at) => {
      const server = at < blackHoles ? dark : spoke.server;
      const text = kubeconfigOf({ name: "spoke", server, caPem: spoke.caPem, identity: { token } });
      const labels = { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" };
      const metadata = { namespace: credentials, name, labels };
      const stringData = { kubeconfig: text };
      return hub.admin.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData });
    }),
  );
  const providerFile = await writeProviders(folder);
  const releaseDir = await writeThinRelease(join(folder, "release"), 2);
  const startedAt = performance.now();
  await using _controller = await startControllerProcess({
    kubeconfig,
    providerFile,
    releaseDir,
    flags: [
      "--discover=kubeconfig-secrets",
      `--discover-namespace=${profiles}`,
      `--discover-source-namespace=${credentials}`,
    ],
  });
  const all = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile", namespace: profiles };
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
