import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import { ensureBinaries } from "./binaries.ts";
import { olderServers } from "./binary-catalogue.ts";
import {
  startCluster,
  type Cluster,
  type ClusterDeps,
  type ClusterPlan,
  type KubernetesMinor,
} from "./cluster.ts";
import type { ClusterPool, LentCluster } from "./pool/cluster-pool.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { startWatchdog } from "./watchdog.ts";

/** Clusters that share one folder and one end. */
export interface RunningClusters extends AsyncDisposable {
  readonly clusters: readonly Cluster[];
  readonly folder: string;
  /** Whether a cluster has flags of its own, or a server of one was harmed. */
  hasOwnServers(): boolean;
  /** Leaves the folder behind when the clusters stop. */
  keep(): void;
}

/**
 * Starts the clusters and prepares each; with a pool those that it keeps are borrowed from it. When a cluster does not start, or its
 * preparation fails, everything is stopped, the folder with the logs is kept, and the error names it.
 */
export async function runClusters(
  plans: readonly ClusterPlan[],
  deps: Omit<ClusterDeps, "watchdog">,
  pool?: ClusterPool,
): Promise<RunningClusters> {
  const folder = await mkdtemp(join(temporaryFolder(), "knfleet-"));
  await using undo = new AsyncDisposableStack();
  const watchdog = undo.use(startWatchdog(folder));
  const begin = async (plan: ClusterPlan): Promise<LentCluster> => {
    const own = join(folder, plan.name);
    await mkdir(own, { mode: 0o700 });
    if (pool?.keeps(plan) === true) return pool.lend(plan, own, deps);
    return startOwn({ ...plan, folder: own }, { ...deps, watchdog });
  };
  try {
    const lent = await beginAll(plans, begin);
    for (const one of lent) undo.use(one);
    return runningClusters({ lent, folder, log: deps.log, running: undo.move() });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The test fleet did not start: ${why}\nIts logs are in ${folder}`, {
      cause: error,
    });
  }
}

interface Parts {
  readonly lent: readonly LentCluster[];
  readonly folder: string;
  readonly log: (line: string) => void;
  readonly running: AsyncDisposableStack;
}

function runningClusters({ lent, folder, log, running }: Parts): RunningClusters {
  let kept = false;
  return {
    clusters: lent.map(({ cluster }) => cluster),
    folder,
    hasOwnServers: () => lent.some(({ isOwn }) => isOwn),
    keep() {
      kept = true;
      for (const one of lent) one.keep();
    },
    async [Symbol.asyncDispose]() {
      await running.disposeAsync();
      if (kept) log(`The files of the test fleet are in ${folder}`);
      else await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startOwn(
  plan: ClusterPlan & { readonly folder: string },
  deps: ClusterDeps,
): Promise<LentCluster> {
  await using undo = new AsyncDisposableStack();
  const cluster = undo.use(await startCluster(plan, await depsOf(plan.kubernetes, deps)));
  await plan.prepare(cluster);
  const running = undo.move();
  return {
    cluster,
    isOwn: true,
    keep: () => undefined,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function beginAll(
  plans: readonly ClusterPlan[],
  begin: (plan: ClusterPlan) => Promise<LentCluster>,
): Promise<readonly LentCluster[]> {
  const begun = await Promise.allSettled(plans.map(begin));
  const lent = begun.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failure = begun.find((one) => one.status === "rejected");
  if (failure === undefined) return lent;
  await Promise.all(lent.map((one) => one[Symbol.asyncDispose]()));
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
