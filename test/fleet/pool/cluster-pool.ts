import { mkdtempSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";

import {
  openCluster,
  pidsOf,
  startServers,
  type Cluster,
  type ClusterDeps,
  type ClusterPlan,
  type ClusterServers,
} from "../cluster.ts";
import { nodeNames } from "../companions.ts";
import { etcdSocketOf } from "../control-plane.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startWatchdog, type Watchdog } from "../watchdog.ts";
import { takeBaseline, type Baseline } from "./baseline.ts";
import { openEtcdStore } from "./etcd-store.ts";

/**
 * A cluster in the hands of one test file. Its disposal puts it back to its baseline for the next file, or ends it when a server of it was
 * harmed or its files are kept. The disposal fails when somebody goes on to write to it.
 */
export interface LentCluster extends AsyncDisposable {
  readonly cluster: Cluster;
  /** Whether its servers are, or have become, of use to this file alone. */
  readonly isOwn: boolean;
  /** A test failed on it: the logs of its servers stay in the folder of the file. */
  keep(): void;
}

type PoolDeps = Omit<ClusterDeps, "watchdog">;

/** Its disposal ends the servers. */
interface PooledServers extends AsyncDisposable {
  readonly kind: string;
  readonly servers: ClusterServers;
  readonly baseline: Baseline;
}

// More than that cost more memory than their starts cost time.
const maxIdle = 4;

/** Clusters that are kept from file to file, at their baseline while nobody has them. They end with the pool, or with this process. */
export class ClusterPool implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(temporaryFolder(), "knfleet-pool-"));
  readonly #watchdog: Watchdog = startWatchdog(this.#folder);
  readonly #limitMs: number;
  #idle: readonly PooledServers[] = [];
  #started = 0;

  /** `limitMs`: how long a cluster may take until it is back at its baseline. */
  constructor({ limitMs = 20_000 }: { readonly limitMs?: number } = {}) {
    this.#limitMs = limitMs;
  }

  /** Whether clusters of that plan are kept: flags of its own are for one file. */
  keeps(plan: ClusterPlan): boolean {
    const { apiServerFlags = [], egress = false, kubernetes = "1.36" } = plan;
    return apiServerFlags.length === 0 && !egress && kubernetes === "1.36";
  }

  /** Lends an idle cluster that was started like this one, or starts one. */
  async lend(plan: ClusterPlan, folder: string, deps: PoolDeps): Promise<LentCluster> {
    const idle = this.#takeIdle(kindOf(plan));
    const pooled = idle ?? (await this.#start(plan, deps));
    await wake(pooled, plan);
    let isHarmed = false;
    let isKept = false;
    const cluster = await openCluster(pooled.servers, {
      name: plan.name,
      folder,
      rttMs: plan.rttMs ?? 0,
      since: new Date(),
      onHarm: () => (isHarmed = true),
    });
    return {
      cluster,
      get isOwn() {
        return isHarmed;
      },
      keep: () => (isKept = true),
      [Symbol.asyncDispose]: async () => {
        await cluster[Symbol.asyncDispose]();
        if (!isHarmed && !isKept) return this.#putBack(pooled);
        await pooled[Symbol.asyncDispose]();
        if (isKept) await rename(pooled.servers.files.folder, join(folder, "servers"));
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#idle.map((pooled) => pooled[Symbol.asyncDispose]()));
    this.#idle = [];
    await this.#watchdog[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #takeIdle(kind: string): PooledServers | undefined {
    const found = this.#idle.findLast((pooled) => pooled.kind === kind);
    this.#idle = this.#idle.filter((pooled) => pooled !== found);
    return found;
  }

  async #start(plan: ClusterPlan, { binary, log }: PoolDeps): Promise<PooledServers> {
    this.#started += 1;
    const folder = join(this.#folder, `${this.#started}-${plan.role}`);
    const deps = { binary, log, watchdog: this.#watchdog };
    const name = `${plan.role}-of-pool-${this.#started}`;
    await using undo = new AsyncDisposableStack();
    // A cluster without nodes is one with nodes that are taken away: it serves files of both kinds.
    const servers = undo.use(await startServers({ ...plan, kwok: true, name, folder }, deps));
    await using first = await openCluster(servers, { name, folder });
    await plan.prepare(first);
    const store = undo.use(openEtcdStore(etcdSocketOf(servers.files)));
    const { admin } = servers.apiServer;
    const baseline = await takeBaseline({ name: plan.role, store, admin });
    const running = undo.move();
    return {
      kind: kindOf(plan),
      servers,
      baseline,
      [Symbol.asyncDispose]: () => running.disposeAsync(),
    };
  }

  async #putBack(pooled: PooledServers): Promise<void> {
    try {
      await pooled.baseline.putBack(this.#limitMs);
    } catch (error) {
      await pooled[Symbol.asyncDispose]();
      throw error;
    }
    signalAll(pidsOf(pooled.servers).toReversed(), "SIGSTOP");
    const idle = [...this.#idle, pooled];
    this.#idle = idle.slice(-maxIdle);
    for (const surplus of idle.slice(0, -maxIdle)) await surplus[Symbol.asyncDispose]();
  }
}

/** Wakes an idle cluster, which is frozen: five servers that do nothing still cost a fortieth of a core. A file that wants no nodes gets none. */
async function wake({ servers }: PooledServers, { kwok = true }: ClusterPlan): Promise<void> {
  // In the order of their start: nobody waits for a server that is still frozen. The fake kubelets run without nodes, too: frozen while their nodes
  // are deleted and restored, they forget them.
  signalAll(pidsOf(servers), "SIGCONT");
  const { admin } = servers.apiServer;
  await waitFor("an idle cluster to be ready again", () => admin.request("GET", "/readyz"));
  if (kwok) return;
  const nodes = nodeNames.map((name) => ({ apiVersion: "v1", kind: "Node", name }));
  await Promise.all(nodes.map((node) => admin.remove(node)));
}

function signalAll(pids: readonly number[], signal: "SIGSTOP" | "SIGCONT"): void {
  for (const pid of pids) process.kill(pid, signal);
}

function kindOf({ role, admissionWebhooks = false }: ClusterPlan): string {
  return JSON.stringify({ role, admissionWebhooks });
}
