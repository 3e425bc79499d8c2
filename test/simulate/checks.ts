import { componentKinds } from "../../api/component.ts";
import { anchorAnnotations, componentUidLabel } from "../../installation/anchor.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import type { StoredEvent, StoredObject } from "../simulator/object-store.ts";
import type { Arrival, SimulatedCluster } from "./cluster.ts";
import { tokenMark } from "./fleet.ts";
import { LeaseChecks } from "./lease-checks.ts";
import type { Exchange, Sender } from "./network.ts";
import {
  profileOf,
  RolloutChecks,
  type RolloutChecksOptions,
  unheardMs,
} from "./rollout-checks.ts";

/** An install sends some hundred requests. An attempt without end sends thousands. */
const mostRequests = 1_500;
const windowMs = 10_000;
export type ChecksOptions = RolloutChecksOptions;

/** What may never happen, looked at in each request, and by what is stored: not by what a status says. */
export class Checks {
  readonly #options: ChecksOptions;
  /** By uid, as they were before the next change. */
  readonly #before = new Map<string, StoredObject>();
  readonly #rollouts: RolloutChecks;
  readonly #leases: LeaseChecks;
  readonly #requests = new Map<string, { since: number; count: number }>();

  constructor(options: ChecksOptions) {
    this.#options = options;
    this.#rollouts = new RolloutChecks(options);
    this.#leases = new LeaseChecks(options);
    const { hub, spokes } = options.fleet;
    for (const { store } of [hub, ...spokes]) {
      for (const object of store.everything()) this.#before.set(object.metadata.uid, object);
      // It sees each change last, when the checks of the request have seen what was there before.
      store.listen(({ object }) => queueMicrotask(() => this.#remember(object)));
    }
  }

  /** A cluster was restored from a backup: what is there is no deed of a replica. */
  onRestore(cluster: SimulatedCluster): void {
    if (cluster === this.#options.fleet.hub) this.#rollouts.onRestore();
  }

  /** A request leaves a replica. */
  onSend(sender: Sender, cluster: SimulatedCluster, { method, path, body }: Arrival): void {
    if (body?.includes(tokenMark) === true)
      this.#problem(`${sender.name} writes a token to ${path}`);
    const isLease = path.includes("/leases");
    if (method === "GET" || isLease || path.includes("dryRun=") || path.includes("/self")) return;
    this.#leases.onWrite(sender, cluster, `${method} ${path}`);
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
    const { spokes, orphans } = this.#options.fleet;
    const spoke = spokes.find(({ name }) => name === profileOf(component));
    if (spoke?.isRestoredWithin(unheardMs) === true)
      return void orphans.add(component.metadata.uid);
    const left = this.#partsOf(component);
    if (left.length === 0) return;
    const names = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).slice(0, 3);
    const { kind, metadata } = component;
    this.#problem(`${kind} ${metadata.name} is let go while ${names.join(", ")} are left of it`);
  }

  /** What is ready is there, whole and running. */
  #checkReady(component: StoredObject, before: StoredObject | undefined): void {
    const { kind, metadata } = component;
    const { spokes } = this.#options.fleet;
    const spoke = spokes.find(({ name }) => name === profileOf(component));
    if (spoke?.isRestoredWithin(unheardMs) === true) return;
    if (isReady(before) && valueAt(before, "status", "version") === versionOf(component)) return;
    const what = `${kind} ${metadata.name} is Ready`;
    const wanted = String(valueAt(component, "spec", "version"));
    if (!versionOf(component).startsWith(wanted)) {
      this.#problem(`${what} with version ${versionOf(component)}, ${wanted} is wanted`);
    }
    const workloads = this.#partsOf(component).filter((object) => object.kind === "Deployment");
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
    const name = profileOf(component);
    const spoke = this.#options.fleet.spokes.find((one) => one.name === name);
    return [...(spoke?.store.everything() ?? [])].filter(
      (object) => componentUidOf(object) === metadata.uid,
    );
  }

  #problem(text: string): void {
    this.#options.onProblem(text);
  }
}

/** Uid of the component that an object on a spoke is a part of: an anchor says it in an annotation. */
export function componentUidOf({ kind, metadata }: StoredObject): string | undefined {
  const { labels, annotations } = metadata;
  const anchored = kind === "ConfigMap" ? annotations?.[anchorAnnotations.componentUid] : undefined;
  return labels?.[componentUidLabel] ?? anchored;
}

export function isComponent({ kind }: Pick<StoredObject, "kind">): boolean {
  return kind in componentKinds;
}

function hasFinalizer(component: StoredObject | undefined): boolean {
  if (component === undefined) return false;
  const finalizer = finalizers.get(component.kind) ?? "";
  return component.metadata.finalizers?.includes(finalizer) === true;
}

const finalizers: ReadonlyMap<string, string> = new Map(
  Object.entries(componentKinds).map(([kind, { finalizer }]) => [kind, finalizer]),
);

/** Ready, of the generation that is stored. */
export function isReady(component: StoredObject | undefined): boolean {
  const observed = valueAt(component, "status", "observedGeneration");
  const isTrue = conditionOf(component, "Ready")?.status === "True";
  return isTrue && observed === component?.metadata.generation;
}

function versionOf(component: StoredObject): string {
  return String(valueAt(component, "status", "version"));
}
