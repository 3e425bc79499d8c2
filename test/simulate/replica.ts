import type { ProviderFile } from "../../access/providers/provider-config.ts";
import type { Clock } from "../../access/time/clock.ts";
import { startControllerService } from "../../cmd/service/controller-service.ts";
import { readControllerFlags, type ControllerFlags } from "../../cmd/service/flags.ts";
import type { Service } from "../../cmd/service/run.ts";
import type { Log } from "../../controller/log.ts";
import type { Releases } from "../../render/release/releases.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { Gate } from "./gate.ts";
import type { Network, Sender } from "./network.ts";
import { SimulatedProcess } from "./process.ts";
import { SimulatedTransport } from "./transport.ts";

export interface ReplicaOptions {
  readonly network: Network;
  readonly clock: Clock;
  readonly releases: Releases;
  readonly providers: ProviderFile;
  readonly log: Log;
  /** Flags of the controller beside those that every simulation has. */
  readonly flags: readonly string[];
  readonly shards: number;
  /** The cluster that it runs for, whose components it installs. */
  readonly home: SimulatedCluster;
  /** The way to its home. */
  readonly kubeconfig: string;
  readonly gate: Gate;
}

/** One process of the controller: it is killed or stops, and does not come back; the next one has another name. */
export class Replica implements Sender {
  readonly name: string;
  readonly #options: ReplicaOptions;
  readonly process: SimulatedProcess;
  readonly #stop = new AbortController();
  readonly #starting: Promise<Service | undefined>;
  #service: Service | undefined;
  #isKilled = false;
  #hasFailed = false;

  constructor(name: string, options: ReplicaOptions) {
    this.name = name;
    this.#options = options;
    this.process = new SimulatedProcess(options.network.time);
    this.#starting = this.#start();
  }

  /** Whether what it sends gets out. */
  get isAlive(): boolean {
    return !this.#isKilled;
  }

  get shards(): number {
    return this.#options.shards;
  }

  get home(): SimulatedCluster {
    return this.#options.home;
  }

  receive(callback: () => void): void {
    this.process.receive(callback);
  }

  /** Whether the process has ended by itself, or is about to: it lost its Lease, or could not start. */
  get hasFailed(): boolean {
    return this.#hasFailed || this.#service?.failed.aborted === true;
  }

  /** Resolves when it watches the hub. */
  async started(): Promise<void> {
    await this.#starting;
  }

  /** Ends it as SIGTERM does. */
  async stop(): Promise<void> {
    this.#stop.abort(new DOMException("Stopped by SIGTERM", "AbortError"));
    const service = await this.#starting;
    await service?.[Symbol.asyncDispose]();
    this.#isKilled = true;
  }

  /** Ends it as SIGKILL does: nothing more gets out. Resolves when nothing of it is left in this process either. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    await this.stop();
  }

  async #start(): Promise<Service | undefined> {
    const { network, clock, releases, providers, log, kubeconfig, flags, gate } = this.#options;
    try {
      this.#service = await startControllerService(
        flagsOf(kubeconfig, flags),
        {
          environment: {},
          version: "0.0.0",
          identity: this.name,
          log,
          clock: this.process.clock(clock),
          releases,
          providers,
          checkSource: gate.source(network, this),
          openTransport: (options) => new SimulatedTransport(network, this, options),
        },
        this.#stop.signal,
      );
      return this.#service;
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
      this.#hasFailed = true;
      return undefined;
    }
  }
}

function flagsOf(kubeconfig: string, others: readonly string[]): ControllerFlags {
  const flags = readControllerFlags(
    [
      `--kubeconfig=${kubeconfig}`,
      "--leader-election-namespace=knfleet-system",
      "--health-address=0",
      ...others,
    ],
    "0.0.0",
  );
  if ("exitCode" in flags) throw new Error(flags.text);
  return flags;
}
