import type { Log } from "../../controller/log.ts";
import { silentLog } from "../support/silent-log.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { Gate } from "./gate.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";
import { Replica } from "./replica.ts";
import type { Surroundings } from "./surroundings.ts";

export interface ReplicasOptions {
  /** How the names of its replicas begin. */
  readonly name: string;
  /** The cluster that it runs for. */
  readonly home: SimulatedCluster;
  /** Flags beside those that every controller of a simulation has. */
  readonly flags: readonly string[];
  /** Into how many parts the replicas divide the fleet at the beginning. */
  readonly shards: number;
  readonly network: Network;
  readonly random: Random;
  readonly surroundings: Surroundings;
  readonly gate: Gate;
  readonly log?: Log;
  readonly note: (text: string) => void;
  readonly report: (problem: string) => void;
}

/** The Deployment of the controller: its running replicas, each of which has a successor when it ends. */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #running: Replica[] = [];
  readonly #ending = new Set<Promise<void>>();
  #shards: number;
  #started = 0;
  #wanted = 0;
  #isOver = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#shards = options.shards;
  }

  get running(): readonly Replica[] {
    return this.#running;
  }

  /** Starts one more. */
  start(): void {
    if (this.#isOver) return;
    this.#wanted += 1;
    this.#startOne();
  }

  /** Starts the only one, unless it is there. */
  ensureOne(): void {
    if (this.#wanted === 0) this.start();
  }

  /** Takes all of them away: no replica has a successor any more. */
  clear(): void {
    this.#wanted = 0;
    for (const replica of this.#running.splice(0)) this.#end(replica.stop());
  }

  #startOne(): void {
    if (this.#isOver || this.#running.length >= this.#wanted) return;
    this.#started += 1;
    const { surroundings, gate, log = silentLog, network, note, report } = this.#options;
    const { home, flags } = this.#options;
    const name = `${this.#options.name}-${this.#started}`;
    note(`${name} starts`);
    const random = this.#options.random.fork();
    const replica = new Replica(name, {
      network,
      clock: network.time.clock(random, random.between(-2_000, 2_000)),
      releases: surroundings.releases.open(),
      providers: surroundings.providers,
      log,
      flags: [...flags, `--shards=${this.#shards}`],
      shards: this.#shards,
      home,
      kubeconfig: surroundings.kubeconfigOf(home.name),
      gate,
    });
    this.#running.push(replica);
    replica.started().catch((error: unknown) => report(`${name} cannot start: ${String(error)}`));
  }

  kill(replica: Replica, awayMs: number): void {
    this.#replace(replica, replica.kill(), awayMs);
  }

  restart(replica: Replica, awayMs: number): void {
    this.#replace(replica, replica.stop(), awayMs);
  }

  /** Gives the Deployment another number of shards: its replicas are exchanged one after the other. */
  reshard(shards: number, eachMs: number): void {
    this.#shards = shards;
    for (const [at, replica] of this.#running.entries()) {
      this.#options.network.time.after(at * eachMs, () => {
        if (this.#running.includes(replica)) this.restart(replica, 1_000);
      });
    }
  }

  /** A replica that lost its Lease ends, and its Deployment starts another one. */
  restartFailed(): void {
    for (const replica of this.#running.filter(({ hasFailed }) => hasFailed)) {
      this.#options.note(`${replica.name} has ended by itself`);
      this.restart(replica, 1_000);
    }
  }

  /** Stops all of them for good. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const replica of this.#running.splice(0)) this.#end(replica.stop());
    await this.#options.network.time.run(Promise.all(this.#ending), 120_000);
  }

  #replace(replica: Replica, end: Promise<void>, afterMs: number): void {
    this.#running.splice(this.#running.indexOf(replica), 1);
    this.#end(end);
    this.#options.network.time.after(afterMs, () => this.#startOne());
  }

  #end(end: Promise<void>): void {
    const noted = end
      .catch((error: unknown) => this.#options.report(`A replica does not end: ${String(error)}`))
      .finally(() => this.#ending.delete(noted));
    this.#ending.add(noted);
  }
}
