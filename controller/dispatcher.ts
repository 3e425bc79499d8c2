import { WriteRefusedError } from "../access/http/write-permit.ts";
import type { Listing } from "../access/kube/reflector.ts";
import type { ReferencePolicy } from "../access/providers/reference-policy.ts";
import type { References } from "../access/providers/references.ts";
import type { ClusterProfileRef, Component } from "../api/component.ts";
import { identityOf } from "../api/kubernetes.ts";
import { namesChangeable } from "../render/release/user-manifests.ts";
import {
  hasOtherStatus,
  type InventoryChange,
  isMootBy,
  isNews,
  isUndone,
  keysWaitingFor,
} from "./component-changes.ts";
import { targetIdOf, newerOf, keyTextOf } from "./component-identity.ts";
import { lastingLogFieldsOf } from "./log.ts";
import type { ObservedChange } from "./observe/observation.ts";
import { type Next, requestAuditIfDue, timerMs, changeDelayMs } from "./queue/delays.ts";
import { type QueueObserver, WorkQueue } from "./queue/queue.ts";
import { greet, Greeting, retract, retractionDelayOf } from "./reconcile/between-attempts.ts";
import { areRivals, refusalOf } from "./reconcile/claims.ts";
import { Installation } from "./reconcile/installation.ts";
import { askedWaitMs, isHubFailure } from "./reconcile/outcome.ts";
import type { ReconcileDeps } from "./reconcile/reconcile-deps.ts";
import { reconcile } from "./reconcile/reconcile.ts";
import { uninstall } from "./uninstall/uninstall.ts";

export interface DispatcherOptions extends Pick<ReconcileDeps, "clock" | "log"> {
  readonly components: { get(key: string): Component | undefined; all(): Iterable<Component> };
  readonly concurrency: number;
  /** Interval in ms of the audits, which send every object again; 0: no audits. */
  readonly auditMs: number;
  /** 0 to 1, for the jitter of the back-off. */
  readonly random: () => number;
  readonly observer: QueueObserver;
}

/** Dependencies that exist only after the leader election. */
export interface WorkOptions {
  readonly deps: Omit<ReconcileDeps, "onChange">;
  /** Whether this process is the leader. Called before each attempt. */
  readonly mayWrite: () => boolean;
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
  readonly #installations = new Map<string, Installation>();
  #work: WorkOptions | undefined;

  constructor(options: DispatcherOptions) {
    const { log, concurrency, clock, random, observer } = options;
    this.#options = options;
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
    for (const component of this.#options.components.all()) this.#greetLater(component);
    // After the greetings, because an attempt stops the greeting of its component.
    this.#queue.start();
  }

  componentChanged(component: Component, before: Component | undefined): void {
    const installation = this.#installationOf(component);
    if (!isNews(component, before, installation)) return;
    if (isMootBy(component, before)) installation.interrupt();
    installation.pendingChanges.noteComponentChange();
    this.#greetLater(component);
    // After the greeting, because an attempt stops it.
    this.#add(component);
  }

  /** Requeues the components of a kind whose last write was undone, as a list of them shows after an older state of the hub was restored. */
  componentsListed(kind: string, listing: Listing): void {
    for (const component of this.#options.components.all()) {
      const installation = this.#installations.get(keyTextOf(component));
      if (component.kind !== kind || installation === undefined) continue;
      if (!listing.wentBack && !isUndone(installation.latest, component, listing)) continue;
      installation.undo();
      this.#add(component);
    }
  }

  componentDeleted(component: Component): void {
    const key = keyTextOf(component);
    this.#queue.forget(key);
    const installation = this.#installations.get(key);
    if (installation?.uid === component.metadata.uid) {
      this.#installations.delete(key);
      this.#close(installation);
    }
    // After a deletion without uninstall the component is still registered, and its policies would stay when the last other component is removed.
    this.#work?.deps.guards.stopProtecting(component);
    // A refused duplicate may use the cluster now.
    for (const other of this.#options.components.all()) {
      if (areRivals(other, component)) this.#add(other);
    }
    this.#addWaiting(component, { before: "all", after: { entries: [] } });
  }

  /** Requeues the components of a spoke after a change of its state, its ClusterProfile or the provider file. Interrupts attempts on a lost spoke. */
  spokeChanged(ref: ClusterProfileRef): void {
    const target = `${ref.namespace}/${ref.name}`;
    const isLost = this.#work?.deps.spokes.state(ref)?.kind === "lost";
    for (const component of this.#options.components.all()) {
      if (targetIdOf(component) !== target) continue;
      // The attempt may wait for the first lists of its watches.
      if (isLost) this.#installations.get(keyTextOf(component))?.interrupt();
      this.#add(component);
    }
  }

  /** Requeues the components whose permission for their ClusterProfile changed. Interrupts the attempt of one that lost it. Security: T-05. */
  referencesChanged(references: Pick<References, "policy">, before: ReferencePolicy): void {
    for (const component of this.#options.components.all()) {
      const refusal = refusalOf(component, { references });
      if (refusal === refusalOf(component, { references: { policy: before } })) continue;
      if (refusal !== undefined) this.#installations.get(keyTextOf(component))?.interrupt();
      this.#add(component);
    }
  }

  /** Requeues the components that name manifest URLs, because their content changed. */
  manifestsChanged(): void {
    for (const component of this.#options.components.all()) {
      if (namesChangeable(component)) this.#add(component);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#queue[Symbol.asyncDispose]();
    const installations = [...this.#installations.values()];
    this.#installations.clear();
    await Promise.all(installations.map((installation) => installation[Symbol.asyncDispose]()));
  }

  /** Requeues after a short delay, so that simultaneous changes share an attempt, also while the component backs off. */
  #targetChanged(component: Component, change: ObservedChange): void {
    const key = keyTextOf(component);
    const installation = this.#installations.get(key);
    if (installation?.uid !== component.metadata.uid) return;
    if (change.kind === "object")
      installation.pendingChanges.noteObjectChange(identityOf(change.key));
    const delayMs = changeDelayMs(change, installation, this.#options.clock.now());
    this.#queue.hasten(key, targetIdOf(component), delayMs);
    this.#retractLater(key, installation, change);
  }

  /** Sets the timer of a retraction; see `retract`. */
  #retractLater(key: string, installation: Installation, change: ObservedChange): void {
    const { clock, log } = this.#options;
    const delayMs = retractionDelayOf(change);
    if (delayMs === undefined) return;
    const dueAt = clock.now() + delayMs;
    if (installation.retraction !== undefined && installation.retraction.dueAt <= dueAt) return;
    installation.retraction?.timer[Symbol.dispose]();
    const timer = clock.after(delayMs, () => {
      installation.retraction = undefined;
      const stored = this.#options.components.get(key);
      const work = this.#work;
      if (stored?.metadata.uid !== installation.uid || work?.mayWrite() !== true) return;
      const component = newerOf(installation.latest, stored);
      const retracting = retract({ component, installation }, work.deps, this.#stop.signal);
      installation.retracting = retracting.catch((err: unknown) => {
        log.debug({ ...this.#fieldsOf(key), err }, "Could not take back what the status claims");
      });
    });
    installation.retraction = { dueAt, timer };
  }

  /** Sets the timer of the greeting of a new component; see `Greeting`. */
  #greetLater(component: Component): void {
    const { status, metadata } = component;
    const installation = this.#installationOf(component);
    const isNew = status?.conditions === undefined && metadata.deletionTimestamp === undefined;
    if (!isNew || installation.attempts > 0 || installation.greeting !== undefined) return;
    installation.greeting = new Greeting(this.#options.clock, async () => {
      const work = this.#work;
      if (work?.mayWrite() !== true) installation.greeting = undefined;
      else await greet({ component, installation }, work.deps, this.#stop.signal);
    });
  }

  /** Requeues components that wait for shared objects that their holder has given up. */
  #addWaiting(holder: Component, change: InventoryChange): void {
    for (const key of keysWaitingFor(holder, change, this.#installations)) {
      const component = this.#options.components.get(key);
      if (component !== undefined) this.#add(component);
    }
  }

  #add(component: Component): void {
    this.#queue.add(keyTextOf(component), targetIdOf(component));
  }

  #installationOf(component: Component): Installation {
    const key = keyTextOf(component);
    const current = this.#installations.get(key);
    if (current?.uid === component.metadata.uid) return current;
    if (current !== undefined) this.#close(current);
    const installation = new Installation(component.metadata.uid);
    this.#installations.set(key, installation);
    return installation;
  }

  #close(installation: Installation): void {
    installation[Symbol.asyncDispose]().catch((err: unknown) => {
      const { uid } = installation;
      this.#options.log.warn({ uid, err }, "Could not close the watches of a target");
    });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Next> {
    const stored = this.#options.components.get(key);
    const work = this.#work;
    if (stored === undefined || work?.mayWrite() !== true) return { kind: "change" };
    const installation = this.#installationOf(stored);
    await installation.greeting?.stop();
    await installation.retracting;
    const component = newerOf(installation.latest, stored);
    const before = installation.inventory;
    try {
      const { clock, auditMs: intervalMs, random } = this.#options;
      requestAuditIfDue(installation, { intervalMs, random }, clock.now());
      const deps: ReconcileDeps = {
        ...work.deps,
        onChange: (of, change) => this.#targetChanged(of, change),
      };
      const run = component.metadata.deletionTimestamp === undefined ? reconcile : uninstall;
      const next = await installation.attempt(
        { component, ...deps },
        (writer, either) => run({ component, installation, writer }, deps, either),
        signal,
      );
      // Others may have changed the status during our last write.
      const current = this.#options.components.get(key);
      if (current && hasOtherStatus(current, installation.latest)) this.#add(current);
      this.#awaitAudit(key, component, installation);
      return next;
    } catch (error) {
      return this.#afterFailure(key, error);
    } finally {
      this.#addWaiting(component, { before, after: installation.inventory });
    }
  }

  /** Comes back for the audit, unless the component comes back earlier for another reason. */
  #awaitAudit(key: string, component: Component, { auditAt }: Installation): void {
    if (auditAt === undefined || component.metadata.deletionTimestamp !== undefined) return;
    const ms = timerMs(auditAt, this.#options.clock.now());
    this.#queue.addAfter(key, targetIdOf(component), ms);
  }

  /** Handles an error that an attempt threw: a failure of the hub, an interruption, or a bug. Failures of the target are in its outcome. */
  #afterFailure(key: string, err: unknown): Next {
    const isInterrupted = err instanceof DOMException && err.name === "AbortError";
    // Writes are refused after the leadership is lost, when this process is about to end.
    if (isInterrupted || err instanceof WriteRefusedError) return { kind: "change" };
    if (!isHubFailure(err)) throw err;
    this.#work?.deps.metrics.countHubFailure();
    this.#options.log.warn({ ...this.#fieldsOf(key), err }, "The hub could not be written");
    return { kind: "backoff", leastMs: askedWaitMs(err) };
  }

  #fieldsOf(key: string): object {
    const component = this.#options.components.get(key);
    return component === undefined ? { component: key } : lastingLogFieldsOf(component);
  }
}
