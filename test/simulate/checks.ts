import { valueAt } from "../fleet/json-record.ts";
import type { StoredEvent, StoredObject } from "../simulator/object-store.ts";
import type { Arrival, SimulatedCluster } from "./cluster.ts";
import {
  componentUidOf,
  hasFinalizer,
  isComponent,
  isReady,
  profileOf,
  versionOf,
} from "./component-facts.ts";
import { tokenMark } from "./fleet.ts";
import { InstallChecks, isRecorded } from "./install-checks.ts";
import { LeaseChecks } from "./lease-checks.ts";
import { Memberships, unheardMs } from "./memberships.ts";
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
  /** Nothing may be written any more. */
  isQuiet = false;

  constructor(options: ChecksOptions) {
    this.#options = options;
    const { hub, spokes } = options.fleet;
    const all = { ...options, memberships: new Memberships(hub, options.time) };
    this.#rollouts = new RolloutChecks(all);
    this.#stages = new StageChecks(all);
    this.#installs = new InstallChecks(options);
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
    if (cluster !== this.#options.fleet.hub) this.#installs.onSend(cluster, arrival);
    this.#leases.onWrite(sender, cluster, what);
  }

  /** A request has arrived and was answered. */
  onExchange({ sender, cluster, effect }: Exchange): void {
    this.#count(sender, cluster);
    for (const change of effect.changes) {
      const before = this.#before.get(change.object.metadata.uid);
      if (cluster === this.#options.fleet.hub) this.#checkHub(change, before);
      else this.#checkSpoke(cluster, change, before);
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
    if (!isComponent(object)) return;
    if (hasFinalizer(before) && (type === "DELETED" || !hasFinalizer(object))) {
      this.#checkRemains(object);
    }
    if (type === "DELETED") {
      return this.#rollouts.onGone(object);
    }
    this.#rollouts.onComponent(object, before, isReady(object));
    if (isReady(object)) this.#checkReady(object, before);
  }

  /** The finalizer goes only when nothing of the installation is left. */
  #checkRemains(component: StoredObject): void {
    if (this.#spokeOf(component)?.isRestoredWithin(unheardMs) === true)
      return void this.#options.fleet.orphans.add(component.metadata.uid);
    const left = this.#partsOf(component);
    if (left.length === 0) return;
    const names = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).slice(0, 3);
    const { kind, metadata } = component;
    this.#problem(`${kind} ${metadata.name} is let go while ${names.join(", ")} are left of it`);
  }

  /** What is ready is there, whole and running. */
  #checkReady(component: StoredObject, before: StoredObject | undefined): void {
    const { kind, metadata } = component;
    const spoke = this.#spokeOf(component);
    if (spoke?.isRestoredWithin(unheardMs) === true) return;
    if (isReady(before) && valueAt(before, "status", "version") === versionOf(component)) return;
    const what = `${kind} ${metadata.name} is Ready`;
    const wanted = String(valueAt(component, "spec", "version"));
    if (!versionOf(component).startsWith(wanted)) {
      this.#problem(`${what} with version ${versionOf(component)}, ${wanted} is wanted`);
    }
    const parts = this.#partsOf(component);
    const old = parts.find(({ metadata: { labels } }) => {
      const version = labels?.["app.kubernetes.io/version"];
      return version !== undefined && minorOf(version) !== minorOf(versionOf(component));
    });
    if (old !== undefined) {
      this.#problem(`${what} while ${old.kind} ${old.metadata.name} is of another version`);
    }
    if (spoke !== undefined && !isRecorded(spoke, component)) {
      this.#problem(`${what} while its inventory is not complete`);
    }
    const workloads = parts.filter((object) => object.kind === "Deployment");
    if (workloads.length === 0) this.#problem(`${what} without a workload`);
    for (const workload of workloads) {
      const { generation, name } = workload.metadata;
      const isAvailable = valueAt(workload, "status", "observedGeneration") === generation;
      if (!isAvailable) this.#problem(`${what} while Deployment ${name} is not available`);
    }
  }

  /** The objects of an installation on its spoke. */
  #partsOf(component: StoredObject): readonly StoredObject[] {
    const { metadata } = component;
    return [...(this.#spokeOf(component)?.store.everything() ?? [])].filter(
      (object) => componentUidOf(object) === metadata.uid,
    );
  }

  #spokeOf(component: StoredObject): SimulatedCluster | undefined {
    const name = profileOf(component);
    return this.#options.fleet.spokes.find((spoke) => spoke.name === name);
  }

  #problem(text: string): void {
    this.#options.onProblem(text);
  }
}

/** The first two numbers: a part of a release may have a patch version of its own. */
function minorOf(version: string): string {
  return version.split(".", 2).join(".");
}
