import { WriteRefusedError } from "../access/http/write-permit.ts";
import { isServerFailure } from "../access/kube/api-error.ts";
import type { Listing } from "../access/kube/reflector.ts";
import type { ReferencePolicy } from "../access/providers/reference-policy.ts";
import type { References } from "../access/providers/references.ts";
import type { ClusterProfileRef, Component } from "../api/component.ts";
import { componentId, objectId, targetId, nameId } from "../api/keys.ts";
import { shardOf } from "../api/shards.ts";
import {
  hasOtherStatus,
  type InventoryChange,
  isMootBy,
  isNews,
  isUndone,
  keysWaitingFor,
} from "./component-changes.ts";
import { newerOf } from "./component-identity.ts";
import type { Components } from "./components.ts";
import { deliver } from "./deliver.ts";
import { Installations } from "./installations.ts";
import { lastingLogFieldsOf } from "./log.ts";
import type { ObservedChange } from "./observe/observation.ts";
import type { PullDeps } from "./pull/pull-deps.ts";
import { type Next, notBefore } from "./queue/delays.ts";
import { type QueueObserver, WorkQueue } from "./queue/queue.ts";
import { WritesBetweenAttempts } from "./reconcile/between-attempts.ts";
import { claimRefusal } from "./reconcile/claims.ts";
import type { Installation } from "./reconcile/installation.ts";
import type { ReconcileDeps } from "./reconcile/reconcile-deps.ts";
import { askedWaitMs } from "./status/outcome.ts";

export interface DispatcherOptions extends Pick<ReconcileDeps, "clock" | "log"> {
  readonly components: Pick<Components, "get" | "all" | "of" | "targets">;
  readonly concurrency: number;
  /** Interval in ms of the audits, which send every object again; 0: no audits. */
  readonly auditMs: number;
  /** 0 to 1, for the jitter of the back-off. */
  readonly random: () => number;
  readonly observer: QueueObserver;
  /** Absent: one, which is served from the start. */
  readonly shards?: number;
}

type OfShard = "hub" | "events";

/** Dependencies that exist only after the leader election. */
export interface WorkOptions {
  readonly deps: Omit<PullDeps, "onChange" | OfShard>;
  /** What writes to the hub for a shard that is served. */
  readonly ofShard: (shard: number) => Pick<ReconcileDeps, OfShard>;
  /** Whether this process holds the shard. Called before each attempt. */
  readonly mayWrite: (shard: number) => boolean;
}

// A cluster has at most one component of each kind. Further ones are refused, so they can wait.
const laneConcurrency = 4;
// An attempt that takes longer gives its worker back. When no spoke answers after a start, `concurrency` more attempts begin in each such interval.
const slowMs = 500;

/** Turns changes on the hub and on targets into attempts, one at a time for each component. */
export class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #queue: WorkQueue;
  readonly #stop = new AbortController();
  readonly #installations: Installations;
  readonly #shards: number;
  readonly #served: Set<number>;
  readonly #between: WritesBetweenAttempts;
  #work: WorkOptions | undefined;

  constructor(options: DispatcherOptions) {
    const { log, concurrency, clock, random, observer, shards = 1 } = options;
    this.#options = options;
    this.#installations = new Installations(log);
    this.#shards = shards;
    this.#served = new Set(shards === 1 ? [0] : []);
    const between = { ...options, depsFor: (one: Component) => this.#depsFor(one) };
    this.#between = new WritesBetweenAttempts(between, this.#stop.signal);
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      onBug: (key, err) => log.error({ ...this.#fieldsOf(key), err }, "A reconcile has a bug"),
      concurrency,
      laneConcurrency,
      slowMs,
      clock,
      random,
      observer,
    });
  }

  get queueDepth(): number {
    return this.#queue.depth;
  }

  get activeWorkers(): number {
    return this.#queue.active;
  }

  /** Begins to reconcile. Changes before the start are not lost. */
  start(work: WorkOptions): void {
    this.#work = work;
    const served = [...this.#served].flatMap((shard) => this.#componentsOf(shard));
    for (const component of served) this.#greetLater(component);
    // After the greetings, because an attempt stops the greeting of its component.
    this.#queue.start();
  }

  /** Whether this process works on a component. */
  serves(component: Component): boolean {
    return this.#served.has(this.#shardOf(component));
  }

  /** Begins to work on the components of a shard. The components must be as new as the Lease of the shard. */
  serve(shard: number): void {
    if (this.#served.has(shard)) return;
    this.#served.add(shard);
    for (const component of this.#componentsOf(shard)) {
      this.#greetLater(component);
      this.#add(component);
    }
  }

  /** Ends the work on the components of a shard. Resolves when nothing is written for them any more. */
  async leave(shard: number): Promise<void> {
    this.#served.delete(shard);
    for (const component of this.#componentsOf(shard)) this.#forget(component);
    await this.#installations.closed((target) => shardOf(target, this.#shards) === shard);
  }

  componentChanged(component: Component, before: Component | undefined): void {
    if (!this.serves(component)) return;
    const installation = this.#installations.of(component);
    if (!isNews(component, before, installation)) return;
    if (isMootBy(component, before)) installation.interrupt();
    installation.pendingChanges?.noteComponentChange();
    this.#greetLater(component);
    // After the greeting, because an attempt stops it.
    this.#add(component);
  }

  /** Requeues the components of a kind whose last write was undone, as a list of them shows after an older state of the hub was restored. */
  componentsListed(kind: string, listing: Listing): void {
    for (const component of this.#options.components.all()) {
      const installation = this.#installations.get(componentId(component));
      if (component.kind !== kind || installation === undefined) continue;
      if (!listing.wentBack && !isUndone(installation.latest, component, listing)) continue;
      installation.undo();
      this.#add(component);
    }
  }

  componentDeleted(component: Component): void {
    this.#forget(component);
    // After a deletion without uninstall the component is still registered, and its policies would stay when the last other component is removed.
    this.#work?.deps.guards.stopProtecting(component);
    // A refused duplicate may use the cluster now.
    for (const other of this.#options.components.of(targetId(component))) {
      if (other.kind === component.kind) this.#add(other);
    }
    this.#addWaiting(component, { before: "all", after: { entries: [] } });
  }

  /** Requeues the components of a spoke after a change of its state, its ClusterProfile or the provider file. Interrupts attempts on a lost spoke. */
  spokeChanged(ref: ClusterProfileRef): void {
    const target = nameId(ref);
    const isLost = this.#work?.deps.spokes.state(ref)?.kind === "lost";
    for (const component of this.#options.components.of(target)) {
      // The attempt may wait for the first lists of its watches.
      if (isLost) this.#installations.get(componentId(component))?.interrupt();
      this.#add(component);
    }
  }

  /** Requeues the components whose permission for their ClusterProfile changed. Interrupts the attempt of one that lost it. Security: T-05. */
  referencesChanged(references: Pick<References, "policy">, before: ReferencePolicy): void {
    for (const component of this.#options.components.all()) {
      const refusal = claimRefusal(component, { references });
      if (refusal === claimRefusal(component, { references: { policy: before } })) continue;
      if (refusal !== undefined) this.#installations.get(componentId(component))?.interrupt();
      this.#add(component);
    }
  }

  /** Requeues chosen components, because something that they depend on has changed. */
  requeue(isChosen: (component: Component) => boolean): void {
    for (const component of this.#options.components.all()) {
      if (isChosen(component)) this.#add(component);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#queue[Symbol.asyncDispose]();
    await this.#installations[Symbol.asyncDispose]();
  }

  /** Requeues after a short delay, so that simultaneous changes share an attempt, also while the component backs off. */
  #targetChanged(component: Component, change: ObservedChange): void {
    const key = componentId(component);
    const installation = this.#installations.get(key);
    if (installation?.uid !== component.metadata.uid) return;
    if (change.kind === "object") {
      installation.pendingChanges?.noteObjectChange(objectId(change.key));
    }
    const delayMs = installation.repairPace.delayMs(change, this.#options.clock.now());
    this.#queue.hasten(key, targetId(component), delayMs);
    this.#between.retractLater(key, installation, change);
  }

  /** Requeues components that wait for shared objects that their holder has given up. */
  #addWaiting(holder: Component, change: InventoryChange): void {
    for (const key of keysWaitingFor(holder, change, this.#installations)) {
      const component = this.#options.components.get(key);
      if (component !== undefined) this.#add(component);
    }
  }

  #greetLater(component: Component): void {
    this.#between.greetLater(component, this.#installations.of(component));
  }

  #add(component: Component): void {
    if (this.serves(component)) this.#queue.add(componentId(component), targetId(component));
  }

  #forget(component: Component): void {
    this.#queue.forget(componentId(component));
    this.#installations.forget(component);
  }

  #componentsOf(shard: number): readonly Component[] {
    const { components } = this.#options;
    const targets = [...components.targets()].filter((one) => shardOf(one, this.#shards) === shard);
    return targets.flatMap((target) => [...components.of(target)]);
  }

  #shardOf(component: Component): number {
    return shardOf(targetId(component), this.#shards);
  }

  /** Dependencies of work for a component; undefined when this process may not work for it now. */
  #depsFor(component: Component): Omit<PullDeps, "onChange"> | undefined {
    const shard = this.#shardOf(component);
    const work = this.#work;
    if (work?.mayWrite(shard) !== true || !this.#served.has(shard)) return undefined;
    return { ...work.deps, ...work.ofShard(shard) };
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Next> {
    const stored = this.#options.components.get(key);
    if (stored === undefined || this.#depsFor(stored) === undefined) return { kind: "change" };
    const installation = this.#installations.of(stored);
    await installation.beQuiet();
    const workDeps = this.#depsFor(stored);
    if (workDeps === undefined) return { kind: "change" };
    const component = newerOf(installation.latest, stored);
    const before = installation.inventory;
    try {
      const { clock, auditMs: intervalMs, random } = this.#options;
      const { repairPace, audits } = installation;
      repairPace.noteAttempt(clock.now());
      if (audits.takeDue({ intervalMs, random }, clock.now())) installation.requestAudit();
      const deps: PullDeps = {
        ...workDeps,
        onChange: (of, change) => this.#targetChanged(of, change),
      };
      const next = await installation.attempt(
        { component, ...deps },
        (writer, either) => deliver({ component, installation, writer }, deps, either),
        signal,
      );
      installation.takeHubFailure(undefined);
      // Others may have changed the status during our last write.
      const current = this.#options.components.get(key);
      if (current && hasOtherStatus(current, installation.latest)) this.#add(current);
      const auditMs = audits.restMs(clock.now());
      if (auditMs !== undefined && component.metadata.deletionTimestamp === undefined) {
        this.#queue.addAfter(key, targetId(component), auditMs);
      }
      // An attempt that comes by time repairs, too.
      return notBefore(next, repairPace.restMs(clock.now()));
    } catch (error) {
      return this.#afterFailure(key, installation, error);
    } finally {
      this.#addWaiting(component, { before, after: installation.inventory });
    }
  }

  /** Handles an error that an attempt threw: a failure of the hub, an interruption, or a bug. Failures of the target are in its outcome. */
  #afterFailure(key: string, installation: Installation, err: unknown): Next {
    const isInterrupted = err instanceof DOMException && err.name === "AbortError";
    // Writes are refused after the leadership is lost, when this process is about to end.
    if (isInterrupted || err instanceof WriteRefusedError) return { kind: "change" };
    if (!isServerFailure(err)) throw err;
    this.#work?.deps.metrics.countHubFailure();
    const level = installation.takeHubFailure(String(err)) ? "warn" : "debug";
    const fields = { ...this.#fieldsOf(key), err };
    this.#options.log[level](fields, "The hub could not be written");
    return { kind: "backoff", leastMs: askedWaitMs(err) };
  }

  #fieldsOf(key: string): object {
    const component = this.#options.components.get(key);
    return component === undefined ? { component: key } : lastingLogFieldsOf(component);
  }
}
