import type { KubeClient } from "../access/kube/kube-client.ts";
import { logFailure } from "../access/log.ts";
import type { References } from "../access/providers/references.ts";
import type { Spokes } from "../access/spokes/spokes.ts";
import { type Clock, delay } from "../access/time/clock.ts";
import { abortable } from "../access/time/deadline.ts";
import { Deadline } from "../access/time/deadline.ts";
import type { ClusterProfileRef, Component } from "../api/component.ts";
import { nameId } from "../api/keys.ts";
import { type Part, shardOf } from "../api/shards.ts";
import type { SpokeNamespaceMode } from "../installation/installation-namespace.ts";
import type { Releases } from "../render/release/releases.ts";
import type { Components } from "./components.ts";
import { Discovery, type DiscoveryOptions } from "./discovery/discovery.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { EventRecorder } from "./events.ts";
import type { PartWork } from "./leader/leader.ts";
import type { Log } from "./log.ts";
import { pulledJobs } from "./pull/check-works.ts";
import type { PullSettings } from "./pull/pull-deps.ts";
import type { ReconcileDeps } from "./reconcile/reconcile-deps.ts";
import type { FleetSetsOptions } from "./sets/fleet-sets-options.ts";
import { FleetSets } from "./sets/fleet-sets.ts";
import { ClusterClaims } from "./target/cluster-claims.ts";
import { HubQuestions } from "./verify/hub-questions.ts";

export interface ServedPartsOptions {
  /** A client of the hub that may write while this process holds a part. The signal ends its writes. */
  readonly hubFor: (part: Part, signal: AbortSignal) => KubeClient;
  readonly components: Components;
  readonly dispatcher: Pick<Dispatcher, "serve" | "leave" | "spokeChanged">;
  readonly hub: Pick<KubeClient, "list" | "watch">;
  /** Namespace of the Leases, in which clusters are claimed where there are several shards. */
  readonly leaseNamespace: string;
  readonly spokes: Pick<Spokes, "acquire" | "release" | "disconnect">;
  /** Connections over which the checks of rollouts reach clusters of all shards. Absent: there is one shard, and `spokes` serves. */
  readonly checkSpokes?: Pick<Spokes, "acquire" | "release">;
  /** Absent: every component may use every ClusterProfile. */
  readonly references?: References;
  /** Asks the servers that checks of rollouts name. */
  readonly checkSource: FleetSetsOptions["checkSource"];
  readonly releases: Releases;
  readonly rendering: ReconcileDeps["rendering"];
  readonly shards: number;
  /** Roll KnativeServingSets and KnativeEventingSets out. */
  readonly sets: boolean;
  /** Sets of a namespace that are rolled out. */
  readonly maxSetsPerNamespace: number;
  /** Absent: no cluster may pull. */
  readonly pull?: Pick<PullSettings, "namespaces">;
  readonly spokeNamespace: SpokeNamespaceMode;
  /** Absent: no ClusterProfiles are written. */
  readonly discovery?: Pick<DiscoveryOptions, "settings" | "check">;
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
const releaseRetryMs = 10_000;

interface ServedPart extends Pick<ReconcileDeps, "hub" | "events"> {
  /** Ends the writes of this part to the hub. */
  readonly stop: AbortController;
}

/** The parts of the fleet that this process serves now, and what writes to the hub for them. */
export class ServedParts implements PartWork, AsyncDisposable {
  readonly #options: ServedPartsOptions;
  readonly #served = new Map<Part, ServedPart>();
  /** Undefined: one process serves all clusters. */
  readonly claims: ClusterClaims | undefined;
  readonly #stop = new AbortController();
  #sets: FleetSets | undefined;
  #questions: HubQuestions | undefined;
  #discovery: Discovery | undefined;
  #isStarted = false;
  #isRefreshing = false;

  constructor(options: ServedPartsOptions) {
    this.#options = options;
    const { shards, dispatcher, leaseNamespace: namespace } = options;
    const onFree = (ref: ClusterProfileRef): void => dispatcher.spokeChanged(ref);
    const hubFor = (profile: ClusterProfileRef): KubeClient => this.of(this.#shardOf(profile)).hub;
    const claims = { ...options, namespace, onFree, hubFor };
    this.claims = shards > 1 ? new ClusterClaims(claims, this.#stop.signal) : undefined;
  }

  /** The components are being listed again. */
  get isRefreshing(): boolean {
    return this.#isRefreshing;
  }

  /** Undefined while another process answers the hub of this cluster. */
  get questions(): HubQuestions | undefined {
    return this.#questions;
  }

  /** Undefined while another process rolls sets out, or none does. */
  get sets(): FleetSets | undefined {
    return this.#sets;
  }

  /** Undefined while another process discovers clusters, or none does. */
  get discovery(): Discovery | undefined {
    return this.#discovery;
  }

  /** What writes to the hub for a shard that is served. */
  of(part: Part): Pick<ReconcileDeps, "hub" | "events"> {
    const served = this.#served.get(part);
    if (served === undefined) throw new Error(`This process does not serve the part ${part}`);
    return served;
  }

  /** Writes Events for a component, if this process serves it. */
  eventsFor({ spec }: Component): Pick<EventRecorder, "record"> | undefined {
    return this.#served.get(this.#shardOf(spec?.clusterProfileRef))?.events;
  }

  /** Gives a cluster up after its last component, if this process serves it. */
  async releaseCluster(profile: ClusterProfileRef): Promise<void> {
    const { clock, log } = this.#options;
    const served = this.#served.get(this.#shardOf(profile));
    for (; this.claims !== undefined && served?.stop.signal.aborted === false;) {
      const { signal } = served.stop;
      try {
        await this.claims.release(profile, (key) => this.#options.components.isUsed(key), signal);
        return;
      } catch (err) {
        const { namespace, name } = profile;
        if (!signal.aborted)
          logFailure(log, "warn", { namespace, name, err }, "Could not give a cluster up");
        await delay(clock, releaseRetryMs, signal).catch(() => undefined);
      }
    }
  }

  async begin(parts: readonly Part[], signal: AbortSignal): Promise<void> {
    const { hubFor, dispatcher, mayFollowAnother, start, log } = this.#options;
    if (mayFollowAnother) await this.#refreshComponents(signal);
    for (const part of parts) {
      const stop = new AbortController();
      const hub = hubFor(part, stop.signal);
      const { clock } = this.#options;
      const { signal: until } = stop;
      const events = new EventRecorder({ client: hub, clock, log, signal: until });
      this.#served.set(part, { hub, stop, events });
    }
    await this.#sweepClaims(parts, signal);
    if (!this.#isStarted) start();
    this.#isStarted = true;
    for (const part of parts) {
      if (part === "fleet") this.#startFleetWork(signal);
      else dispatcher.serve(part);
    }
    this.#noteChange();
    log.info({ components: [...this.#options.components.all()].length, parts }, "Reconciling");
  }

  async end(part: Part): Promise<void> {
    const { spokes, shards, log } = this.#options;
    if (part === "fleet") await this.#stopFleetWork();
    else await this.#leave(part);
    const isLeft = (spoke: string): boolean => shardOf(spoke, shards) === part;
    this.claims?.forget(isLeft);
    this.#stopWrites(part);
    if (part !== "fleet") await spokes.disconnect(isLeft);
    this.#noteChange();
    log.info({ part }, "Ended the work of a part");
  }

  /** Waits until the attempts of a shard have ended, for a while: then their connections are cut, and the shard is not written for any more. */
  async #leave(shard: number): Promise<void> {
    const { clock, dispatcher, log } = this.#options;
    using limit = new Deadline(clock, leaveLimitMs, new AbortController().signal);
    try {
      await abortable(dispatcher.leave(shard), limit.signal);
    } catch (err) {
      if (!limit.signal.aborted) throw err;
      log.warn({ part: shard }, "The work of a part did not end in time");
    }
  }

  /** The work of the shards must have ended before. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopFleetWork();
    this.#stop.abort(new DOMException("The controller stops", "AbortError"));
    for (const part of this.#served.keys()) this.#stopWrites(part);
  }

  #shardOf(profile: ClusterProfileRef | undefined): number {
    const target = profile === undefined ? "" : nameId(profile);
    return shardOf(target, this.#options.shards);
  }

  /** Gives clusters up that a replica did not give up before it ended. */
  async #sweepClaims(parts: readonly Part[], signal: AbortSignal): Promise<void> {
    const { shards, log } = this.#options;
    const isServed = (profile: string): boolean => parts.includes(shardOf(profile, shards));
    const isUsed = (profile: string): boolean => this.#options.components.isUsed(profile);
    try {
      await this.claims?.sweep({ isServed, isUsed }, signal);
    } catch (err) {
      signal.throwIfAborted();
      logFailure(log, "warn", { err }, "Could not give up clusters without components");
    }
  }

  #stopWrites(part: Part): void {
    this.#served
      .get(part)
      ?.stop.abort(new DOMException("The part is not served any more", "AbortError"));
    this.#served.delete(part);
  }

  #startFleetWork(signal: AbortSignal): void {
    const { sets, discovery, spokes: usual, checkSpokes } = this.#options;
    const deps = { ...this.#options, ...this.of("fleet"), spokes: checkSpokes ?? usual };
    const onUnused = (ref: ClusterProfileRef): void => checkSpokes?.release(ref);
    const jobsOf = (component: Component, until: AbortSignal) => pulledJobs(component, deps, until);
    if (sets) this.#sets = new FleetSets({ ...deps, onUnused, pulledJobs: jobsOf }, signal);
    // Who rolls sets out is a hub. Only a controller on a pulled cluster answers questions.
    else this.#questions = new HubQuestions(deps);
    if (discovery === undefined) return;
    const isUsed = (profile: string): boolean => this.#options.components.isUsed(profile);
    this.#discovery = new Discovery({ ...deps, ...discovery, isUsed }, signal);
  }

  async #stopFleetWork(): Promise<void> {
    this.#questions?.[Symbol.dispose]();
    this.#questions = undefined;
    await this.#sets?.[Symbol.asyncDispose]();
    await this.#discovery?.[Symbol.asyncDispose]();
    this.#sets = undefined;
    this.#discovery = undefined;
  }

  #noteChange(): void {
    this.#options.onChange([...this.#served.keys()].filter((part) => part !== "fleet").length);
  }

  /** Lists the components again. A watch that lags behind may not show the last writes of the previous leader, and a removed installation would come back. */
  async #refreshComponents(signal: AbortSignal): Promise<void> {
    this.#isRefreshing = true;
    using limit = new Deadline(this.#options.clock, refreshLimitMs, signal);
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
