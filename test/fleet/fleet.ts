import { ensureBinaries, ensureModuleFiles } from "./binaries.ts";
import { serverBinaries } from "./binary-catalogue.ts";
import type { Cluster, ClusterOptions, ClusterPlan } from "./cluster.ts";
import {
  applyFile,
  chartCrdFolder,
  spokeRoleFile,
  writeControllerKubeconfig,
  writeProviderFile,
} from "./hub-access.ts";
import { conditionOf } from "./json-record.ts";
import { readManifestFolder } from "./manifest-files.ts";
import type { ClusterPool } from "./pool/cluster-pool.ts";
import { addProfile, type PluginName, type Profile, type ProfileOptions } from "./profiles.ts";
import { runClusters, type RunningClusters } from "./running-clusters.ts";
import { waitFor } from "./wait-for.ts";

export type { Cluster, ClusterOptions } from "./cluster.ts";
export type { Profile, ProfileOptions } from "./profiles.ts";

export interface FleetOptions {
  /** How many, or how each is to be. Default 1. */
  readonly spokes?: number | readonly ClusterOptions[];
  /** A hub has no nodes unless `kwok` says so: only components without a profile need them. */
  readonly hub?: ClusterOptions;
  /** Called with one line at a time: what is built, started and kept. Default: nothing is said. */
  readonly log?: (line: string) => void;
}

/** Spokes without a hub, running on this machine until disposed or until this process ends in any way. */
export interface Spokes extends AsyncDisposable {
  readonly spokes: readonly Cluster[];
  /** The spoke at a position (0 is `spoke-1`) or of a name; throws when there is none. */
  spoke(which: number | string): Cluster;
  /** Folder with everything that belongs to the clusters; removed with them unless `keep` was called. */
  readonly folder: string;
  /** Whether a cluster has flags of its own, or a server of one was harmed. */
  hasOwnServers(): boolean;
  /** Leaves the folder behind when the clusters stop, for example after a failed test. */
  keep(): void;
}

/** A hub and its spokes. */
export interface Fleet extends Spokes {
  readonly hub: Cluster;
  /** Publishes a spoke on the hub as a ClusterProfile that one of the official plugins gives access to. */
  addProfile(spoke: Cluster, options: ProfileOptions): Promise<Profile>;
  /** Path of a provider file with both official plugins. */
  providerFile(): Promise<string>;
  /** Path of a kubeconfig for the hub with the rights that the controller needs and no others. */
  controllerKubeconfig(): Promise<string>;
}

/**
 * Starts a hub with the CRDs of the Cluster Inventory API and of this project, and its spokes with the recommended
 * ClusterRole. Programs that are missing are built first. With a pool, clusters come from it where it keeps such. When it fails everything is
 * stopped, the folder with the logs is kept, and the error names it.
 */
export async function startFleet(options: FleetOptions = {}, pool?: ClusterPool): Promise<Fleet> {
  const { log = () => undefined, spokes } = options;
  const plugins: readonly PluginName[] = ["secretreader", "kubeconfig-secretreader"];
  const binary = await ensureBinaries([...serverBinaries, ...plugins], { log });
  const inventoryCrds = await ensureModuleFiles("inventory-crds", { log });
  const hubPlan: ClusterPlan = {
    admissionWebhooks: true,
    kwok: false,
    ...options.hub,
    name: "hub",
    role: "hub",
    prepare: (cluster) => installCrds(cluster, [inventoryCrds, chartCrdFolder]),
  };
  const running = await runClusters([hubPlan, ...spokePlans(spokes)], { binary, log }, pool);
  const [hub, ...others] = running.clusters;
  if (hub === undefined) throw new Error("A fleet has a hub");
  return {
    ...spokesOf(running, others),
    hub,
    addProfile: (spoke, profile) => addProfile(hub.admin, spoke, profile),
    providerFile: () => writeProviderFile(hub, binary),
    controllerKubeconfig: () => writeControllerKubeconfig(hub),
  };
}

/** Starts spokes with the recommended ClusterRole and no hub; otherwise like `startFleet`. */
export async function startSpokes(
  options: Omit<FleetOptions, "hub"> = {},
  pool?: ClusterPool,
): Promise<Spokes> {
  const { log = () => undefined, spokes } = options;
  const binary = await ensureBinaries(serverBinaries, { log });
  const running = await runClusters(spokePlans(spokes), { binary, log }, pool);
  return spokesOf(running, running.clusters);
}

function spokePlans(spokes: FleetOptions["spokes"] = 1): readonly ClusterPlan[] {
  const each: readonly ClusterOptions[] =
    typeof spokes === "number" ? Array.from({ length: spokes }, () => ({})) : spokes;
  return each.map((spoke, index) => ({
    name: `spoke-${index + 1}`,
    ...spoke,
    role: "spoke",
    prepare: (cluster) => applyFile(cluster, spokeRoleFile),
  }));
}

function spokesOf(running: RunningClusters, spokes: readonly Cluster[]): Spokes {
  return {
    spokes,
    folder: running.folder,
    hasOwnServers: () => running.hasOwnServers(),
    spoke(which) {
      const found =
        typeof which === "number" ? spokes[which] : spokes.find(({ name }) => name === which);
      if (found === undefined) throw new Error(`The fleet has no spoke ${which}`);
      return found;
    },
    keep: () => running.keep(),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
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
