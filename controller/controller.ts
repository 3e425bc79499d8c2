import { Follower } from "../access/time/deadline.ts";
import type { Component } from "../api/component.ts";
import { targetId } from "../api/keys.ts";
import { Preparations } from "../installation/desired.ts";
import { namesChangeable } from "../render/release/user-manifests.ts";
import { hasFinalizer, profileOfTarget } from "./component-identity.ts";
import { Components } from "./components.ts";
import type { ControllerDeps, ControllerSettings } from "./controller-deps.ts";
import { Dispatcher, type WorkOptions } from "./dispatcher.ts";
import { Guards } from "./guard/guards.ts";
import { type HealthServer, type ListenAddress, startHealthServer } from "./health.ts";
import { readHubId } from "./hub-id.ts";
import type { Leadership } from "./leader/leader.ts";
import { createMetrics, type Metrics } from "./metrics/metrics.ts";
import { openPull, type PullDeps } from "./pull/pull-deps.ts";
import { Neighbours } from "./reconcile/neighbours.ts";
import { ServedParts } from "./served-parts.ts";
import { TargetConnections } from "./target/target-connection.ts";

export interface Controller extends AsyncDisposable {
  /** Aborted with an Error when the controller must end: the leadership was lost, or the new leader cannot read the components. */
  readonly failed: AbortSignal;
  /** Port of the health server, if there is one. */
  readonly healthPort: number | undefined;
}

/**
 * Starts to watch the hub at once, waits for the leadership, lists the components again, and then reconciles until it is disposed or the signal is aborted. Waits for a hub that does
 * not answer. Throws FleetError `ConfigInvalid` when it cannot listen on the health address.
 */
export async function startController(
  deps: ControllerDeps,
  settings: ControllerSettings,
  signal: AbortSignal,
): Promise<Controller> {
  const controller = new FleetController(deps, settings, signal);
  try {
    await controller.listen(settings.healthAddress);
  } catch (error) {
    await controller[Symbol.asyncDispose]();
    throw error;
  }
  controller.start();
  return controller;
}

class FleetController implements Controller {
  readonly #deps: ControllerDeps;
  readonly #settings: ControllerSettings;
  readonly #stop = new AbortController();
  readonly #stopped: AbortSignal;
  readonly #failed = new AbortController();
  readonly #components: Components;
  readonly #dispatcher: Dispatcher;
  readonly #metrics: Metrics;
  readonly #listening = new DisposableStack();
  #isLeaseInTrouble = false;
  #hubId: string | undefined;
  #health: HealthServer | undefined;
  #leadership: Leadership | undefined;
  #parts: ServedParts | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: ControllerDeps, settings: ControllerSettings, signal: AbortSignal) {
    const { clock, spokes, references, manifests, requests, path } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.#stopped = new Follower(signal, this.#stop.signal).signal;
    this.#metrics = createMetrics({
      clock,
      queueDepth: () => this.#dispatcher.queueDepth,
      activeWorkers: () => this.#dispatcher.activeWorkers,
      concurrency: settings.concurrency,
      shards: settings.shards,
      connectedSpokes: () => this.#connectedSpokes(),
      components: () => [...this.#components.all()].filter((one) => this.#dispatcher.serves(one)),
      sets: () => this.#parts?.sets?.all() ?? [],
      answersOf: (set) => this.#parts?.sets?.answersOf(set) ?? new Map(),
      workloads: () => this.#parts?.sets?.workloads() ?? new Map(),
      discovered: () => this.#parts?.discovery?.states() ?? [],
      requests,
      areGrantsValid: () => references?.isValid,
      ...(path === undefined ? {} : { path }),
    });
    this.#components = this.#watchComponents();
    this.#dispatcher = new Dispatcher({
      ...deps,
      ...settings,
      components: this.#components,
      observer: this.#metrics,
    });
    this.#listening.use(manifests.onChange(() => this.#dispatcher.requeue(namesChangeable)));
    this.#listening.use(spokes.onChange((ref) => this.#dispatcher.spokeChanged(ref)));
    this.#listening.use(
      references?.onChange((before) => {
        this.#dispatcher.referencesChanged(references, before);
        this.#parts?.sets?.referencesChanged();
      }),
    );
  }

  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  async listen(address: ListenAddress | undefined): Promise<void> {
    if (address === undefined) return;
    const deps = { metrics: this.#metrics, waitingFor: () => this.#waitingFor() };
    this.#health = await startHealthServer(address, deps);
    this.#deps.log.info(
      { address: `${address.host ?? ""}:${this.#health.port}` },
      "Serving health and metrics",
    );
  }

  start(): void {
    this.#running = this.#run(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stopped.aborted) this.#failed.abort(error);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException("The controller stops", "AbortError"));
    this.#listening[Symbol.dispose]();
    this.#components[Symbol.dispose]();
    await this.#running;
    await this.#dispatcher[Symbol.asyncDispose]();
    await this.#parts?.[Symbol.asyncDispose]();
    // Last, because another replica begins when the leadership ends, and nothing may be written then.
    await this.#leadership?.[Symbol.asyncDispose]();
    await this.#health?.[Symbol.asyncDispose]();
    this.#deps.log.info({}, "Stopped");
  }

  #watchComponents(): Components {
    const { hub: client, clock, log } = this.#deps;
    return new Components(
      {
        client,
        clock,
        log,
        onChange: (component, before) => {
          this.#dispatcher.componentChanged(component, before);
          this.#parts?.sets?.componentChanged(component, before);
          this.#parts?.questions?.componentChanged(component);
        },
        onDelete: (component) => {
          this.#dispatcher.componentDeleted(component);
          this.#parts?.sets?.componentDeleted(component);
          this.#parts?.questions?.componentDeleted(component);
          this.#releaseUnused(component);
        },
        onListed: (kind, listing) => this.#dispatcher.componentsListed(kind, listing),
      },
      this.#stopped,
    );
  }

  async #run(signal: AbortSignal): Promise<void> {
    const components = this.#components;
    const reading = readHubId(this.#deps.hub, this.#deps, signal);
    const [hubId] = await Promise.all([reading, components.synced()]);
    this.#hubId = hubId;
    const leadership = await this.#lead(signal);
    const parts = new ServedParts({
      ...this.#deps,
      ...this.#settings,
      components,
      dispatcher: this.#dispatcher,
      mayFollowAnother: leadership.mayFollowAnother,
      start: () => this.#dispatcher.start(this.#workOptions(hubId, parts, leadership)),
      onChange: (shards) => this.#metrics.setShardsHeld(shards),
    });
    this.#parts = parts;
    if (leadership.share === undefined) await parts.begin([0, "fleet"], signal);
    else await leadership.share(parts, signal);
  }

  #workOptions(hubId: string, parts: ServedParts, leadership: Leadership): WorkOptions {
    const { clock, log, path } = this.#deps;
    const { anchorProtection, anchorProtectionCrds, spokeNamespace, pollMs } = this.#settings;
    const deps = {
      ...this.#deps,
      ...(path === undefined ? {} : { tokens: path.tokens }),
      guards: new Guards({
        clock,
        log,
        hubId,
        protection: anchorProtection,
        crds: anchorProtectionCrds,
        onChange: (ref) => this.#dispatcher.spokeChanged(ref),
        onEvent: (component, event) =>
          void parts.eventsFor(component)?.record(component, event, this.#stop.signal),
      }),
      guardsCrds: anchorProtectionCrds,
      spokeNamespace,
      pollMs,
      hubId,
      components: this.#components,
      metrics: this.#metrics,
      preparations: new Preparations(),
      connections: new TargetConnections(clock),
      neighbours: new Neighbours(clock),
      ...(parts.claims === undefined ? {} : { clusterClaims: parts.claims }),
      ...this.#openPull(),
    };
    return {
      deps,
      mayWrite: (shard) => leadership.mayWrite(shard),
      ofShard: (shard) => parts.of(shard),
    };
  }

  #openPull(): Pick<PullDeps, "pull"> {
    const { hub: client, clock, log } = this.#deps;
    const requeue = this.#dispatcher.requeue.bind(this.#dispatcher);
    return openPull(this.#settings.pull, { client, clock, log, requeue }, this.#stopped);
  }

  /** Waits until this process is the leader. */
  async #lead(signal: AbortSignal): Promise<Leadership> {
    const onTrouble = (isInTrouble: boolean): void => void (this.#isLeaseInTrouble = isInTrouble);
    // A leader writes the status of a component first.
    const mayHaveLeader = (): boolean =>
      [...this.#components.all()].some(
        (component) => hasFinalizer(component) || component.status !== undefined,
      );
    const leadership = await this.#deps.lead({ onTrouble, mayHaveLeader }, signal);
    this.#leadership = leadership;
    leadership.lost.addEventListener("abort", () => {
      this.#metrics.setShardsHeld(0);
      this.#failed.abort(leadership.lost.reason);
    });
    return leadership;
  }

  #waitingFor(): readonly string[] {
    return [
      ...(this.#components.areSynced && this.#parts?.isRefreshing !== true
        ? []
        : ["the components on the hub"]),
      ...(this.#hubId === undefined ? ["the identity of the hub"] : []),
      ...(this.#isLeaseInTrouble ? ["the Lease, which cannot be read or written"] : []),
    ];
  }

  /** The number of spokes that have components and are connected. */
  #connectedSpokes(): number {
    const profiles = [...this.#components.targets()].flatMap((one) => profileOfTarget(one) ?? []);
    return profiles.filter((ref) => this.#deps.spokes.state(ref)?.kind === "connected").length;
  }

  /** Closes the connection to a spoke after its last component. */
  #releaseUnused(component: Component): void {
    const ref = component.spec?.clusterProfileRef;
    if (ref === undefined || this.#components.isUsed(targetId(component))) return;
    this.#deps.spokes.release(ref);
    void this.#parts?.releaseCluster(ref);
  }
}
