import type { Answer } from "../simulator/answers.ts";
import type { Arrival, Effect, SimulatedCluster } from "./cluster.ts";
import type { Random } from "./random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What goes wrong with one request. */
export type Fault =
  | "lostBefore"
  | "lostAfter"
  | "busy"
  | "conflict"
  | "unavailable"
  | "broken"
  | "slow";

/** How often each fault happens, from 0 to 1. */
export type Weather = Readonly<Partial<Record<Fault, number>>>;

/** Who sends a request. */
export interface Sender {
  readonly name: string;
  readonly isAlive: boolean;
  /** Runs the callback of something that was sent to it, as soon as it can. */
  receive(callback: () => void): void;
}

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
  readonly onSend: (sender: Sender, arrival: Arrival) => void;
  /** Called for each request that a cluster has answered. */
  readonly onExchange: (exchange: Exchange) => void;
  readonly onFault: (fault: Fault | "cut" | "watchEnd") => void;
}

/** A connection without a byte for so long counts as dead, on both sides. */
export const silentMs = 14_000;
const usualMs = [0.5, 12] as const;
const slowMs = [1_000, 12_000] as const;

/** What comes back from a cluster; "nothing" when the connection is dead. */
export type Return = Answer | "nothing";

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

  heal(): void {
    this.#cuts.clear();
  }

  /** Lets a cluster end some of its watches. */
  endWatches(cluster: SimulatedCluster): void {
    const { random, onFault } = this.#options;
    const ended = cluster.endWatches(() => random.isHit(0.5));
    if (ended > 0) onFault("watchEnd");
  }

  /** Milliseconds until something that is sent now is there; undefined when the connection dies instead. */
  wayMs(sender: Sender, cluster: SimulatedCluster): number | undefined {
    const cutMs = (this.#cuts.get(`${sender.name} ${cluster.name}`) ?? -Infinity) - this.time.nowMs;
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
    const { time, random, onSend } = this.#options;
    onSend(sender, arrival);
    const fault = this.#faultOf(arrival);
    const isRecalled = random.isHit(0.5);
    const { promise, resolve } = Promise.withResolvers<Return>();
    const wayMs = this.wayMs(sender, cluster);
    if (wayMs === undefined || fault === "lostBefore") {
      const deadMs = fault === "lostBefore" ? usualMs[1] : silentMs;
      time.after(deadMs, () => sender.receive(() => resolve("nothing")));
      return promise;
    }
    const ms = fault === "slow" ? random.between(...slowMs) : wayMs;
    time.after(ms, () => {
      if (!isWanted() && isRecalled) return;
      const answer = refusalOf(fault) ?? this.#arrive(sender, cluster, arrival);
      if (!sender.isAlive) return;
      const backMs = fault === "lostAfter" ? undefined : this.wayMs(sender, cluster);
      const isDead = backMs === undefined;
      const returned = isDead ? "nothing" : answer;
      time.after(isDead ? silentMs : backMs, () => sender.receive(() => resolve(returned)));
    });
    return promise;
  }

  #arrive(sender: Sender, cluster: SimulatedCluster, arrival: Arrival): Answer {
    const effect = cluster.serve(arrival);
    this.#options.onExchange({ sender, cluster, arrival, effect });
    return effect.answer;
  }

  #faultOf({ method }: Arrival): Fault | undefined {
    const { random, onFault } = this.#options;
    let left = random.next();
    for (const [fault, chance] of Object.entries(this.weather)) {
      left -= chance;
      if (left >= 0) continue;
      if (!isFault(fault) || (fault === "conflict" && !["PUT", "PATCH"].includes(method))) break;
      onFault(fault);
      return fault;
    }
    return undefined;
  }
}

const refusals = {
  busy: [429, "TooManyRequests"],
  conflict: [409, "Conflict"],
  unavailable: [503, "ServiceUnavailable"],
  broken: [500, "InternalError"],
} as const;

const faults: ReadonlySet<string> = new Set([
  ...Object.keys(refusals),
  "lostBefore",
  "lostAfter",
  "slow",
]);

function isFault(text: string): text is Fault {
  return faults.has(text);
}

function refusalOf(fault: Fault | undefined): Answer | undefined {
  if (fault === undefined || !(fault in refusals)) return undefined;
  const [, refusal] = Object.entries(refusals).find(([name]) => name === fault) ?? [];
  if (refusal === undefined) return undefined;
  const [status, reason] = refusal;
  const message = "as the simulation wants";
  const body = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code: status,
  };
  return { status, body, ...(status === 429 ? { headers: { "retry-after": "1" } } : {}) };
}
