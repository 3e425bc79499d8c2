import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Component } from "../../api/component.ts";
import type { Inventory } from "../../installation/inventory.ts";
import { InstallationMemory } from "../apply/installation-memory.ts";
import { FailedJobs } from "../observe/failed-jobs.ts";
import type { Observation } from "../observe/observation.ts";
import { WorkloadCauses } from "../observe/visible-readiness.ts";
import { Awaiting } from "../queue/awaiting.ts";
import { StatusPace, type StatusWriter } from "./status-writer.ts";

/** What is known of one target over one connection. */
export interface View {
  readonly observation: Observation;
  readonly memory: InstallationMemory;
  readonly causes: WorkloadCauses;
  readonly jobs: FailedJobs;
}

/** What the controller remembers of one component between two looks; lost with the process, and then found out again. */
export class Installation implements AsyncDisposable {
  /** Uid of the component. */
  readonly uid: string;
  /** How often its status may be written. */
  readonly statusPace = new StatusPace();
  /** Says that the component was seen, while it waits for a worker. */
  greeting: { stop(): Promise<void> } | undefined;
  /** When drift was last followed up, by the controller's clock. */
  driftAt = -Infinity;
  /** How often it was attempted. */
  attempts = 0;
  /** Generation and version that were sent as a whole; what follows is another try, and no news. */
  sent: string | undefined;
  /** When everything is to be sent again, by the controller's clock. */
  auditAt: number | undefined;
  /** Spokes that share the token of its cluster, as it was told last. */
  sharedWith = "";
  /** What was told of a removal and is not told again when that is attempted again. */
  readonly told = new Set<string>();
  /** Uids of the Jobs of which it was told that they failed. */
  readonly toldJobs = new Set<string>();
  /** This process asked for the finalizer of the component, and certainly wrote nothing to the target: neither did anybody before. */
  isUntouched = false;
  /** A connection to the target was had. */
  wasReached = false;
  readonly awaiting = new Awaiting();
  /** Of the attempt that is running. */
  writer: StatusWriter | undefined;
  /** Resolves when what is being taken back is written; see retraction.ts. */
  retracting: Promise<void> = Promise.resolve();
  /** Runs until what changed must have been told of. */
  retraction: { readonly dueAt: number; readonly timer: Disposable } | undefined;
  #attempt: AbortController | undefined;
  #place: { readonly client: KubeClient; readonly namespace: string } | undefined;
  #view: (View & { readonly client: KubeClient; readonly end: AbortController }) | undefined;
  #inventory: Inventory | undefined;
  #isClosed = false;
  #latest: Component | undefined;
  /** Counts how often what we wrote was undone. */
  #undone = 0;

  constructor(uid: string) {
    this.uid = uid;
  }

  /** The component as our last write left it: its watch event is no news. */
  get latest(): Component | undefined {
    return this.#latest;
  }

  /** Begins to write the component; what that led to is to be given to the answer, which forgets it when the hub was restored meanwhile. */
  writing(): (component: Component) => void {
    const undone = this.#undone;
    return (component) => {
      if (undone === this.#undone) this.#latest = component;
    };
  }

  /** An older state of the hub was restored: what our writes left is no more. */
  undo(): void {
    this.#undone += 1;
    this.#latest = undefined;
  }

  /** An attempt is running. */
  get isBusy(): boolean {
    return this.#attempt !== undefined;
  }

  /** What was known to be installed when somebody last looked; undefined when this process never did. */
  get inventory(): Inventory | undefined {
    return this.#view?.memory.inventory ?? this.#inventory;
  }

  /** Something was installed when somebody last looked, or before its root was lost. */
  get wasInstalled(): boolean {
    const { memory } = this.#view ?? {};
    const isLost = memory?.hadAnchor === true && !memory.hasAnchor;
    return this.inventory !== undefined || isLost;
  }

  /** Identities of what was left to whom such words are for; see neighbours.ts. */
  leftTo(words: string): readonly string[] {
    const left = this.#view?.memory.sharing.left;
    if (left === undefined || left.size === 0) return [];
    return [...left].filter(([, holder]) => holder === words).map(([id]) => id);
  }

  /** The view that is open, if any. */
  get view(): View | undefined {
    return this.#view;
  }

  /** The view that is open over a client, if any. */
  observationOver(client: KubeClient): Observation | undefined {
    return this.#view?.client === client ? this.#view.observation : undefined;
  }

  /** Runs an attempt with a signal that `interrupt` aborts, too. */
  async attempt<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const attempt = new AbortController();
    this.#attempt = attempt;
    this.awaiting.begin();
    this.attempts += 1;
    try {
      return await work(AbortSignal.any([signal, attempt.signal]));
    } finally {
      this.#attempt = undefined;
    }
  }

  /** Ends the attempt that is running, if any: what it was about has changed. */
  interrupt(): void {
    this.#attempt?.abort(new DOMException("The component has changed", "AbortError"));
  }

  /** The namespace of the installation on a target, which is looked for once over each client: nothing moves it meanwhile. */
  async namespaceOn(client: KubeClient, find: () => Promise<string>): Promise<string> {
    if (this.#place?.client !== client) this.#place = { client, namespace: await find() };
    return this.#place.namespace;
  }

  /** The view over a client; another client than before means that nothing is known any more. Rejects with an AbortError after the disposal. */
  async viewOver(
    client: KubeClient,
    open: (memory: InstallationMemory) => Observation,
  ): Promise<View> {
    this.wasReached = true;
    if (this.#view?.client === client) return this.#view;
    await this.closeView();
    // Nobody would close it again.
    if (this.#isClosed) throw new DOMException("The installation was closed", "AbortError");
    const memory = new InstallationMemory();
    const end = new AbortController();
    const known = { causes: new WorkloadCauses(end.signal), jobs: new FailedJobs(end.signal) };
    this.#view = { client, observation: open(memory), memory, end, ...known };
    return this.#view;
  }

  /** Makes the next look send again what seems to be right; without a view everything is found out anew anyway. */
  requestAudit(): void {
    if (this.#view !== undefined) this.#view.memory.isAuditDue = true;
  }

  /** Stops to look at the target. */
  async closeView(): Promise<void> {
    const view = this.#view;
    this.#inventory = this.inventory;
    this.#view = undefined;
    view?.end.abort(new DOMException("The target is not looked at any more", "AbortError"));
    await view?.observation[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.retraction?.timer[Symbol.dispose]();
    this.interrupt();
    await this.closeView();
  }
}
