import { agentWorkName } from "../../api/delivery.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredEvent } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { SimulatedFleet } from "./fleet.ts";
import { pick } from "./random.ts";
import { Replicas, type ReplicasOptions } from "./replicas.ts";
import { WorkAgent } from "./work-agent.ts";

type AgentsOptions = Omit<ReplicasOptions, "name" | "home" | "flags" | "shards">;

/** What runs on the spokes that may pull: the work agent of Open Cluster Management, and the controller that a work brings. */
export class Agents implements Disposable {
  readonly #workAgents: readonly WorkAgent[];
  readonly #options: AgentsOptions;
  readonly #listening = new DisposableStack();
  /** The Deployment of the controller on each spoke: it has a replica while a work brings it. */
  readonly controllers: readonly Replicas[];

  constructor({ hub, pulling }: SimulatedFleet, options: AgentsOptions) {
    this.#options = options;
    const { network, random, note } = options;
    this.#workAgents = pulling.map(
      (spoke) => new WorkAgent({ network, random: random.fork(), hub, spoke, note }),
    );
    this.controllers = pulling.map((spoke) => this.#controllerOf(spoke));
  }

  /** One of the work agents is not heard for some time. */
  silence(die: number, ms: number): void {
    const at = Math.floor(die * this.#workAgents.length);
    this.#options.note(`work agent ${at + 1} falls silent`);
    pick(this.#workAgents, die)?.silence(ms);
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    for (const agent of this.#workAgents) agent[Symbol.dispose]();
  }

  #controllerOf(home: SimulatedCluster): Replicas {
    const flags = ["--install-crds"];
    const name = `agent-of-${home.name}`;
    const random = this.#options.random.fork();
    const replicas = new Replicas({ ...this.#options, random, name, home, flags, shards: 1 });
    const take = ({ type, object }: StoredEvent): void => {
      if (object.kind !== "Deployment" || object.metadata.name !== agentWorkName) return;
      if (type === "DELETED") replicas.clear();
      else if (Number(valueAt(object, "status", "availableReplicas") ?? 0) > 0)
        replicas.ensureOne();
    };
    this.#listening.use(home.store.listen(take));
    return replicas;
  }
}
