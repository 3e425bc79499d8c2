import type { Manifest } from "../../api/kubernetes.ts";
import type { Log } from "../../controller/log.ts";
import { shapeOf } from "../simulator/comparison/request-shape.ts";
import { Agents } from "./agents.ts";
import { Checks } from "./checks.ts";
import { setOf } from "./components.ts";
import { fleetNamespace, type SimulatedFleet, simulatedFleet } from "./fleet.ts";
import { Gate } from "./gate.ts";
import { Life } from "./life.ts";
import { type Exchange, Network } from "./network.ts";
import { Random } from "./random.ts";
import { Replicas } from "./replicas.ts";
import { Restores } from "./restores.ts";
import { isDeed, lifeMs, type LifeEvent, type Scenario } from "./scenario.ts";
import type { Surroundings } from "./surroundings.ts";
import { Trace } from "./trace.ts";
import { Troubles } from "./troubles.ts";
import { Users } from "./users.ts";
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
}

const startMs = Date.UTC(2026, 0, 1);
const mostProblems = 5;
const pullFlags = [
  "--delivery=Auto",
  "--agent-image=registry.example.com/knfleet:v1",
  `--pull-namespace=${fleetNamespace}`,
];

/** One run of a scenario: the fleet, the replicas, the life, and the checks. */
export class Simulation implements AsyncDisposable {
  readonly time = new VirtualTime(startMs);
  readonly fleet: SimulatedFleet;
  readonly network: Network;
  readonly problems: string[] = [];
  readonly #scenario: Scenario;
  readonly #trace: Trace;
  readonly #life: Life;
  readonly #restores: Restores;
  readonly #checks: Checks;
  readonly #faults = new Map<string, number>();
  readonly #replicas: Replicas;
  readonly #agents: Agents;
  readonly #troubles: Troubles;
  #isSettled = false;
  #requests = 0;
  #events = 0;

  constructor(scenario: Scenario, options: SimulationOptions) {
    const { time } = this;
    const note = (text: string): void => this.note(text);
    const report = (problem: string): void => this.report(problem);
    const onFault = (fault: string): void => {
      this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
    };
    const random = new Random(scenario.seed ^ 0x5eed);
    this.#scenario = scenario;
    this.#trace = new Trace(options.onLine);
    const { comparedShapes } = options.surroundings;
    this.fleet = simulatedFleet({
      ...scenario,
      time,
      random: random.fork(),
      onRequest: (request) => {
        const shape = shapeOf(request);
        if (shape === undefined || comparedShapes.has(shape)) return;
        report(`No scenario of test/simulator/comparison asks a real server for: ${shape}`);
      },
    });
    for (const spoke of this.fleet.spokes) for (const object of foreignObjects) spoke.put(object);
    const users = this.fleet.spokes.map((spoke) => new Users(spoke, time, startMs));
    const gate = new Gate(users, note);
    this.#checks = new Checks({
      ...scenario,
      time,
      fleet: this.fleet,
      users,
      gate,
      wasCutWithin: (...cut) => this.network.wasCutWithin(...cut),
      onProblem: report,
    });
    this.network = new Network({
      time,
      random: random.fork(),
      clusters: [this.fleet.hub, ...this.fleet.spokes],
      onSend: (...sent) => this.#checks.onSend(...sent),
      onExchange: (exchange) => this.#exchanged(exchange),
      onWatch: (sender, cluster, text) => note(`${sender.name} ${cluster.name} ${text}`),
      onFault,
    });
    this.#restores = new Restores(this.fleet);
    this.#life = new Life({ time, fleet: this.fleet, users, scenario, note });
    const { fleet, network } = this;
    const deployment = { ...options, gate, network, random, note, report };
    this.#replicas = new Replicas({
      ...deployment,
      name: "replica",
      home: fleet.hub,
      flags: ["--sets", ...(scenario.pull.spokes > 0 ? pullFlags : [])],
      shards: scenario.shards,
    });
    this.#agents = new Agents(fleet, deployment);
    this.#troubles = new Troubles({
      fleet,
      network,
      replicas: this.#replicas,
      agents: this.#agents,
      restores: this.#restores,
      note,
      onFault,
      onRestore: (cluster) => {
        this.#checks.onRestore(cluster);
        users.find((one) => one.cluster === cluster)?.restored();
      },
    });
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
    const { replicas, sets, budgets, rules } = this.#scenario;
    for (let count = 0; count < replicas; count += 1) this.#replicas.start();
    for (const kind of sets) this.fleet.hub.put(setOf(kind, "1.22", budgets, rules));
    for (const event of this.#scenario.events) {
      // oxlint-disable-next-line no-await-in-loop -- one event after the other
      await this.time.advanceTo(event.atMs);
      if (this.problems.length > 0) return;
      this.#restartFailed();
      this.#happen(event);
    }
    await this.time.advanceTo(lifeMs);
    this.#life.settle();
    this.#troubles.end();
    this.#isSettled = true;
  }

  /** Lets time pass, starts replicas again that have ended by themselves, and lets rollouts go on that wait for a user after the life. */
  async wait(ms: number): Promise<void> {
    this.#restartFailed();
    if (this.#isSettled) this.#life.goOn();
    await this.time.advance(ms);
  }

  /** From now on nothing may be written. */
  beQuiet(): void {
    this.#checks.isQuiet = true;
  }

  /** Stops all replicas. */
  async stop(): Promise<void> {
    for (const replicas of [this.#replicas, ...this.#agents.controllers]) {
      // oxlint-disable-next-line no-await-in-loop -- each has a time to end in
      await replicas.stop();
    }
  }

  #restartFailed(): void {
    for (const replicas of [this.#replicas, ...this.#agents.controllers]) replicas.restartFailed();
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
    this.#agents[Symbol.dispose]();
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
    this.#restores.backUp(this.time.nowMs);
    this.#events += 1;
    if (isDeed(kind)) this.#life.live(kind, dice);
    else this.#troubles.happen(kind, dice);
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
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "web", labels: { owner: "somebody" } },
    rules: [],
  },
];
