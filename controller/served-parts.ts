import { abortable } from "../access/deadline.ts";
import type { KubeClient } from "../access/kube/kube-client.ts";
import type { References } from "../access/providers/references.ts";
import type { Spokes } from "../access/spokes/spokes.ts";
import type { Component } from "../api/component.ts";
import { type Part, shardOf } from "../api/shards.ts";
import type { Components } from "./components.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { EventRecorder } from "./events.ts";
import type { PartWork } from "./leader/leader.ts";
import type { Log } from "./log.ts";
import { type Clock, withClockTimeout } from "./queue/clock.ts";
import type { ReconcileDeps } from "./reconcile/reconcile-deps.ts";
import { FleetSets } from "./sets/fleet-sets.ts";

export interface ServedPartsOptions {
  /** A client of the hub that may write while this process holds a part. The signal ends its writes. */
  readonly hubFor: (part: Part, signal: AbortSignal) => KubeClient;
  readonly components: Components;
  readonly dispatcher: Pick<Dispatcher, "serve" | "leave">;
  readonly spokes: Pick<Spokes, "disconnect">;
  /** Absent: every component may use every ClusterProfile. */
  readonly references?: References;
  readonly shards: number;
  /** Roll KnativeServingSets and KnativeEventingSets out. */
  readonly sets: boolean;
  /** Whether another process may have written before. */
  readonly mayFollowAnother: boolean;
  /** Called before the first part is served. */
  readonly start: () => void;
  /** Called after each change of the parts. */
  readonly onChange: (shards: number) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

// The Lease is renewed over another connection. Without this limit, a leader that cannot read the components would keep it for ever.
const refreshLimitMs = 30_000;
// An attempt ends in a moment, or at the end of a request to a slow cluster.
const leaveLimitMs = 60_000;

interface ServedPart extends Pick<ReconcileDeps, "hub" | "events"> {
  /** Ends the writes of this part to the hub. */
  readonly stop: AbortController;
}

/** The parts of the fleet that this process serves now, and what writes to the hub for them. */
export class ServedParts implements PartWork, AsyncDisposable {
  readonly #options: ServedPartsOptions;
  readonly #served = new Map<Part, ServedPart>();
  #sets: FleetSets | undefined;
  #isStarted = false;
  #isRefreshing = false;

  constructor(options: ServedPartsOptions) {
    this.#options = options;
  }

  /** The components are being listed again. */
  get isRefreshing(): boolean {
    return this.#isRefreshing;
  }

  /** Undefined while another process rolls sets out, or none does. */
  get sets(): FleetSets | undefined {
    return this.#sets;
  }

  /** What writes to the hub for a shard that is served. */
  of(part: Part): Pick<ReconcileDeps, "hub" | "events"> {
    const served = this.#served.get(part);
    if (served === undefined) throw new Error(`This process does not serve the part ${part}`);
    return served;
  }

  /** Writes Events for a component, if this process serves it. */
  eventsFor({ spec }: Component): Pick<EventRecorder, "record"> | undefined {
    const ref = spec?.clusterProfileRef;
    const target = ref === undefined ? "" : `${ref.namespace}/${ref.name}`;
    return this.#served.get(shardOf(target, this.#options.shards))?.events;
  }

  async begin(parts: readonly Part[], signal: AbortSignal): Promise<void> {
    const { hubFor, dispatcher, mayFollowAnother, start, log } = this.#options;
    if (mayFollowAnother) await this.#refreshComponents(signal);
    for (const part of parts) {
      const stop = new AbortController();
      const hub = hubFor(part, stop.signal);
      const { clock } = this.#options;
      this.#served.set(part, { hub, stop, events: new EventRecorder({ client: hub, clock, log }) });
    }
    if (!this.#isStarted) start();
    this.#isStarted = true;
    for (const part of parts) {
      if (part === "fleet") this.#startSets(signal);
      else dispatcher.serve(part);
    }
    this.#noteChange();
    log.info({ components: [...this.#options.components.all()].length, parts }, "Reconciling");
  }

  async end(part: Part): Promise<void> {
    const { clock, dispatcher, spokes, shards, log } = this.#options;
    using limit = withClockTimeout(clock, leaveLimitMs, new AbortController().signal);
    if (part === "fleet") await this.#stopSets();
    else await abortable(dispatcher.leave(part), limit.signal);
    this.#stop(part);
    if (part !== "fleet") await spokes.disconnect((spoke) => shardOf(spoke, shards) === part);
    this.#noteChange();
    log.info({ part }, "Ended the work of a part");
  }

  /** The work of the shards must have ended before. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopSets();
    for (const part of this.#served.keys()) this.#stop(part);
  }

  #stop(part: Part): void {
    this.#served
      .get(part)
      ?.stop.abort(new DOMException("The part is not served any more", "AbortError"));
    this.#served.delete(part);
  }

  #startSets(signal: AbortSignal): void {
    const { sets } = this.#options;
    if (sets) this.#sets = new FleetSets({ ...this.#options, ...this.of("fleet") }, signal);
  }

  async #stopSets(): Promise<void> {
    await this.#sets?.[Symbol.asyncDispose]();
    this.#sets = undefined;
  }

  #noteChange(): void {
    this.#options.onChange([...this.#served.keys()].filter((part) => part !== "fleet").length);
  }

  /** Lists the components again. A watch that lags behind may not show the last writes of the previous leader, and a removed installation would come back. */
  async #refreshComponents(signal: AbortSignal): Promise<void> {
    this.#isRefreshing = true;
    using limit = withClockTimeout(this.#options.clock, refreshLimitMs, signal);
    try {
      await abortable(this.#options.components.refresh(), limit.signal);
    } catch (cause) {
      signal.throwIfAborted();
      const text = `The hub did not list the components within ${refreshLimitMs / 1_000} s: another replica may lead`;
      throw new Error(text, { cause });
    }
    this.#isRefreshing = false;
  }
}
