import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Follower } from "../../access/time/deadline.ts";
import type { Component } from "../../api/component.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { inventoryOf, withAudit } from "../apply/install-state.ts";
import { InstallationMemory } from "../apply/installation-memory.ts";
import { FailedJobs } from "../observe/failed-jobs.ts";
import type { Observation } from "../observe/observation.ts";
import { WorkloadCauses } from "../observe/visible-readiness.ts";
import { AuditTimer } from "../queue/audit-timer.ts";
import { PendingChanges } from "../queue/pending-changes.ts";
import { RepairPace } from "../queue/repair-pace.ts";
import type { Outcome } from "../status/outcome.ts";
import {
  openStatusWriter,
  StatusPace,
  type StatusWriter,
  type WriterDeps,
} from "../status/status-writer.ts";
import { ToldEvents } from "../status/told-events.ts";
import { TimedWrite } from "./timed-write.ts";

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

interface RunningAttempt {
  readonly stop: Follower;
  readonly changes: PendingChanges;
  /** Undefined while the last writes of the attempt end. */
  readonly writer: StatusWriter | undefined;
}

/** Our last writes of a component. A restore of the hub undoes them: a write that was under way then goes into the old ones, which nobody reads. */
interface HubWrites {
  latest: Component | undefined;
  isReleased: boolean;
}

function noHubWrites(): HubWrites {
  return { latest: undefined, isReleased: false };
}

/** What the controller remembers of one component between two attempts. A new process reads it from the hub and the target again. */
export class Installation implements AsyncDisposable {
  /** Uid of the component. */
  readonly uid: string;
  /** Limits how often the status is written. */
  readonly statusPace = new StatusPace();
  /** Writes first conditions while the component waits for a worker. */
  readonly greeting = new TimedWrite();
  /** Takes back what the status claims and the watches contradict; see between-attempts.ts. */
  readonly retraction = new TimedWrite();
  /** Limits how often changes on the target are followed. */
  readonly repairPace = new RepairPace();
  readonly audits = new AuditTimer();
  readonly told = new ToldEvents();
  #attempts = 0;
  #running: RunningAttempt | undefined;
  /** Resolves when the last attempt has ended. */
  #ended: Promise<void> = Promise.resolve();
  #hubWrites: HubWrites = noHubWrites();
  /** Message of the failure of the hub with which the last attempt ended; undefined when it ended otherwise. */
  #hubFailure: string | undefined;
  #isUntouched = false;
  #wasReached = false;
  /** Generation and version of the last install that ran to its end. */
  #installed: string | undefined;
  #namespace: { readonly client: KubeClient; readonly namespace: string } | undefined;
  #view: (View & { readonly client: KubeClient; readonly end: AbortController }) | undefined;
  #inventory: Inventory | undefined;
  #isClosed = false;

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Number of attempts. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The component after our last write, whose watch event needs no attempt. */
  get latest(): Component | undefined {
    return this.#hubWrites.latest;
  }

  /** This process removed our finalizer. The watch may show the component with it for a moment longer. */
  get isReleased(): boolean {
    return this.#hubWrites.isReleased;
  }

  /** Our finalizer was removed. */
  noteReleased(): void {
    this.#hubWrites.isReleased = true;
  }

  /** An older state of the hub was restored, without our last writes. */
  undo(): void {
    this.#hubWrites = noHubWrites();
  }

  /** Notes how the hub took the last attempt: without a failure, or with this one. Returns whether the attempt before ended with another. */
  takeHubFailure(failure: string | undefined): boolean {
    const before = this.#hubFailure;
    this.#hubFailure = failure;
    return failure !== before;
  }

  /** An attempt is running. */
  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** The status writer of the running attempt; undefined between two attempts. */
  get writer(): StatusWriter | undefined {
    return this.#running?.writer;
  }

  /** The changes that came during the running attempt; undefined between two attempts. */
  get pendingChanges(): PendingChanges | undefined {
    return this.#running?.changes;
  }

  /** This process requested the finalizer, and nothing was ever written to the target. */
  get isUntouched(): boolean {
    return this.#isUntouched;
  }

  /** The finalizer is being requested for the first time. Its answer may be lost. */
  noteRequested(): void {
    this.#isUntouched = true;
  }

  /** The component has its finalizer, so that the target may be written to. */
  noteHeld(): void {
    this.#isUntouched = false;
  }

  /** The target was reached at least once by this process. */
  get wasReached(): boolean {
    return this.#wasReached;
  }

  /** The target answered. */
  noteReached(): void {
    this.#wasReached = true;
  }

  /** Whether the last install that ran to its end had this content. The same again is a retry. */
  wasInstalledAs(content: string): boolean {
    return this.#installed === content;
  }

  /** An install ran to its end. */
  noteInstalled(content: string): void {
    this.#installed = content;
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
    using stop = new Follower(signal);
    this.#attempts += 1;
    const hubWrites = this.#hubWrites;
    const writer = openStatusWriter({ component, pace: this.statusPace }, deps, stop.signal);
    const changes = new PendingChanges();
    this.#running = { stop, changes, writer };
    try {
      return await work(writer, stop.signal);
    } finally {
      this.#running = { stop, changes, writer: undefined };
      await writer.settle();
      hubWrites.latest = writer.latest;
      this.#running = undefined;
    }
  }

  /** Writes an outcome while no attempt runs. The writer that it resolves with may still send Events. Rejects when the hub refuses the status. */
  async writeBetweenAttempts(
    outcome: Outcome,
    { component, ...deps }: WriteOptions,
    signal: AbortSignal,
  ): Promise<StatusWriter> {
    const hubWrites = this.#hubWrites;
    const writer = openStatusWriter({ component, pace: this.statusPace }, deps, signal);
    await writer.finish(outcome, signal);
    hubWrites.latest = writer.latest;
    return writer;
  }

  /** Interrupts the running attempt, if any: its component or target has changed. */
  interrupt(): void {
    this.#running?.stop.abort(new DOMException("The component has changed", "AbortError"));
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
    this.noteReached();
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

  /** Stops the greeting. Resolves when nothing is written between two attempts. */
  async beQuiet(): Promise<void> {
    this.greeting[Symbol.dispose]();
    await this.greeting.written();
    await this.retraction.written();
  }

  /** Interrupts all work for the component. Resolves when nothing is written for it any more. */
  async stop(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await Promise.all([this.beQuiet(), this.#ended]);
  }

  get #viewedInventory(): Inventory | undefined {
    return this.#view && inventoryOf(this.#view.memory.state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.retraction[Symbol.dispose]();
    this.interrupt();
    await this.closeView();
  }
}
