import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ensureBinaries } from "./binaries.ts";
import { olderServers } from "./binary-catalogue.ts";
import {
  startCluster,
  type Cluster,
  type ClusterDeps,
  type ClusterOptions,
  type KubernetesMinor,
} from "./cluster.ts";
import { startWatchdog } from "./watchdog.ts";

export type NamedClusterOptions = ClusterOptions & { readonly name: string };

/** Clusters that share one folder and one end. */
export interface RunningClusters extends AsyncDisposable {
  readonly clusters: readonly Cluster[];
  readonly folder: string;
  /** Leaves the folder behind when the clusters stop. */
  keep(): void;
}

/**
 * Starts the clusters and hands them to `prepare`, whose result it returns. When a cluster does not start, or `prepare`
 * fails, everything is stopped, the folder with the logs is kept, and the error names it.
 */
export async function runClusters<Prepared>(
  plans: readonly NamedClusterOptions[],
  deps: Omit<ClusterDeps, "watchdog">,
  prepare: (running: RunningClusters) => Promise<Prepared>,
): Promise<Prepared> {
  const folder = await makeFolder();
  await using undo = new AsyncDisposableStack();
  const watchdog = undo.use(startWatchdog(folder));
  try {
    const clusters = await startAll(plans, folder, { ...deps, watchdog });
    for (const cluster of clusters) undo.use(cluster);
    const running = new AsyncDisposableStack();
    const prepared = await prepare(runningClusters({ clusters, folder, log: deps.log, running }));
    running.use(undo.move());
    return prepared;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The test fleet did not start: ${why}\nIts logs are in ${folder}`, {
      cause: error,
    });
  }
}

interface Parts {
  readonly clusters: readonly Cluster[];
  readonly folder: string;
  readonly log: (line: string) => void;
  readonly running: AsyncDisposableStack;
}

function runningClusters({ clusters, folder, log, running }: Parts): RunningClusters {
  let kept = false;
  return {
    clusters,
    folder,
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

async function startAll(
  plans: readonly NamedClusterOptions[],
  folder: string,
  deps: ClusterDeps,
): Promise<readonly Cluster[]> {
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

// macOS has temporary folders so deep that a Unix socket in them has no valid path.
async function makeFolder(): Promise<string> {
  const parent = tmpdir().length > 50 ? "/tmp" : tmpdir();
  return mkdtemp(join(parent, "knfleet-"));
}
