import type { Answer } from "../simulator/answers.ts";
import type { EventStream } from "../simulator/watches.ts";
import type { Arrival, Effect, SimulatedCluster } from "./cluster.ts";
import type { Random } from "./random.ts";
import type { VirtualTime } from "./virtual-time.ts";
import {
  type Fault,
  refusalOf,
  requestFault,
  type Weather,
  type WatchFault,
  watchFault,
} from "./weather.ts";

/** Who sends a request. */
export interface Sender {
  readonly name: string;
  readonly isAlive: boolean;
  /** Into how many parts it divides the fleet. */
  readonly shards: number;
  /** The cluster that it runs for: it has the components and the Leases. */
  readonly home: SimulatedCluster;
  /** Runs the callback of something that was sent to it, as soon as it can. */
  receive(callback: () => void): void;
}

/** Where requests go. */
type Place = Pick<SimulatedCluster, "name">;

/** One request and what became of it, as the checks see it. */
export interface Exchange {
  readonly sender: Sender;
  readonly cluster: SimulatedCluster;
  readonly arrival: Arrival;
  readonly effect: Effect;
}

export interface NetworkOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly clusters: readonly SimulatedCluster[];
  /** Called for each request that a replica sends. */
  readonly onSend: (sender: Sender, cluster: SimulatedCluster, arrival: Arrival) => void;
  /** Called for each request that a cluster has answered. */
  readonly onExchange: (exchange: Exchange) => void;
  /** Called when a watch is answered, and when it is over. */
  readonly onWatch: (sender: Sender, cluster: SimulatedCluster, text: string) => void;
  readonly onFault: (fault: Fault | WatchFault | "cut" | "watchEnd") => void;
}

/** A connection without a byte for so long counts as dead, on both sides. */
export const silentMs = 14_000;
const usualMs = [0.5, 12] as const;
const slowMs = [1_000, 12_000] as const;

/** What comes back from a cluster; "nothing" when the connection is dead, "half" when the answer ends too early. */
export type Return = Answer | "nothing" | "half";

/** Everything between the replicas and the clusters: how long it takes, and what gets lost. */
export class Network {
  readonly #options: NetworkOptions;
  readonly #byServer: ReadonlyMap<string, SimulatedCluster>;
  /** Until when a pair is cut, by sender and cluster. */
  readonly #cuts = new Map<string, number>();
  weather: Weather = {};

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.#byServer = new Map(options.clusters.map((cluster) => [cluster.server, cluster]));
  }

  get time(): VirtualTime {
    return this.#options.time;
  }

  clusterOf(server: string): SimulatedCluster | undefined {
    return this.#byServer.get(server);
  }

  /** Lets nothing through between the two for a time. */
  cut(sender: string, cluster: string, ms: number): void {
    this.#options.onFault("cut");
    this.#cuts.set(`${sender} ${cluster}`, this.time.nowMs + ms);
  }

  /** Whether something could not reach a cluster within so long. */
  wasCutWithin(cluster: SimulatedCluster, ms: number): boolean {
    return [...this.#cuts].some(
      ([pair, untilMs]) => pair.endsWith(` ${cluster.name}`) && untilMs > this.time.nowMs - ms,
    );
  }

  heal(): void {
    // What was cut lately stays known.
    for (const [pair, untilMs] of this.#cuts) {
      this.#cuts.set(pair, Math.min(untilMs, this.time.nowMs));
    }
  }

  /** Lets a cluster end some of its watches. */
  endWatches(cluster: SimulatedCluster): void {
    const { random, onFault } = this.#options;
    const ended = cluster.endWatches(() => random.isHit(0.5));
    if (ended > 0) onFault("watchEnd");
  }

  /** Milliseconds until something that is sent now is there; undefined when the connection dies instead. */
  wayMs(sender: Pick<Sender, "name">, { name }: Place): number | undefined {
    const cutMs = (this.#cuts.get(`${sender.name} ${name}`) ?? -Infinity) - this.time.nowMs;
    if (cutMs > silentMs) return undefined;
    return Math.max(0, cutMs) + this.#options.random.between(...usualMs);
  }

  /** Sends a request. `isWanted`: whether the sender still waits for its answer. Never settles for a sender that is dead. */
  exchange(
    sender: Sender,
    cluster: SimulatedCluster,
    arrival: Arrival,
    isWanted: () => boolean,
  ): Promise<Return> {
    this.#options.onSend(sender, cluster, arrival);
    const isRecalled = this.#options.random.isHit(0.5);
    return this.#travel(sender, cluster, arrival.method, () => {
      if (!isWanted() && isRecalled) return undefined;
      return this.#arrive(sender, cluster, arrival);
    });
  }

  /** Opens a watch, which writes on the stream. As `exchange`. */
  open(
    sender: Sender,
    cluster: SimulatedCluster,
    arrival: Arrival,
    stream: EventStream,
    isWanted: () => boolean,
  ): Promise<Return> {
    const { onWatch } = this.#options;
    return this.#travel(sender, cluster, arrival.method, () => {
      if (!isWanted()) return undefined;
      const refusal = cluster.watch(arrival, stream);
      onWatch(sender, cluster, `WATCH ${arrival.path} ${refusal?.status ?? 200}`);
      if (refusal !== undefined) return refusal;
      stream.onClose(() => onWatch(sender, cluster, `WATCH ${arrival.path} is over`));
      return { status: 200, body: "" };
    });
  }

  /** Asks a server that is no cluster. As `exchange`. */
  ask(sender: Sender, server: Place, answer: () => Answer): Promise<Return> {
    return this.#travel(sender, server, "POST", answer);
  }

  /** What goes wrong with something that is written on a watch now. */
  watchFault(): WatchFault | undefined {
    const fault = watchFault(this.weather, this.#options.random);
    if (fault !== undefined) this.#options.onFault(fault);
    return fault;
  }

  /** `arrive`: undefined when the request is not wanted any more. */
  #travel(
    sender: Sender,
    place: Place,
    method: string,
    arrive: () => Answer | undefined,
  ): Promise<Return> {
    const { time, random, onFault } = this.#options;
    const fault = requestFault(this.weather, method, random);
    if (fault !== undefined) onFault(fault);
    const { promise, resolve } = Promise.withResolvers<Return>();
    const wayMs = this.wayMs(sender, place);
    if (wayMs === undefined || fault === "lostBefore") {
      const deadMs = fault === "lostBefore" ? usualMs[1] : silentMs;
      time.after(deadMs, () => sender.receive(() => resolve("nothing")));
      return promise;
    }
    const ms = fault === "slow" ? random.between(...slowMs) : wayMs;
    time.after(ms, () => {
      const answer = refusalOf(fault, random) ?? arrive();
      if (answer === undefined || !sender.isAlive) return;
      const backMs = fault === "lostAfter" ? undefined : this.wayMs(sender, place);
      const isDead = backMs === undefined;
      const returned = fault === "half" ? "half" : answer;
      time.after(isDead ? silentMs : backMs, () =>
        sender.receive(() => resolve(isDead ? "nothing" : returned)),
      );
    });
    return promise;
  }

  #arrive(sender: Sender, cluster: SimulatedCluster, arrival: Arrival): Answer {
    const effect = cluster.serve(arrival);
    this.#options.onExchange({ sender, cluster, arrival, effect });
    return effect.answer;
  }
}
