import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ensureBinaries, ensureInventoryCrds } from "./binaries.ts";
import { olderServers, serverBinaries, type BinaryPaths } from "./binary-catalogue.ts";
import {
  startCluster,
  type Cluster,
  type ClusterDeps,
  type ClusterOptions,
  type KubernetesMinor,
} from "./cluster.ts";
import {
  applyFile,
  chartCrdFolder,
  spokeRoleFile,
  writeControllerKubeconfig,
  writeProviderFile,
} from "./hub-access.ts";
import { conditionOf } from "./json-record.ts";
import { readManifestFolder } from "./manifest-files.ts";
import { addProfile, type PluginName, type Profile, type ProfileOptions } from "./profiles.ts";
import { waitFor } from "./wait-for.ts";
import { startWatchdog } from "./watchdog.ts";

export type { Cluster, ClusterOptions } from "./cluster.ts";
export type { PluginName, Profile, ProfileOptions } from "./profiles.ts";

export interface FleetOptions {
  /** How many, or how each is to be. Default 1. */
  readonly spokes?: number | readonly ClusterOptions[];
  readonly hub?: ClusterOptions;
  /** Called with one line at a time: what is built, started and kept. Default: nothing is said. */
  readonly log?: (line: string) => void;
}

/** A hub and its spokes, running on this machine until disposed or until this process ends in any way. */
export interface Fleet extends AsyncDisposable {
  readonly hub: Cluster;
  readonly spokes: readonly Cluster[];
  /** The spoke at a position (0 is `spoke-1`) or of a name; throws when there is none. */
  spoke(which: number | string): Cluster;
  /** Folder with everything that belongs to the fleet; removed with it unless `keep` was called. */
  readonly folder: string;
  /** Publishes a spoke on the hub as a ClusterProfile that one of the official plugins gives access to. */
  addProfile(spoke: Cluster, options: ProfileOptions): Promise<Profile>;
  /** Path of a provider file with both official plugins. */
  providerFile(): Promise<string>;
  /** Path of a kubeconfig for the hub with the rights that the controller needs and no others. */
  controllerKubeconfig(): Promise<string>;
  /** Leaves the folder behind when the fleet stops, for example after a failed test. */
  keep(): void;
}

/**
 * Starts a hub with the CRDs of the Cluster Inventory API and of this project, and its spokes with the recommended
 * ClusterRole. Programs that are missing are built first. When it fails everything is stopped, the folder with the
 * logs is kept, and the error names it.
 */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const { log = () => undefined } = options;
  const plugins: readonly PluginName[] = ["secretreader", "kubeconfig-secretreader"];
  const binary = await ensureBinaries([...serverBinaries, ...plugins], { log });
  const inventoryCrds = await ensureInventoryCrds({ log });
  const folder = await makeFolder();
  await using undo = new AsyncDisposableStack();
  const watchdog = undo.use(startWatchdog(folder));
  try {
    const clusters = await startClusters(options, folder, { watchdog, binary, log });
    for (const cluster of clusters) undo.use(cluster);
    const [hub, ...spokes] = clusters;
    if (hub === undefined) throw new Error("A fleet has a hub");
    await installCrds(hub, [inventoryCrds, chartCrdFolder]);
    await Promise.all(spokes.map((spoke) => applyFile(spoke, spokeRoleFile)));
    return fleetOf({ hub, spokes, folder, log, binary, running: undo.move() });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The test fleet did not start: ${why}\nIts logs are in ${folder}`, {
      cause: error,
    });
  }
}

async function startClusters(
  options: FleetOptions,
  folder: string,
  deps: ClusterDeps,
): Promise<readonly Cluster[]> {
  const { spokes = 1 } = options;
  const wanted: readonly ClusterOptions[] =
    typeof spokes === "number" ? Array.from({ length: spokes }, () => ({})) : spokes;
  const plans = [
    { admissionWebhooks: true, name: "hub", ...options.hub },
    ...wanted.map((spoke, index) => ({ name: `spoke-${index + 1}`, ...spoke })),
  ];
  const started = await Promise.allSettled(
    plans.map(async (plan) => {
      const ofMinor = await depsOf(plan.kubernetes, deps);
      return startCluster({ ...plan, folder: join(folder, plan.name) }, ofMinor);
    }),
  );
  const clusters = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failure = started.find((one) => one.status === "rejected");
  if (failure === undefined) return clusters;
  await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()));
  throw failure.reason;
}

/** The same, with the servers of another Kubernetes minor, which are built when they are missing. */
async function depsOf(minor: KubernetesMinor = "1.36", deps: ClusterDeps): Promise<ClusterDeps> {
  if (minor === "1.36") return deps;
  const older = await ensureBinaries(Object.values(olderServers), { log: deps.log });
  return {
    ...deps,
    binary: (name) => {
      const other = Object.entries(olderServers).find(([current]) => current === name)?.[1];
      return other === undefined ? deps.binary(name) : older(other);
    },
  };
}

async function installCrds(hub: Cluster, folders: readonly string[]): Promise<void> {
  const crds = (await Promise.all(folders.map(readManifestFolder))).flat();
  await Promise.all(crds.map((crd) => hub.admin.apply(crd)));
  await Promise.all(
    crds.map(({ metadata: { name = "" } }) =>
      waitFor(`CRD ${name} to be served`, async () => {
        const crd = await hub.admin.get({
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "CustomResourceDefinition",
          name,
        });
        return conditionOf(crd, "Established")?.status === "True";
      }),
    ),
  );
}

interface Parts {
  readonly hub: Cluster;
  readonly spokes: readonly Cluster[];
  readonly folder: string;
  readonly log: (line: string) => void;
  readonly binary: BinaryPaths<PluginName>;
  readonly running: AsyncDisposableStack;
}

function fleetOf({ hub, spokes, folder, log, binary, running }: Parts): Fleet {
  let kept = false;
  return {
    hub,
    spokes,
    folder,
    spoke(which) {
      const found =
        typeof which === "number" ? spokes[which] : spokes.find(({ name }) => name === which);
      if (found === undefined) throw new Error(`The fleet has no spoke ${which}`);
      return found;
    },
    addProfile: (spoke, options) => addProfile(hub.admin, spoke, options),
    providerFile: () => writeProviderFile(hub, binary),
    controllerKubeconfig: () => writeControllerKubeconfig(hub),
    keep() {
      kept = true;
    },
    async [Symbol.asyncDispose]() {
      await running.disposeAsync();
      if (kept) log(`The files of the test fleet are in ${folder}`);
      else await rm(folder, { recursive: true, force: true });
    },
  };
}

// macOS has temporary folders so deep that a Unix socket in them has no valid path.
async function makeFolder(): Promise<string> {
  const parent = tmpdir().length > 50 ? "/tmp" : tmpdir();
  return mkdtemp(join(parent, "knfleet-"));
}
