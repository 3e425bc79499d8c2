import { WriteRefusedError } from "../../access/http/write-permit.ts";
import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import type { Listing } from "../../access/kube/reflector.ts";
import type { ReferencePolicy } from "../../access/providers/reference-policy.ts";
import type { References } from "../../access/providers/references.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { canonicalJson } from "../../api/fields.ts";
import { identityOf } from "../../api/kubernetes.ts";
import { isOlder } from "../../installation/observed-object.ts";
import { namesChangeable } from "../../render/release/user-manifests.ts";
import { targetIdOf, newerOf, keyTextOf } from "../component-identity.ts";
import { lastingLogFieldsOf } from "../log.ts";
import type { ObservedChange } from "../observe/observation.ts";
import { refusalOf } from "../reconcile/claims.ts";
import { Installation } from "../reconcile/installation.ts";
import { askedWaitMs } from "../reconcile/outcome.ts";
import type { ReconcileDeps } from "../reconcile/reconcile-deps.ts";
import { reconcile } from "../reconcile/reconcile.ts";
import { greet, Greeting, retract, retractionDelayOf } from "../reconcile/report.ts";
import { heirsOf, type Holdings, isMootBy, isNews } from "./component-changes.ts";
import { type Next, untilAuditMs, lookDelayOf } from "./delays.ts";
import { type QueueObserver, WorkQueue } from "./queue.ts";

export interface DispatcherOptions extends Pick<ReconcileDeps, "clock" | "log"> {
  readonly components: { get(key: string): Component | undefined; all(): Iterable<Component> };
  readonly concurrency: number;
  /** Pace in ms at which everything is sent again that seems to be right; 0: never. */
  readonly auditMs: number;
  /** 0 to 1, for the jitter of the back-off. */
  readonly random: () => number;
  readonly observer: QueueObserver;
}

/** What the dispatcher needs only once it may work. */
export interface WorkOptions {
  readonly deps: Omit<ReconcileDeps, "onChange">;
  /** Whether this process is the one that writes, asked before each reconcile. */
  readonly mayWrite: () => boolean;
}

// A cluster has one component of each kind; more than two wait only where they are refused anyway.
const laneConcurrency = 4;
// Also the pace after a start: when no spoke answers, `concurrency` more of them are tried each time.
const slowMs = 500;

// Timers of a process are limited to 24 days.
const longestWaitMs = 86_400_000;

/** Turns what happens on the hub and on targets into reconciles, one at a time for each component. */
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

  /** Begins to reconcile; what happened before is not lost. */
  start(work: WorkOptions): void {
    this.#work = work;
    for (const component of this.#options.components.all()) this.#greetLater(component);
    // After the greetings, which a worker that is free takes back at once.
    this.#queue.start();
  }

  componentChanged(component: Component, before: Component | undefined): void {
    const installation = this.#installationOf(component);
    if (!isNews(component, before, installation)) return;
    if (isMootBy(component, before)) installation.interrupt();
    installation.awaiting.news();
    this.#greetLater(component);
    // After the greeting, which a worker that is free takes back at once.
    this.#add(component);
  }

  /**
   * All components of a kind were listed. A list that is as new as what we wrote and shows something older tells that an older state of the hub was
   * restored: what it shows counts from then on.
   */
  componentsListed(kind: string, listing: Listing): void {
    for (const component of this.#options.components.all()) {
      const installation = this.#installations.get(keyTextOf(component));
      if (component.kind !== kind || installation === undefined) continue;
      const { latest } = installation;
      const isUndone =
        latest !== undefined &&
        newerOf(latest, component) === latest &&
        !isOlder(listing, latest.metadata);
      if (!listing.wentBack && !isUndone) continue;
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
    // Nobody retired what went without us: without this, it would keep the policies when the last one is removed.
    this.#work?.deps.guards.withdraw(component);
    // One that had to wait for this one may have its cluster now.
    for (const other of this.#options.components.all()) {
      const isTwin = other.kind === component.kind && targetIdOf(other) === targetIdOf(component);
      if (isTwin) this.#add(other);
    }
    this.#wakeHeirs(component, { before: "all", after: { entries: [] } });
  }

  /** The state of a spoke, its ClusterProfile or the provider file changed. What runs on a spoke that is lost ends at once. */
  spokeChanged(ref: ClusterProfileRef): void {
    const target = `${ref.namespace}/${ref.name}`;
    const isLost = this.#work?.deps.spokes.state(ref)?.kind === "lost";
    for (const component of this.#options.components.all()) {
      if (targetIdOf(component) !== target) continue;
      // It may wait for the first lists of watches, which now wait for the spoke.
      if (isLost) this.#installations.get(keyTextOf(component))?.interrupt();
      this.#add(component);
    }
  }

  /**
   * Who may use which ClusterProfile has changed: what runs for a component that may not any more ends at once. Security: T-05.
   */
  referencesChanged(references: Pick<References, "policy">, before: ReferencePolicy): void {
    for (const component of this.#options.components.all()) {
      const refusal = refusalOf(component, { references });
      if (refusal === refusalOf(component, { references: { policy: before } })) continue;
      if (refusal !== undefined) this.#installations.get(keyTextOf(component))?.interrupt();
      this.#add(component);
    }
  }

  /** There is something else than before at URLs of manifests; also a component that backs off looks again. */
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

  /** Changes of one moment are looked at together, also while the component backs off. */
  #targetChanged(component: Component, change: ObservedChange): void {
    const key = keyTextOf(component);
    const installation = this.#installations.get(key);
    if (installation?.uid !== component.metadata.uid) return;
    if (change.kind === "object") installation.awaiting.changed(identityOf(change.key));
    const delayMs = lookDelayOf(change, installation, this.#options.clock.now());
    this.#queue.hasten(key, targetIdOf(component), delayMs);
    this.#retractLater(key, installation, change);
  }

  /** What the watches show is told in time, also while an attempt waits for its cluster, or for its turn. */
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

  /** A component that has to wait for a worker says so. */
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

  /** Whoever left something to a component looks again when that has given it up, also while it backs off. */
  #wakeHeirs(holder: Component, holdings: Holdings): void {
    for (const key of heirsOf(holder, holdings, this.#installations)) {
      const heir = this.#options.components.get(key);
      if (heir !== undefined) this.#add(heir);
    }
  }

  #add(component: Component): void {
    this.#queue.add(keyTextOf(component), targetIdOf(component));
  }

  #installationOf(component: Component): Installation {
    const key = keyTextOf(component);
    const known = this.#installations.get(key);
    if (known?.uid === component.metadata.uid) return known;
    if (known !== undefined) this.#close(known);
    const installation = new Installation(component.metadata.uid);
    this.#installations.set(key, installation);
    return installation;
  }

  #close(installation: Installation): void {
    installation[Symbol.asyncDispose]().catch((err: unknown) => {
      this.#options.log.warn({ uid: installation.uid, err }, "Could not stop to look at a target");
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
    const onChange = (of: Component, change: ObservedChange): void =>
      this.#targetChanged(of, change);
    const before = installation.inventory;
    try {
      this.#auditIfDue(installation);
      const next = await installation.attempt(
        (either) => reconcile({ component, installation }, { ...work.deps, onChange }, either),
        signal,
      );
      this.#lookAgain(key, installation);
      this.#awaitAudit(key, component, installation);
      return next;
    } catch (error) {
      return this.#afterFailure(key, error);
    } finally {
      this.#wakeHeirs(component, { before, after: installation.inventory });
    }
  }

  /** What somebody did to the status while the last words about an attempt were told. */
  #lookAgain(key: string, { latest }: Installation): void {
    const stored = this.#options.components.get(key);
    if (latest === undefined || stored === undefined || newerOf(latest, stored) === latest) return;
    const isTheSame = canonicalJson(stored.status) === canonicalJson(latest.status);
    if (!isTheSame) this.#add(stored);
  }

  /** Also of what is not complete, which may be so for weeks: a look at it tells no more than the watches do. */
  #auditIfDue(installation: Installation): void {
    const { clock, auditMs: intervalMs, random } = this.#options;
    const { auditAt } = installation;
    if (auditAt !== undefined && clock.now() < auditAt) return;
    if (auditAt !== undefined) installation.requestAudit();
    const ms = untilAuditMs({ intervalMs, random }, { isFirst: auditAt === undefined });
    installation.auditAt = ms === undefined ? undefined : clock.now() + ms;
  }

  /** Not before something else that is due earlier. */
  #awaitAudit(key: string, component: Component, { auditAt }: Installation): void {
    if (auditAt === undefined) return;
    if (component.metadata.deletionTimestamp !== undefined) return;
    const ms = Math.min(longestWaitMs, Math.max(0, auditAt - this.#options.clock.now()));
    this.#queue.addAfter(key, targetIdOf(component), ms);
  }

  /** Everything that concerns the target is told on the component; what comes here is the hub's, or an end on demand. */
  #afterFailure(key: string, err: unknown): Next {
    const isAtTheEnd = err instanceof DOMException && err.name === "AbortError";
    // The leadership is lost: this process is about to end.
    if (isAtTheEnd || err instanceof WriteRefusedError) return { kind: "change" };
    const isOfHub =
      err instanceof ApiError || err instanceof ConnectionError || err instanceof FleetError;
    if (!isOfHub) throw err;
    this.#work?.deps.metrics.hubFailed();
    this.#options.log.warn({ ...this.#fieldsOf(key), err }, "The hub could not be written");
    return { kind: "backoff", leastMs: askedWaitMs(err) };
  }

  #fieldsOf(key: string): object {
    const component = this.#options.components.get(key);
    return component === undefined ? { component: key } : lastingLogFieldsOf(component);
  }
}
