import { isServerFailure } from "../../access/kube/api-error.ts";
import { LinePace } from "../../access/log.ts";
import { Follower } from "../../access/time/deadline.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Component } from "../../api/component.ts";
import { isSameJson } from "../../api/fields.ts";
import { type FleetSet, fleetSetKinds } from "../../api/fleet-set.ts";
import { componentId, ownerSetId, setId, targetId } from "../../api/keys.ts";
import { contentOf } from "../../render/content.ts";
import type { Answers, WorkloadCounts } from "../../sets/check-answer.ts";
import type { SetFacts } from "../../sets/facts.ts";
import type { History } from "../../sets/standing.ts";
import type { NewEvent } from "../events.ts";
import type { Next } from "../queue/delays.ts";
import { WorkQueue } from "../queue/queue.ts";
import { recentSecrets } from "../verify/recent-secrets.ts";
import { Verifications } from "../verify/verifications.ts";
import { advanceSet, type AdvanceDeps } from "./advance-set.ts";
import { isChildOf } from "./child-object.ts";
import { withSpecOf } from "./deleted-set.ts";
import type { PlacementSource } from "./find-selection.ts";
import type { FleetSetsOptions } from "./fleet-sets-options.ts";
import { gatherFacts } from "./gather-facts.ts";
import { componentGroupsOf, componentKindOf, placeOf } from "./hub-view.ts";
import { IndexedObjects } from "./indexed-objects.ts";
import { NotTakenMemory } from "./not-taken.ts";
import { earlierSetKeyOf } from "./other-set.ts";
import { RecentWrites } from "./recent-writes.ts";
import { Selections } from "./selections.ts";
import { isWriteConflict } from "./send-writes.ts";
import { SetCaches } from "./set-caches.ts";
import { SetDigests } from "./set-digest.ts";
import { deletionEvents, editEvents, ignoredPolicyEvent } from "./set-events.ts";
import { ChildWriter } from "./write-children.ts";
import { RevisionWriter } from "./write-revisions.ts";
import { SetWriter } from "./write-set.ts";

/** Shortest interval between two decisions about a set, and between two writes of its status. Spec: sets.md R14. */
const paceMs = 1_000;
const setsAtOnce = 4;
const slowMs = 30_000;

/**
 * Rolls fleet sets out: decides about each set after every change of its facts, and when its time has come. Exists while this process leads. All
 * lasting state is in the objects on the hub. Spec: sets.md R1, R16.
 */
export class FleetSets implements AsyncDisposable {
  readonly #options: FleetSetsOptions;
  readonly #stop = new AbortController();
  readonly #caches: SetCaches;
  readonly #queue: WorkQueue;
  readonly #deps: AdvanceDeps;
  readonly #written = new RecentWrites<FleetSet>();
  readonly #components: IndexedObjects<Component>;
  readonly #selections: Selections;
  readonly #lookedAt = new Map<string, number>();
  readonly #notTaken = new Map<string, NotTakenMemory>();
  readonly #histories = new Map<string, History>();
  readonly #lines: LinePace;
  readonly #digests: SetDigests;
  readonly #verifications: Verifications;
  #isStarted = false;

  constructor(options: FleetSetsOptions, signal: AbortSignal) {
    this.#options = options;
    const { hub: client, clock, log, events, random, maxSetsPerNamespace, releases } = options;
    const { environment } = options.rendering;
    this.#digests = new SetDigests(releases, environment);
    this.#verifications = new Verifications({
      ...options,
      urls: { source: options.checkSource, hub: recentSecrets(client, clock) },
      pulled: {
        componentOf: (component) => options.components.byKey.get(componentId(component)),
        jobsOf: options.pulledJobs,
      },
      onAnswer: (key) => this.#wake([key]),
    });
    const stopped = new Follower(signal, this.#stop.signal).signal;
    const handlers = {
      onSet: this.#setChanged.bind(this),
      onSetGone: this.#setGone.bind(this),
      onPolicyIgnored: (set: FleetSet) => this.#record(set, [ignoredPolicyEvent]),
      onRevision: (key: string) => this.#wake([key]),
      onProfile: this.#profileChanged.bind(this),
      onPlacements: (source: PlacementSource) => {
        if (this.#isStarted) this.#wake(this.#selections.placementsChanged(source));
      },
    };
    this.#caches = new SetCaches({ client, clock, log, ...handlers }, stopped);
    this.#lines = new LinePace(clock);
    this.#selections = new Selections({ sources: this.#caches, maxSetsPerNamespace });
    this.#components = new IndexedObjects(clock, componentGroupsOf);
    for (const [key, component] of options.components.byKey) this.#components.see(key, component);
    this.#deps = {
      clock,
      events,
      sets: new SetWriter({ client, clock, recent: this.#written }),
      revisions: new RevisionWriter({ client, clock, recent: this.#caches.revisions }),
      children: new ChildWriter({
        client,
        clock,
        recent: this.#components,
        contentOf: (component) => contentOf(component, releases, environment),
      }),
      factsOf: (key) => this.#digestedFactsOf(key),
      setOf: (key) => this.#setOf(key),
      retried: new Set(),
      onNotTaken: (set, notTaken) =>
        this.#notTakenOf(setId(set)).remember(set, notTaken, clock.now()),
      onSeen: (set, history) => void this.#histories.set(setId(set), history),
      onVerifications: (set, wanted) => this.#verifications.ask(setId(set), wanted),
    };
    this.#queue = new WorkQueue({
      work: (key, ended) => this.#advance(key, ended),
      onBug: (key, err) => log.error({ set: key, err }, "A look at a set failed"),
      concurrency: setsAtOnce,
      laneConcurrency: setsAtOnce - 1,
      slowMs,
      clock,
      random,
    });
    void this.#start(stopped);
  }

  /** The workloads on the clusters whose rollouts ask about them. */
  workloads(): WorkloadCounts {
    return this.#verifications.workloads();
  }

  /** The last answers to the checks of a set. */
  answersOf(set: FleetSet): Answers {
    return this.#verifications.answersOf(setId(set));
  }

  /** All sets as the hub has them. */
  all(): Iterable<FleetSet> {
    return this.#caches.sets.values();
  }

  componentChanged(component: Component, before: Component | undefined): void {
    this.#components.see(componentId(component), component);
    const [owner, owned] = [component, before].map((one) => one && this.#ownerOf(one));
    const isNews = before?.metadata.generation !== component.metadata.generation;
    if (before !== undefined && owner !== owned) {
      this.#wake([owner, owned, ...this.#keysOn([component, before])]);
    } else if (owner !== undefined) this.#wake([owner, ...this.#laterThan(owner)]);
    // The status of a component that no set wrote does not matter to the sets of its cluster.
    else if (isNews) this.#wake(this.#keysOn([component]));
  }

  componentDeleted(component: Component): void {
    this.#components.delete(componentId(component));
    const key = this.#ownerOf(component);
    const set = key === undefined ? undefined : this.#caches.sets.get(key);
    if (set !== undefined) this.#record(set, deletionEvents(set, component));
    // Another set may have waited for the cluster.
    const waiting = [key, ...this.#keysOn([component])];
    for (const one of waiting) this.#notTaken.get(one ?? "")?.forget(targetId(component));
    this.#wake(waiting);
  }

  referencesChanged(): void {
    this.#wake(this.#caches.sets.keys());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException("The sets are not looked at any more", "AbortError"));
    this.#caches[Symbol.dispose]();
    this.#verifications[Symbol.dispose]();
    await this.#queue[Symbol.asyncDispose]();
  }

  /** Nothing is decided before all that a decision follows from is known. */
  async #start(signal: AbortSignal): Promise<void> {
    try {
      await this.#caches.synced();
      this.#isStarted = true;
      await this.#selections.fill(this.#caches.sets, signal);
    } catch (err) {
      // Rejects only when these sets are stopped, unless there is a bug. Without a log it would look like a hub without sets.
      if (!signal.aborted) this.#options.log.error({ err }, "Fleet sets could not be started");
      return;
    }
    this.#queue.start();
    this.#wake(this.#caches.sets.keys());
    this.#options.log.info({ sets: this.#caches.sets.size }, "Rolling out fleet sets");
  }

  #setChanged(set: FleetSet, before: FleetSet | undefined): void {
    if (before !== undefined) this.#record(set, editEvents(before, set));
    if (!this.#isStarted) return;
    const isSame =
      before?.metadata.uid === set.metadata.uid &&
      before.metadata.deletionTimestamp === set.metadata.deletionTimestamp &&
      isSameJson(before.spec, set.spec);
    // With a new spec the set may leave clusters to other sets.
    this.#wake(isSame ? [setId(set)] : this.#selections.put(set));
    this.#wake(this.#laterThan(setId(set)));
  }

  /** The sets that begin on a cluster when this one is done there. */
  #laterThan(key: string): readonly string[] {
    return [...this.#caches.sets].flatMap(([other, set]) =>
      earlierSetKeyOf(set) === key ? [other] : [],
    );
  }

  #setGone(set: FleetSet): void {
    const key = setId(set);
    this.#queue.forget(key);
    this.#forget(key);
    if (!this.#isStarted) return;
    // No set has its components any more.
    const free = this.#keysOn(this.#components.in(key));
    this.#wake([...this.#selections.delete(set), ...free, ...this.#laterThan(key)]);
  }

  #profileChanged(cluster: string, profile: ClusterProfile | undefined): void {
    if (!this.#isStarted) return;
    // A set that no longer selects a cluster may have a component there.
    const places = Object.values(fleetSetKinds).map(({ component }) => placeOf(component, cluster));
    const owners = places.flatMap((place) => this.#components.in(place).map(ownerSetId));
    this.#wake([...this.#selections.profileChanged(cluster, profile), ...owners]);
  }

  /** The key of the set that wrote a component. Its labels alone may name a set that does not exist, or that did not write it. */
  #ownerOf(component: Component): string | undefined {
    const key = ownerSetId(component);
    const set = key === undefined ? undefined : this.#caches.sets.get(key);
    return set !== undefined && isChildOf(component, set) ? key : undefined;
  }

  /** The sets that select the clusters of components. */
  #keysOn(components: readonly Component[]): ReadonlySet<string> {
    return this.#selections.keysOn(components.map((one) => placeOf(one.kind, targetId(one))));
  }

  #wake(keys: Iterable<string | undefined>): void {
    if (!this.#isStarted) return;
    const now = this.#options.clock.now();
    for (const key of new Set(keys)) {
      const set = key === undefined ? undefined : this.#caches.sets.get(key);
      if (key === undefined || set === undefined) continue;
      // Namespaces take turns, so that a namespace with many sets does not delay the others.
      const lane = set.metadata.namespace;
      const dueAt = (this.#lookedAt.get(key) ?? -Infinity) + paceMs;
      if (dueAt <= now) this.#queue.add(key, lane);
      else this.#queue.hasten(key, lane, dueAt - now);
    }
  }

  /** The facts with the digest of the present rendering of the set. */
  async #digestedFactsOf(key: string): Promise<SetFacts | undefined> {
    const set = this.#caches.sets.get(key);
    if (set === undefined) return undefined;
    const digest = await this.#digests.of(set);
    const isSame = isSameJson(this.#caches.sets.get(key)?.spec, set.spec);
    return this.#factsOf(key, isSame ? digest : undefined);
  }

  async #advance(key: string, signal: AbortSignal): Promise<Next> {
    const { clock, log } = this.#options;
    this.#lookedAt.set(key, clock.now());
    try {
      // Another kind of placement may have to be listed since the start.
      await this.#caches.synced();
      return this.#paced(key, await advanceSet(key, this.#deps, signal));
    } catch (err) {
      if (signal.aborted) return { kind: "done" };
      if (!isServerFailure(err) && !isWriteConflict(err)) throw err;
      // A hub that takes nothing takes it for no set.
      const omitted = this.#lines.admit("look");
      if (omitted !== undefined) {
        const fields = { set: key, err, ...(omitted === 0 ? {} : { omitted }) };
        log.warn(fields, "The hub could not be written for a set");
      }
      return { kind: "backoff" };
    } finally {
      if (!this.#caches.sets.has(key)) this.#forget(key);
    }
  }

  /** When to decide again: not within the pace, and at the latest when a refused component is due. */
  #paced(key: string, next: Next): Next {
    const refusedMs = this.#notTakenOf(key).dueAt - this.#options.clock.now();
    const ms = Math.min(refusedMs, next.kind === "after" ? next.ms : Infinity);
    return ms === Infinity ? next : { kind: "after", ms: Math.max(paceMs, ms) };
  }

  #setOf(key: string): FleetSet | undefined {
    const seen = this.#caches.sets.get(key);
    if (seen === undefined) return undefined;
    return withSpecOf(this.#written.newest(key, seen, this.#options.clock.now()) ?? seen, seen);
  }

  #factsOf(key: string, digest: string | undefined): SetFacts | undefined {
    const { clock, references, releases } = this.#options;
    const now = clock.now();
    const set = this.#setOf(key);
    if (set === undefined) return undefined;
    const notTaken = this.#notTakenOf(key);
    const facts = gatherFacts(set, {
      set: (one) => this.#caches.sets.get(one),
      components: (group) => this.#components.in(group),
      revisions: (one) => this.#caches.revisions.in(one),
      selectors: (kind, cluster) => this.#selections.on(kind, cluster),
      profiles: this.#caches.profilesByKey,
      selectionOf: (one) => this.#selections.of(one),
      policy: references?.policy,
      refusals: notTaken.refusals(set, now),
      unwritten: notTaken.failed,
      available: releases.versionsOf(componentKindOf(set)),
      ...(digest === undefined ? {} : { digest }),
    });
    const history = this.#histories.get(key) ?? {
      since: clock.date().getTime(),
      clusters: new Map(),
    };
    this.#histories.set(key, history);
    return { ...facts, history, answers: this.#verifications.answersOf(key) };
  }

  #notTakenOf(key: string): NotTakenMemory {
    const known = this.#notTaken.get(key) ?? new NotTakenMemory();
    this.#notTaken.set(key, known);
    return known;
  }

  #record(set: FleetSet, events: readonly NewEvent[]): void {
    for (const event of events) {
      void this.#options.events.record(set, event, this.#stop.signal);
    }
  }

  #forget(key: string): void {
    this.#lookedAt.delete(key);
    this.#deps.retried.delete(key);
    this.#notTaken.delete(key);
    this.#histories.delete(key);
    this.#written.delete(key);
    this.#verifications.ask(key, []);
  }
}
