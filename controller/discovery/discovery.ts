import type { KubeClient } from "../../access/kube/kube-client.ts";
import { LinePace, logFailure } from "../../access/log.ts";
import { Follower } from "../../access/time/deadline.ts";
import { isSameJson } from "../../api/fields.ts";
import type { Next } from "../queue/delays.ts";
import { WorkQueue } from "../queue/queue.ts";
import { ProfileKeeper, type ProfileKeeperOptions, type ProfileState } from "./keep-profile.ts";
import { type PlannedProfile, planProfiles } from "./plan.ts";
import { SourceCaches } from "./source-caches.ts";
import { type DiscoverySettings, managers } from "./source.ts";

export interface DiscoveryOptions extends Omit<ProfileKeeperOptions, "caches"> {
  readonly hub: Pick<KubeClient, "get" | "list" | "watch" | "apply" | "remove">;
  readonly settings: DiscoverySettings;
}

/** How a profile stands, for the metrics. */
export interface DiscoveredState {
  readonly manager: string;
  readonly state: ProfileState;
}

/** Changes within this time are planned together. */
const planMs = 100;
/** A profile that could not be written is tried again after this time at the latest. */
const retryMs = 60_000;
const leastRetryMs = 5_000;
const workersAtOnce = 16;
// A cluster that has not answered after this time gives its place to another one.
const slowMs = 1_000;

/**
 * Writes ClusterProfiles from kubeconfig Secrets and from Clusters of Cluster API, and keeps the health of those that `register` made. Exists while this process holds the part
 * `fleet`; everything that has to outlive it is in the objects on the hub. It never writes a profile of another manager, and never uninstalls anything.
 */
export class Discovery implements AsyncDisposable {
  readonly #options: DiscoveryOptions;
  readonly #stop = new AbortController();
  readonly #caches: SourceCaches;
  readonly #keeper: ProfileKeeper;
  readonly #queue: WorkQueue;
  readonly #states = new Map<string, DiscoveredState>();
  #plan: ReadonlyMap<string, PlannedProfile> = new Map();
  #planning: Disposable | undefined;
  readonly #lines: LinePace;

  constructor(options: DiscoveryOptions, signal: AbortSignal) {
    this.#options = options;
    const { hub, settings, clock, log, random } = options;
    this.#lines = new LinePace(clock);
    this.#queue = new WorkQueue({
      work: (key, ended) => this.#work(key, ended),
      onBug: (key, err) => log.error({ profile: key, err }, "A look at a source failed"),
      concurrency: workersAtOnce,
      laneConcurrency: 1,
      slowMs,
      clock,
      random,
    });
    const onChange = (): void => this.#changed();
    const onProfile = (key: string): void => {
      if (this.#plan.has(key)) this.#queue.add(key, key);
    };
    const stopped = new Follower(signal, this.#stop.signal).signal;
    this.#caches = new SourceCaches({ hub, clock, settings, log, onChange, onProfile }, stopped);
    this.#keeper = new ProfileKeeper({ ...options, caches: this.#caches });
    this.#queue.start();
    log.info({ producers: settings.producers }, "Discovering clusters");
  }

  /** The states of all profiles that discovery knows. */
  states(): Iterable<DiscoveredState> {
    return this.#states.values();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException("Discovery has ended", "AbortError"));
    this.#planning?.[Symbol.dispose]();
    this.#caches[Symbol.dispose]();
    await this.#queue[Symbol.asyncDispose]();
  }

  #changed(): void {
    if (this.#stop.signal.aborted) return;
    this.#planning ??= this.#options.clock.after(planMs, () => {
      this.#planning = undefined;
      this.#replan();
    });
  }

  #replan(): void {
    if (!this.#caches.hasProfiles) return;
    const before = this.#plan;
    this.#plan = planProfiles({
      sources: this.#caches.sources(),
      profiles: this.#caches.profiles.values(),
      namespace: this.#options.settings.namespace,
      complete: this.#caches.complete(),
    });
    for (const key of new Set([...before.keys(), ...this.#plan.keys()])) {
      if (!isSameJson(before.get(key), this.#plan.get(key))) this.#queue.add(key, key);
    }
  }

  async #work(key: string, signal: AbortSignal): Promise<Next> {
    const planned = this.#plan.get(key);
    if (planned === undefined) {
      this.#states.delete(key);
      this.#keeper.forget(key);
      return { kind: "done" };
    }
    try {
      const { state, next } = await this.#keeper.keep(key, planned, signal);
      this.#setState(key, planned, state);
      return next;
    } catch (err) {
      if (signal.aborted) return { kind: "done" };
      this.#setState(key, planned, "failed");
      this.#warn(key, err);
      return { kind: "backoff", leastMs: leastRetryMs, mostMs: retryMs };
    }
  }

  /** A missing namespace or right concerns all profiles in it, which are not logged one by one. */
  #warn(key: string, err: unknown): void {
    const [namespace = ""] = key.split("/");
    const leftOut = this.#lines.admit(namespace);
    if (leftOut === undefined) return;
    const fields = { profile: key, leftOut, err };
    const message = "Could not write a discovered ClusterProfile";
    logFailure(this.#options.log, "warn", fields, message);
  }

  #setState(key: string, planned: PlannedProfile, state: ProfileState): void {
    const { producer } = "source" in planned ? planned.source : planned;
    this.#states.set(key, { manager: managers[producer], state });
  }
}
