import type { Manifest } from "../../api/kubernetes.ts";
import type { Log } from "../../controller/log.ts";
import { silentLog } from "../support/silent-log.ts";
import { Checks } from "./checks.ts";
import { setOf } from "./components.ts";
import { type SimulatedFleet, simulatedFleet } from "./fleet.ts";
import { Life, pick } from "./life.ts";
import { type Exchange, Network, type Weather } from "./network.ts";
import { Random } from "./random.ts";
import { Replica } from "./replica.ts";
import { isDeed, lifeMs, type LifeEvent, type Scenario, type TroubleKind } from "./scenario.ts";
import type { Surroundings } from "./surroundings.ts";
import { Trace } from "./trace.ts";
import type { Alteration } from "./transport.ts";
import { VirtualTime } from "./virtual-time.ts";

/** What a run shows. */
export interface RunResult {
  /** What went wrong; none: the run is good. */
  readonly problems: readonly string[];
  readonly traceHash: string;
  readonly lastLines: readonly string[];
  readonly virtualMs: number;
  readonly requests: number;
  readonly events: number;
  /** How often each fault was met. */
  readonly faults: ReadonlyMap<string, number>;
}

export interface SimulationOptions {
  readonly surroundings: Surroundings;
  /** Called for each line of the trace. */
  readonly onLine?: (line: string) => void;
  readonly log?: Log;
  /** The fault that all replicas have. */
  readonly alteration?: Alteration;
}

const budgets = { canary: 1, rest: 2 } as const;
const startMs = Date.UTC(2026, 0, 1);
const stormMs = 120_000;
const mostProblems = 5;

/** One run of a scenario: the fleet, the replicas, the life, and the checks. */
export class Simulation implements AsyncDisposable {
  readonly time = new VirtualTime(startMs);
  readonly fleet: SimulatedFleet;
  readonly network: Network;
  readonly problems: string[] = [];
  readonly #options: SimulationOptions;
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #trace: Trace;
  readonly #life: Life;
  readonly #checks: Checks;
  readonly #faults = new Map<string, number>();
  readonly #replicas: Replica[] = [];
  readonly #ending = new Set<Promise<void>>();
  #requests = 0;
  #events = 0;
  #started = 0;
  #storms = 0;
  #isOver = false;

  constructor(scenario: Scenario, options: SimulationOptions) {
    const { time } = this;
    const random = new Random(scenario.seed ^ 0x5eed);
    this.#scenario = scenario;
    this.#options = options;
    this.#random = random;
    this.#trace = new Trace(options.onLine);
    this.fleet = simulatedFleet({ time, random: random.fork(), spokes: scenario.spokes });
    this.#checks = new Checks({
      time,
      fleet: this.fleet,
      budgets,
      onProblem: (text) => this.report(text),
    });
    this.network = new Network({
      time,
      random: random.fork(),
      clusters: [this.fleet.hub, ...this.fleet.spokes],
      onSend: (sender, { method, path }) => this.#checks.onSend(sender, method, path),
      onExchange: (exchange) => this.#exchanged(exchange),
      onFault: (fault) => this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1),
    });
    this.#life = new Life(this.fleet, scenario, (text) => this.note(text));
    for (const spoke of this.fleet.spokes) for (const object of foreignObjects) spoke.put(object);
  }

  note(text: string): void {
    this.#trace.note(this.time.nowMs, text);
  }

  report(problem: string): void {
    this.note(`PROBLEM ${problem}`);
    const text = `${(this.time.nowMs / 1_000).toFixed(1)} s: ${problem}`;
    if (this.problems.length < mostProblems) this.problems.push(text);
    this.time.halt();
  }

  /** Requests that replicas have sent and clusters have answered. */
  get requests(): number {
    return this.#requests;
  }

  /** Lives the whole life, with its faults. */
  async live(): Promise<void> {
    for (let count = 0; count < this.#scenario.replicas; count += 1) this.#startReplica();
    for (const kind of this.#scenario.sets) this.fleet.hub.put(setOf(kind, "1.22", budgets));
    for (const event of this.#scenario.events) {
      // oxlint-disable-next-line no-await-in-loop -- one event after the other
      await this.time.advanceTo(event.atMs);
      if (this.problems.length > 0) return;
      this.#restartFailed();
      this.#happen(event);
    }
    await this.time.advanceTo(lifeMs);
    this.network.weather = {};
    this.network.heal();
    this.#life.resume();
    this.note("the faults are over");
  }

  /** Lets time pass, and starts replicas again that have ended by themselves. */
  async wait(ms: number): Promise<void> {
    this.#restartFailed();
    await this.time.advance(ms);
  }

  /** Stops all replicas. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const replica of this.#replicas.splice(0)) this.#end(replica.stop());
    await this.time.run(Promise.all(this.#ending), 120_000);
  }

  result(): RunResult {
    return {
      problems: this.problems,
      traceHash: this.#trace.digest(),
      lastLines: this.#trace.last,
      virtualMs: this.time.nowMs,
      requests: this.#requests,
      events: this.#events,
      faults: this.#faults,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.fleet[Symbol.dispose]();
  }

  #exchanged(exchange: Exchange): void {
    const { sender, cluster, arrival, effect } = exchange;
    this.#requests += 1;
    const { method, path, body = "" } = arrival;
    this.note(`${sender.name} ${cluster.name} ${method} ${path} ${effect.answer.status} ${body}`);
    this.#checks.onExchange(exchange);
  }

  #happen({ kind, dice }: LifeEvent): void {
    this.#events += 1;
    if (isDeed(kind)) this.#life.live(kind, dice);
    else this.#trouble(kind, dice);
  }

  #trouble(kind: TroubleKind, dice: LifeEvent["dice"]): void {
    const replica = pick(this.#replicas, dice[0]);
    const cluster = pick([this.fleet.hub, ...this.fleet.spokes], dice[1]);
    if (replica === undefined || cluster === undefined) return;
    switch (kind) {
      case "weather":
        return this.#storm(dice);
      case "cut":
        this.note(`${replica.name} and ${cluster.name} are cut`);
        return this.network.cut(replica.name, cluster.name, 5_000 + dice[2] * 120_000);
      case "cutSpoke":
        this.note(`all and ${cluster.name} are cut`);
        for (const { name } of this.#replicas)
          this.network.cut(name, cluster.name, 5_000 + dice[2] * 240_000);
        return undefined;
      case "watchEnd":
        this.note(`${cluster.name} ends watches`);
        return this.network.endWatches(cluster);
      case "kill":
        this.note(`${replica.name} is killed`);
        return this.#replace(replica, replica.kill(), 1_000 + dice[2] * 20_000);
      case "restart":
        this.note(`${replica.name} is stopped`);
        return this.#replace(replica, replica.stop(), 1_000 + dice[2] * 20_000);
    }
  }

  /** Everything goes wrong now and then for some time. */
  #storm([first, second, third]: LifeEvent["dice"]): void {
    const most = 0.02 + first * 0.15;
    const weather: Weather = {
      lostBefore: most * second,
      lostAfter: most * third,
      busy: most * third * second,
      conflict: most * second * first,
      unavailable: most * (1 - second) * 0.5,
      broken: most * (1 - third) * 0.3,
      slow: most * (1 - second) * 0.5,
    };
    this.note("a storm begins");
    this.network.weather = weather;
    this.#storms += 1;
    const storm = this.#storms;
    this.time.after(stormMs * (0.2 + second), () => {
      if (storm === this.#storms) this.network.weather = {};
    });
  }

  #startReplica(): void {
    if (this.#isOver) return;
    this.#started += 1;
    const { surroundings, log = silentLog, alteration } = this.#options;
    const name = `replica-${this.#started}`;
    this.note(`${name} starts`);
    const random = this.#random.fork();
    const replica = new Replica(name, {
      network: this.network,
      clock: this.time.clock(random, random.between(-2_000, 2_000)),
      releases: surroundings.releases.open(),
      providers: surroundings.providers,
      log,
      flags: ["--sets"],
      kubeconfig: surroundings.kubeconfig,
      ...(alteration === undefined ? {} : { alteration }),
    });
    this.#replicas.push(replica);
    replica
      .started()
      .catch((error: unknown) => this.report(`${name} cannot start: ${String(error)}`));
  }

  #replace(replica: Replica, end: Promise<void>, afterMs: number): void {
    this.#replicas.splice(this.#replicas.indexOf(replica), 1);
    this.#end(end);
    this.time.after(afterMs, () => this.#startReplica());
  }

  #end(end: Promise<void>): void {
    const noted = end
      .catch((error: unknown) => this.report(`A replica does not end: ${String(error)}`))
      .finally(() => this.#ending.delete(noted));
    this.#ending.add(noted);
  }

  /** A replica that lost its Lease ends, and its Deployment starts another one. */
  #restartFailed(): void {
    for (const replica of this.#replicas.filter(({ hasFailed }) => hasFailed)) {
      this.note(`${replica.name} has ended by itself`);
      this.#replace(replica, replica.stop(), 1_000);
    }
  }
}

/** What others have on every spoke. */
const foreignObjects: readonly Manifest[] = [
  {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "apps", labels: { owner: "somebody" } },
  },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "apps", name: "settings", labels: { owner: "somebody" } },
    data: { a: "b" },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "apps", name: "web", labels: { owner: "somebody" } },
    spec: { replicas: 1, template: {} },
  },
];
