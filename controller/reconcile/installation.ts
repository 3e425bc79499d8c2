import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Follower } from "../../access/time/deadline.ts";
import { Pace } from "../../access/time/pace.ts";
import type { Component } from "../../api/component.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { inventoryOf, withAudit } from "../apply/install-state.ts";
import { InstallationMemory } from "../apply/installation-memory.ts";
import { FailedJobs } from "../observe/failed-jobs.ts";
import type { Observation } from "../observe/observation.ts";
import { WorkloadCauses } from "../observe/visible-readiness.ts";
import { PendingChanges } from "../queue/pending-changes.ts";
import type { Outcome } from "../status/outcome.ts";
import {
  openStatusWriter,
  StatusPace,
  type StatusWriter,
  type WriterDeps,
} from "../status/status-writer.ts";

/** What an attempt takes of the `repairPace`; each object that it sends takes 1 more. */
export const attemptCost = 5;

/** The watches of one target over one connection, and what this process remembers of the target. */
export interface View {
  readonly observation: Observation;
  readonly memory: InstallationMemory;
  readonly causes: WorkloadCauses;
  readonly jobs: FailedJobs;
}

interface WriteOptions extends WriterDeps {
  readonly component: Component;
}

/** What the controller remembers of one component between two attempts. A new process reads it from the hub and the target again. */
export class Installation implements AsyncDisposable {
  /** Uid of the component. */
  readonly uid: string;
  /** Limits how often the status is written. */
  readonly statusPace = new StatusPace();
  /** Writes first conditions while the component waits for a worker. */
  greeting: { stop(): Promise<void> } | undefined;
  /** Time of the last attempt that repairs drift, by the controller's clock. */
  driftAt = -Infinity;
  /** Limits what follows from changes on the target, which may tell of a change after each attempt: by attempts, and by the objects that they send. */
  readonly repairPace = new Pace({ burst: 600, perSecond: attemptCost });
  /** Number of attempts. */
  attempts = 0;
  /** Generation and version of the last install that ran to its end. The same again is a retry, whose progress is not written. */
  sent: string | undefined;
  /** Time of the next audit, which sends every object again, by the controller's clock. */
  auditAt: number | undefined;
  /** Message of the failure of the hub with which the last attempt ended; undefined when it ended otherwise. */
  hubFailure: string | undefined;
  /** Spokes that share the token of its cluster, as in the last Event. */
  sharedWith = "";
  /** Texts of the Events about the removal, which the next attempts do not repeat. */
  readonly removalEvents = new Set<string>();
  /** Uids of the Jobs whose failure had an Event. */
  readonly toldJobs = new Set<string>();
  /** This process requested the finalizer, and nothing was ever written to the target. */
  isUntouched = false;
  /** This process removed our finalizer. The watch may show the component with it for a moment longer. */
  isReleased = false;
  /** The target was reached at least once by this process. */
  wasReached = false;
  readonly pendingChanges = new PendingChanges();
  /** Resolves when a running retraction is written; see between-attempts.ts. */
  retracting: Promise<void> = Promise.resolve();
  /** The timer of the next retraction. */
  retraction: { readonly dueAt: number; readonly timer: Disposable } | undefined;
  #attempt: Follower | undefined;
  /** Resolves when the last attempt has ended. */
  #ended: Promise<void> = Promise.resolve();
  #writer: StatusWriter | undefined;
  #namespace: { readonly client: KubeClient; readonly namespace: string } | undefined;
  #view: (View & { readonly client: KubeClient; readonly end: AbortController }) | undefined;
  #inventory: Inventory | undefined;
  #isClosed = false;
  #latest: Component | undefined;
  /** How often a restored hub undid our writes. */
  #undone = 0;

  constructor(uid: string) {
    this.uid = uid;
  }

  /** The component after our last write, whose watch event needs no attempt. */
  get latest(): Component | undefined {
    return this.#latest;
  }

  /** An older state of the hub was restored, without our last writes. */
  undo(): void {
    this.#undone += 1;
    this.#latest = undefined;
    this.isReleased = false;
  }

  /** An attempt is running. */
  get isBusy(): boolean {
    return this.#attempt !== undefined;
  }

  /** The status writer of the running attempt; undefined between two attempts. */
  get writer(): StatusWriter | undefined {
    return this.#writer;
  }

  /** The last inventory that this process read or wrote; undefined without one. */
  get inventory(): Inventory | undefined {
    return this.#viewedInventory ?? this.#inventory;
  }

  /** Everything was installed under the anchor, as the open view shows. */
  get isComplete(): boolean {
    return this.#viewedInventory?.complete === true;
  }

  /** This process read or wrote an inventory, or the anchor is lost. */
  get wasInstalled(): boolean {
    return this.inventory !== undefined || this.#view?.memory.state.anchor.kind === "lost";
  }

  /** Identities of the shared objects that are left to another component. `text` is its `holderText`; see neighbours.ts. */
  leftTo(text: string): readonly string[] {
    const left = this.#view?.memory.state.left;
    if (left === undefined || left.size === 0) return [];
    return [...left].filter(([, holder]) => holder === text).map(([id]) => id);
  }

  /** The view that is open, if any. */
  get view(): View | undefined {
    return this.#view;
  }

  /** The view that is open over a client, if any. */
  observationOver(client: KubeClient): Observation | undefined {
    return this.#view?.client === client ? this.#view.observation : undefined;
  }

  /** Runs an attempt with its only status writer, and with a signal that `interrupt` aborts, too. All writes are over when it settles. */
  attempt<T>(
    options: WriteOptions,
    work: (writer: StatusWriter, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const running = this.#runAttempt(options, work, signal);
    this.#ended = Promise.allSettled([running]).then(() => undefined);
    return running;
  }

  async #runAttempt<T>(
    { component, ...deps }: WriteOptions,
    work: (writer: StatusWriter, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    using attempt = new Follower(signal);
    this.#attempt = attempt;
    this.pendingChanges.clear();
    this.attempts += 1;
    const undone = this.#undone;
    const writer = openStatusWriter({ component, pace: this.statusPace }, deps, attempt.signal);
    this.#writer = writer;
    try {
      return await work(writer, attempt.signal);
    } finally {
      this.#writer = undefined;
      await writer.settle();
      this.#keepLatest(writer, undone);
      this.#attempt = undefined;
    }
  }

  /** Writes an outcome while no attempt runs. The writer that it resolves with may still send Events. Rejects when the hub refuses the status. */
  async writeBetweenAttempts(
    outcome: Outcome,
    { component, ...deps }: WriteOptions,
    signal: AbortSignal,
  ): Promise<StatusWriter> {
    const undone = this.#undone;
    const writer = openStatusWriter({ component, pace: this.statusPace }, deps, signal);
    await writer.finish(outcome, signal);
    this.#keepLatest(writer, undone);
    return writer;
  }

  /** Interrupts the running attempt, if any: its component or target has changed. */
  interrupt(): void {
    this.#attempt?.abort(new DOMException("The component has changed", "AbortError"));
  }

  /** The namespace of the installation on a target, read once for each client, because it does not change. */
  async namespaceOn(client: KubeClient, find: () => Promise<string>): Promise<string> {
    if (this.#namespace?.client !== client) this.#namespace = { client, namespace: await find() };
    return this.#namespace.namespace;
  }

  /** The view over a client. Another client than before gets a new view. Rejects with an AbortError after the disposal. */
  async viewOver(
    client: KubeClient,
    open: (memory: InstallationMemory) => Observation,
  ): Promise<View> {
    this.wasReached = true;
    if (this.#view?.client === client) return this.#view;
    await this.closeView();
    // A view that is opened after the disposal would never be closed.
    if (this.#isClosed) throw new DOMException("The installation was closed", "AbortError");
    const memory = new InstallationMemory();
    const end = new AbortController();
    const caches = { causes: new WorkloadCauses(end.signal), jobs: new FailedJobs(end.signal) };
    this.#view = { client, observation: open(memory), memory, end, ...caches };
    return this.#view;
  }

  /** Makes the next attempt send every object again. Without a view it does so anyway. */
  requestAudit(): void {
    this.#view?.memory.become(withAudit);
  }

  /** Closes the watches of the target. */
  async closeView(): Promise<void> {
    const view = this.#view;
    this.#inventory = this.inventory;
    this.#view = undefined;
    view?.end.abort(new DOMException("The target is not looked at any more", "AbortError"));
    await view?.observation[Symbol.asyncDispose]();
  }

  /** Interrupts all work for the component. Resolves when nothing is written for it any more. */
  async stop(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await Promise.all([this.greeting?.stop(), this.retracting, this.#ended]);
  }

  get #viewedInventory(): Inventory | undefined {
    return this.#view && inventoryOf(this.#view.memory.state);
  }

  /** Keeps the component after a write, unless the hub was restored since `undone` was read. */
  #keepLatest({ latest }: StatusWriter, undone: number): void {
    if (undone === this.#undone) this.#latest = latest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.retraction?.timer[Symbol.dispose]();
    this.interrupt();
    await this.closeView();
  }
}
