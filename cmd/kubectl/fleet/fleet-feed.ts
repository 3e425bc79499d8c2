import { pause } from "../../../access/time/clock.ts";
import { Follower, isAborted, withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import type { FleetSet } from "../../../api/fleet-set.ts";
import { targetId } from "../../../api/keys.ts";
import { isNarrowed, limitsOf } from "../action.ts";
import { failureOf } from "../failure.ts";
import { type ControllerFacts, readControllerFacts } from "../hub/controller-view.ts";
import { watchHub } from "../hub/hub-changes.ts";
import { listInstallations } from "../hub/installations.ts";
import { setItemOf, setsBeside } from "../hub/set-view.ts";
import { stampAt } from "../output/report.ts";
import { missingNames, type Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { mapLimited, readClusters, type ReadLimits } from "../spokes/read-clusters.ts";
import type { SpokeReading } from "../spokes/spoke-facts.ts";
import type { Fleet } from "./fleet.ts";
import { type StatusItem, statusItemOf } from "./status-item.ts";
import { controllerOf, type FleetStatus, fleetStatusOf, isAsked } from "./status.ts";

/** The fleet at one moment. */
export interface FleetState {
  readonly report: FleetStatus;
  /** The fleet sets; null: they are not asked for, or may not be read. */
  readonly sets: readonly FleetSet[] | null;
  /** When the hub answered last. */
  readonly hubReadAt: Date;
  /** When the last round through the clusters ended; null before the first one, and without live view. */
  readonly spokesReadAt: Date | null;
  /** The round that is under way. */
  readonly round: { readonly done: number; readonly total: number } | null;
  /** Why the hub cannot be read now; the report is then as old as `hubReadAt`. */
  readonly trouble: string | null;
}

/** One installation: what the hub has of it, and what was read of its cluster; undefined: nothing yet. */
export interface Installation {
  readonly component: Component;
  readonly reading: SpokeReading | undefined;
  /** Its row in the report. */
  readonly item: StatusItem;
}

/** The fleet, kept up to date while the screen is open. */
export interface FleetFeed {
  readonly state: () => FleetState;
  /** The installations of the report, as they were read. */
  readonly installations: () => readonly Installation[];
  /** Reads hub and clusters anew, at once. */
  readonly refresh: () => void;
  /** Resolves when every cluster was read once; never rejects. */
  readonly readOnce: Promise<void>;
}

interface FeedOptions {
  /** False: the fleet is read once, as a recorded fleet always is. */
  readonly watch: boolean;
  readonly onChange: () => void;
}

/** What the feed reads. */
interface Source {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly limits: ReadLimits;
  readonly now: () => Date;
  /** When the fleet was recorded; undefined: it is asked now. */
  readonly recordedAt: Date | undefined;
}

const paceMs = 10_000;
const troublePaceMs = 3_000;
/** Least time between the starts of two rounds through clusters, because a rollout changes its component many times a second. */
const shortestRoundMs = 3_000;

/**
 * Lists the installations, and keeps them up to date until the signal of the fleet aborts. The hub is listed again after a change. All clusters are read 8 to 12
 * seconds after the last round, a cluster with a changed component sooner. Rejects when the hub cannot be read at the start; later the state has the
 * failure, and the hub is tried again.
 */
export async function openFleetFeed(fleet: Fleet, options: FeedOptions): Promise<FleetFeed> {
  const { flags, now, signal } = fleet;
  const source = {
    access: await fleet.lastingAccess(),
    selection: await fleet.selection(),
    limits: limitsOf(flags, undefined),
    now,
    recordedAt: flags.recorded?.recordedAt,
  };
  return new Feed(fleet, source, options, await readHub(source, undefined, signal));
}

/** What the hub says. */
interface HubFacts {
  readonly components: readonly Component[];
  /** Null: they are not asked for, or may not be read. */
  readonly sets: readonly FleetSet[] | null;
  /** Undefined: not known. */
  readonly working: ControllerFacts | undefined;
}

// A rollout changes components many times a second, and a hub may have thousands of bindings.
const leasesPaceMs = 5_000;

/** `known`: what was read of the controller a moment ago. */
async function readHub(
  { access, selection, now, recordedAt }: Source,
  known: Pick<HubFacts, "working"> | undefined,
  signal: AbortSignal,
): Promise<HubFacts> {
  const at = { timeMs: (recordedAt ?? now()).getTime(), isRecorded: recordedAt !== undefined };
  const late = withTimeout(systemClock, access.hubTimeoutMs, signal);
  const [components, sets, working] = await Promise.all([
    listInstallations(access, selection, signal),
    isNarrowed(selection) ? null : setsBeside(access, selection, signal),
    known === undefined ? readControllerFacts(access.hub, at, late) : known.working,
  ]);
  return { components, sets, working };
}

class Feed implements FleetFeed {
  readonly readOnce: Promise<void>;
  readonly #source: Source;
  readonly #onChange: () => void;
  readonly #signal: AbortSignal;
  readonly #readings = new Map<string, SpokeReading>();
  readonly #due = new Set<string>();
  /** The rows that were made last: who shows the fleet sees at once which of them are new. */
  readonly #rows = new WeakMap<Component, Installation>();
  #hub: HubFacts;
  #workingReadMs = systemClock.now();
  #hubReadAt: Date;
  #spokesReadAt: Date | null = null;
  #round: FleetState["round"] = null;
  #trouble: string | null = null;
  #state: FleetState | undefined;
  #hubWanted = Promise.withResolvers<void>();
  #spokesWanted = Promise.withResolvers<void>();

  constructor(fleet: Fleet, source: Source, { watch, onChange }: FeedOptions, hub: HubFacts) {
    this.#source = source;
    this.#onChange = onChange;
    this.#signal = fleet.signal;
    this.#hub = hub;
    this.#hubReadAt = source.now();
    const isWatched = watch && source.recordedAt === undefined;
    this.readOnce = this.#run(fleet.reachesSpokes, isWatched);
  }

  state(): FleetState {
    this.#state ??= this.#made();
    return this.#state;
  }

  installations(): readonly Installation[] {
    const { selection } = this.#source;
    return this.#hub.components
      .map((one) => this.#rowOf(one))
      .filter(({ item }) => isAsked(item, selection));
  }

  refresh(): void {
    this.#hubWanted.resolve();
    this.#wantClusters(this.#hub.components.map(targetId));
  }

  #run(live: boolean, watch: boolean): Promise<void> {
    const first = live ? this.#readRound(this.#clusterIds()) : Promise.resolve();
    if (watch) {
      void this.#followHub();
      if (live) void this.#followClusters(first);
    }
    return first;
  }

  async #followHub(): Promise<void> {
    const { access, selection } = this.#source;
    // A hub without sets may not serve them. The first set is seen when the hub is listed again.
    const setKinds = [...new Set(this.#hub.sets?.map(({ kind }) => kind))];
    using changes = watchHub(access, { ...selection, setKinds }, this.#signal);
    while (!this.#signal.aborted) {
      const nextLookMs = this.#trouble === null ? paceMs : troublePaceMs;
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      await Promise.race([changes.next(nextLookMs, this.#signal), this.#hubWanted.promise]);
      this.#hubWanted = Promise.withResolvers<void>();
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      await this.#readHub();
    }
  }

  async #readHub(): Promise<void> {
    if (this.#signal.aborted) return;
    const { now } = this.#source;
    try {
      const before = new Map(this.#hub.components.map((one) => [one.metadata.uid, one]));
      const isFresh = systemClock.now() - this.#workingReadMs < leasesPaceMs;
      const hub = await readHub(this.#source, isFresh ? this.#hub : undefined, this.#signal);
      if (!isFresh) this.#workingReadMs = systemClock.now();
      // What has not changed stays the same object.
      const components = hub.components.map((one) => {
        const known = before.get(one.metadata.uid);
        return known?.metadata.resourceVersion === one.metadata.resourceVersion ? known : one;
      });
      const changed = components.filter((one) => one !== before.get(one.metadata.uid));
      this.#hub = { ...hub, components };
      this.#hubReadAt = now();
      this.#trouble = null;
      if (changed.length > 0) this.#wantClusters(changed.map(targetId));
    } catch (error) {
      if (isAborted(this.#signal)) return;
      this.#trouble = failureOf(error).error;
    }
    this.#changed();
  }

  #wantClusters(ids: readonly string[]): void {
    for (const id of ids) this.#due.add(id);
    this.#spokesWanted.resolve();
  }

  async #followClusters(first: Promise<void>): Promise<void> {
    await first;
    while (!this.#signal.aborted) {
      using wait = new Follower(this.#signal);
      const waitMs = paceMs + (Math.random() - 0.5) * 4_000;
      const paced = pause(systemClock, waitMs, wait.signal).then(() => true);
      const wanted = this.#spokesWanted.promise.then(() => false);
      // oxlint-disable-next-line no-await-in-loop -- one round after another
      const isWhole = await Promise.race([paced, wanted]);
      wait.abort();
      const ids = isWhole
        ? this.#clusterIds()
        : this.#clusterIds().filter((id) => this.#due.has(id));
      this.#due.clear();
      this.#spokesWanted = Promise.withResolvers<void>();
      const rested = pause(systemClock, shortestRoundMs, this.#signal);
      // oxlint-disable-next-line no-await-in-loop -- one round after another
      await this.#readRound(ids);
      // oxlint-disable-next-line no-await-in-loop -- one round after another
      await rested;
    }
  }

  async #readRound(ids: readonly string[]): Promise<void> {
    const { access, limits, now } = this.#source;
    const groups = Map.groupBy(this.#hub.components, targetId);
    let done = 0;
    this.#showRound({ done, total: ids.length });
    await mapLimited(ids, limits.concurrency, async (id) => {
      const own = groups.get(id) ?? [];
      const readings = await readClusters(own, { access, limits }, this.#signal);
      if (this.#signal.aborted) return;
      for (const [cluster, reading] of readings) this.#readings.set(cluster, reading);
      done += 1;
      this.#showRound({ done, total: ids.length });
    }).catch((error: unknown) => {
      if (!this.#signal.aborted) this.#trouble = failureOf(error).error;
    });
    this.#spokesReadAt = now();
    this.#showRound(null);
  }

  #showRound(round: FleetState["round"]): void {
    this.#round = round;
    this.#changed();
  }

  #clusterIds(): readonly string[] {
    return [...new Set(this.#hub.components.map(targetId))];
  }

  #changed(): void {
    this.#state = undefined;
    this.#onChange();
  }

  #rowOf(component: Component): Installation {
    const reading = this.#readings.get(targetId(component));
    const last = this.#rows.get(component);
    // What goes on may take too long.
    const isSettled = last?.item.severity !== "progress";
    if (last !== undefined && last.reading === reading && isSettled) return last;
    const item = statusItemOf(component, reading, this.#source.now());
    const row = { component, reading, item };
    this.#rows.set(component, row);
    return row;
  }

  #made(): FleetState {
    const { access, selection, now } = this.#source;
    const items = this.#hub.components.map((one) => this.#rowOf(one).item);
    const stamp = stampAt(now());
    const asked = items.filter((item) => isAsked(item, selection));
    const sets = this.#hub.sets?.map(setItemOf) ?? null;
    const report = fleetStatusOf(asked, missingNames(selection, items), stamp);
    const malformed = access.malformed?.errors ?? [];
    return {
      report: {
        ...report,
        complete: report.complete && malformed.length === 0,
        errors: [...report.errors, ...malformed],
        sets,
        controller: controllerOf(this.#hub.working, items, sets),
      },
      sets: this.#hub.sets,
      hubReadAt: this.#hubReadAt,
      spokesReadAt: this.#spokesReadAt,
      round: this.#round,
      trouble: this.#trouble,
    };
  }
}
