import type { StoredEvent, StoredObject } from "../simulator/object-store.ts";
import type { Arrival, SimulatedCluster } from "./cluster.ts";
import { ComponentChecks } from "./component-checks.ts";
import { isComponent, isReady } from "./component-facts.ts";
import { tokenMark } from "./fleet.ts";
import { InstallChecks } from "./install-checks.ts";
import { LeaseChecks } from "./lease-checks.ts";
import { Memberships } from "./memberships.ts";
import type { Exchange, Sender } from "./network.ts";
import { RolloutChecks, type RolloutChecksOptions } from "./rollout-checks.ts";
import { StageChecks } from "./stage-checks.ts";

/** An install sends some hundred requests. An attempt without end sends thousands. */
const mostRequests = 1_500;
const windowMs = 10_000;
export type ChecksOptions = Omit<RolloutChecksOptions, "memberships">;

/** What may never happen, looked at in each request, and by what is stored: not by what a status says. */
export class Checks {
  readonly #options: ChecksOptions;
  /** By uid, as they were before the next change. */
  readonly #before = new Map<string, StoredObject>();
  readonly #rollouts: RolloutChecks;
  readonly #stages: StageChecks;
  readonly #leases: LeaseChecks;
  readonly #requests = new Map<string, { since: number; count: number }>();
  readonly #installs: InstallChecks;
  readonly #components: ComponentChecks;
  /** Nothing may be written any more. */
  isQuiet = false;

  constructor(options: ChecksOptions) {
    this.#options = options;
    const { hub, spokes } = options.fleet;
    const all = { ...options, memberships: new Memberships(hub, options.time) };
    this.#rollouts = new RolloutChecks(all);
    this.#stages = new StageChecks(all);
    this.#installs = new InstallChecks(options);
    this.#components = new ComponentChecks(options);
    this.#leases = new LeaseChecks(options);
    for (const { store } of [hub, ...spokes]) {
      for (const object of store.everything()) this.#before.set(object.metadata.uid, object);
      // It sees each change last, when the checks of the request have seen what was there before.
      store.listen(({ object }) => queueMicrotask(() => this.#remember(object)));
    }
  }

  /** A cluster was restored from a backup: what is there is no deed of a replica. */
  onRestore(cluster: SimulatedCluster): void {
    if (cluster !== this.#options.fleet.hub) return;
    this.#rollouts.onRestore();
    this.#stages.onRestore();
  }

  /** A request leaves a replica. */
  onSend(sender: Sender, cluster: SimulatedCluster, arrival: Arrival): void {
    const { method, path, body } = arrival;
    if (body?.includes(tokenMark) === true)
      this.#problem(`${sender.name} writes a token to ${path}`);
    const isLease = path.includes("/leases");
    if (method === "GET" || isLease || path.includes("dryRun=") || path.includes("/self")) return;
    const what = `${method} ${path}`;
    if (this.isQuiet) this.#problem(`In quiet times ${sender.name} writes ${what}`);
    if (cluster !== this.#options.fleet.hub) {
      this.#installs.onSend(sender.home, cluster, arrival);
    }
    this.#leases.onWrite(sender, cluster, what);
  }

  /** A request has arrived and was answered. */
  onExchange({ sender, cluster, effect }: Exchange): void {
    this.#count(sender, cluster);
    for (const change of effect.changes) {
      const before = this.#before.get(change.object.metadata.uid);
      if (cluster === this.#options.fleet.hub) this.#checkHub(change, before);
      else this.#checkSpoke(cluster, change, before);
      this.#components.onChange(cluster, change, before);
    }
  }

  #remember(object: StoredObject): void {
    this.#before.set(object.metadata.uid, object);
  }

  #count(sender: Sender, cluster: SimulatedCluster): void {
    const { nowMs } = this.#options.time;
    const pair = `${sender.name} ${cluster.name}`;
    const window = this.#requests.get(pair);
    if (window === undefined || nowMs - window.since > windowMs) {
      this.#requests.set(pair, { since: nowMs, count: 1 });
      return;
    }
    window.count += 1;
    if (window.count !== mostRequests) return;
    this.#problem(`${sender.name} sends ${mostRequests} requests to ${cluster.name} in 10 s`);
  }

  #checkSpoke(
    { name }: SimulatedCluster,
    { type, object }: StoredEvent,
    before: StoredObject | undefined,
  ): void {
    const isForeign = before?.metadata.labels?.["owner"] === "somebody";
    if (!isForeign) return;
    this.#problem(`${type} of ${object.kind} ${object.metadata.name} of others on ${name}`);
  }

  #checkHub({ type, object }: StoredEvent, before: StoredObject | undefined): void {
    if (object.kind.endsWith("Set")) this.#rollouts.onSet(object, before);
    if (!isComponent(object) || type === "DELETED") return;
    this.#rollouts.onComponent(object, before, isReady(object));
  }

  #problem(text: string): void {
    this.#options.onProblem(text);
  }
}
