import type { Agents } from "./agents.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { credentialOf, type SimulatedFleet } from "./fleet.ts";
import type { Network } from "./network.ts";
import { pick } from "./random.ts";
import type { Replica } from "./replica.ts";
import type { Replicas } from "./replicas.ts";
import type { Restores } from "./restores.ts";
import type { LifeEvent, TroubleKind } from "./scenario.ts";
import type { Weather } from "./weather.ts";

const stormMs = 120_000;

export interface TroublesOptions {
  readonly fleet: SimulatedFleet;
  readonly network: Network;
  readonly replicas: Replicas;
  readonly agents: Agents;
  readonly restores: Restores;
  /** Called after a cluster was restored. */
  readonly onRestore: (cluster: SimulatedCluster) => void;
  readonly note: (text: string) => void;
  readonly onFault: (fault: string) => void;
}

/** What an event means: by its dice, or the replica and the cluster that the dice chose. */
interface Hit {
  readonly replica: Replica;
  readonly cluster: SimulatedCluster;
  readonly dice: LifeEvent["dice"];
}

/** What goes wrong in the life of a fleet. */
export class Troubles {
  readonly #options: TroublesOptions;
  readonly #kinds: Readonly<Record<TroubleKind, (hit: Hit) => void>> = {
    weather: ({ dice }) => this.#storm(dice),
    cut: ({ replica, cluster, dice }) => this.#cut([replica], cluster, dice[2] * 120_000),
    cutSpoke: ({ cluster, dice }) =>
      this.#cut(this.#options.replicas.running, cluster, dice[2] * 240_000),
    watchEnd: ({ cluster }) => {
      this.#options.note(`${cluster.name} ends watches`);
      this.#options.network.endWatches(cluster);
    },
    kill: ({ replica, dice }) => {
      this.#options.note(`${replica.name} is killed`);
      this.#deploymentOf(replica).kill(replica, 1_000 + dice[2] * 20_000);
    },
    restart: ({ replica, dice }) => {
      this.#options.note(`${replica.name} is stopped`);
      this.#deploymentOf(replica).restart(replica, 1_000 + dice[2] * 20_000);
    },
    freeze: ({ replica, dice }) => this.#freeze(replica, 1_000 + dice[1] ** 2 * 90_000, dice[2]),
    reshard: ({ dice }) => this.#reshard(1 + Math.floor(dice[1] * 3), dice[2] * 40_000),
    restore: ({ cluster, dice }) => this.#restore(cluster, dice[2]),
    silence: ({ dice }) => this.#options.agents.silence(dice[0], 5_000 + dice[1] * 200_000),
    expire: ({ dice }) => this.#expire(pick(this.#options.fleet.spokes, dice[1]), dice[2]),
  };
  #storms = 0;

  constructor(options: TroublesOptions) {
    this.#options = options;
  }

  /** Lets happen what an event says, if there is whom it can hit. */
  happen(kind: TroubleKind, dice: LifeEvent["dice"]): void {
    const { fleet } = this.#options;
    const all = this.#deployments().flatMap(({ running }) => running);
    const replica = pick(all, dice[0]);
    const cluster = pick([fleet.hub, ...fleet.spokes], dice[1]);
    if (replica === undefined || cluster === undefined) return;
    this.#kinds[kind]({ replica, cluster, dice });
  }

  /** Nothing goes wrong any more. */
  end(): void {
    const { network, note, restores } = this.#options;
    network.weather = {};
    network.heal();
    restores.removeOrphans();
    note("the faults are over");
  }

  #deployments(): readonly Replicas[] {
    return [this.#options.replicas, ...this.#options.agents.controllers];
  }

  #deploymentOf(replica: Replica): Replicas {
    const { replicas } = this.#options;
    return this.#deployments().find(({ running }) => running.includes(replica)) ?? replicas;
  }

  #cut(replicas: readonly Replica[], cluster: SimulatedCluster, ms: number): void {
    const { network, note } = this.#options;
    for (const { name } of replicas) {
      note(`${name} and ${cluster.name} are cut`);
      network.cut(name, cluster.name, 5_000 + ms);
    }
  }

  #reshard(shards: number, eachMs: number): void {
    const { replicas, note, onFault } = this.#options;
    onFault("reshard");
    note(`the replicas get ${shards} shards`);
    replicas.reshard(shards, eachMs);
  }

  #freeze(replica: Replica, ms: number, die: number): void {
    const { network, note, onFault } = this.#options;
    if (replica.process.isFrozen) return;
    onFault("freeze");
    note(`${replica.name} is frozen`);
    replica.process.freeze();
    network.time.after(ms, () => {
      note(`${replica.name} thaws`);
      replica.process.thaw(pick(["time", "timer", "answer"] as const, die) ?? "time");
    });
  }

  /** The credential of a spoke expires, and some time later there is a new one. */
  #expire(spoke: SimulatedCluster | undefined, die: number): void {
    if (spoke?.token === undefined) return;
    const { note, onFault } = this.#options;
    onFault("expire");
    note(`the credential of ${spoke.name} expires`);
    spoke.token = `${spoke.token}+`;
    this.#renew(spoke, die ** 2 * 90_000);
  }

  /** Writes the credential of a spoke on the hub after a time. */
  #renew(spoke: SimulatedCluster, afterMs: number): void {
    const { fleet, network, note } = this.#options;
    network.time.after(afterMs, () => {
      note(`${spoke.name} has a new credential`);
      fleet.hub.put(credentialOf(spoke.name, spoke.token ?? ""));
    });
  }

  #restore(cluster: SimulatedCluster, die: number): void {
    const { fleet, note, onFault, onRestore, restores } = this.#options;
    const atMs = restores.restore(cluster, die);
    if (atMs === undefined) return;
    onFault("restore");
    note(`${cluster.name} is restored to how it was at ${(atMs / 1_000).toFixed(1)} s`);
    onRestore(cluster);
    if (cluster !== fleet.hub) return;
    // The backup may have a credential that has expired.
    for (const spoke of fleet.spokes) this.#renew(spoke, 30_000);
  }

  /** Everything goes wrong now and then for some time. */
  #storm([first, second, third]: LifeEvent["dice"]): void {
    const { network, note } = this.#options;
    const most = 0.02 + first * 0.15;
    const weather: Weather = {
      lostBefore: most * second,
      lostAfter: most * third,
      half: most * (1 - third) * 0.5,
      busy: most * third * second,
      conflict: most * second * first,
      unavailable: most * (1 - second) * 0.5,
      broken: most * (1 - third) * 0.3,
      slow: most * (1 - second) * 0.5,
      watchSlow: most * second * 0.5,
      watchHalf: most * third * 0.2,
      watchSilent: most * (1 - third) * 0.1,
      watchExpired: most * (1 - second) * 0.2,
    };
    note("a storm begins");
    network.weather = weather;
    this.#storms += 1;
    const storm = this.#storms;
    network.time.after(stormMs * (0.2 + second), () => {
      if (storm === this.#storms) network.weather = {};
    });
  }
}
