import { reflectorKey } from "../../access/kube/kept-objects.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { References } from "../../access/providers/references.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import type { FleetSet } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { Selection, SetFacts } from "../../sets/facts.ts";
import { keyTextOf } from "../component-identity.ts";
import type { Components } from "../components.ts";
import type { EventRecorder, NewEvent } from "../events.ts";
import type { Log } from "../log.ts";
import type { Next } from "../queue/delays.ts";
import { WorkQueue } from "../queue/queue.ts";
import { isChildOf } from "./child-object.ts";
import { findSelection } from "./find-selection.ts";
import { gatherFacts } from "./gather-facts.ts";
import { lookAt, type LookDeps } from "./look.ts";
import { NotTakenMemory } from "./not-taken.ts";
import { RecentWrites } from "./recent-writes.ts";
import { ownerKeyOf, SetCaches, setKeyOf } from "./set-caches.ts";
import { deletionEvents, editEvents } from "./set-events.ts";
import { ChildWriter } from "./write-children.ts";
import { RevisionWriter } from "./write-revisions.ts";
import { SetWriter } from "./write-set.ts";

export interface FleetSetsOptions {
  readonly hub: Pick<
    KubeClient,
    "get" | "list" | "watch" | "create" | "apply" | "patch" | "replace" | "remove"
  >;
  readonly components: Pick<Components, "byKey">;
  readonly events: Pick<EventRecorder, "record">;
  /** Absent: every component may use every ClusterProfile. */
  readonly references?: References;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** A set is looked at, and its status written, once in this time at most. Spec: sets.md R14. */
const paceMs = 1_000;
const setsAtOnce = 4;
const slowMs = 30_000;

/**
 * Rolls fleet sets out: looks at each one after every change of what it follows from, and when its time has come. Exists while this process leads; everything that
 * has to outlive it is in the objects on the hub. Spec: sets.md R1, R16.
 */
export class FleetSets implements AsyncDisposable {
  readonly #options: FleetSetsOptions;
  readonly #stop = new AbortController();
  readonly #caches: SetCaches;
  readonly #queue: WorkQueue;
  readonly #deps: LookDeps;
  readonly #recent = {
    sets: new RecentWrites<FleetSet>(),
    revisions: new RecentWrites<KubeObject>(),
    components: new RecentWrites<Component>(),
  };
  readonly #lookedAt = new Map<string, number>();
  readonly #notTaken = new Map<string, NotTakenMemory>();
  readonly #selections = new Map<string, { of: string; found: Selection }>();
  #isStarted = false;

  constructor(options: FleetSetsOptions, signal: AbortSignal) {
    this.#options = options;
    const { hub: client, clock, log, events, random } = options;
    const stopped = AbortSignal.any([signal, this.#stop.signal]);
    const onChange = (key?: string): void => this.#changed(key);
    const onEdit = (before: FleetSet, after: FleetSet): void => {
      this.#record(after, editEvents(before, after));
    };
    this.#caches = new SetCaches({ client, clock, log, onChange, onEdit }, stopped);
    const { sets, revisions, components } = this.#recent;
    this.#deps = {
      clock,
      events,
      sets: new SetWriter({ client, clock, recent: sets }),
      revisions: new RevisionWriter({ client, clock, recent: revisions }),
      children: new ChildWriter({ client, clock, recent: components }),
      factsOf: (key) => this.#factsOf(key),
      onNotTaken: (set, notTaken) =>
        this.#notTakenOf(setKeyOf(set)).remember(set, notTaken, clock.now()),
    };
    this.#queue = new WorkQueue({
      work: (key, ended) => this.#look(key, ended),
      onBug: (key, err) => log.error({ set: key, err }, "A look at a set failed"),
      concurrency: setsAtOnce,
      laneConcurrency: 1,
      slowMs,
      clock,
      random,
    });
    void this.#start();
  }

  /** All sets as the hub has them. */
  all(): Iterable<FleetSet> {
    return this.#caches.sets.values();
  }

  componentChanged(component: Component, before: Component | undefined): void {
    const [key, owner] = [ownerKeyOf(component), before && ownerKeyOf(before)];
    const isNews = before?.metadata.generation !== component.metadata.generation;
    // A component without a set may stand on a cluster of any set. Its status does not matter to them.
    if (before !== undefined && key !== owner) this.#changed();
    else if (key !== undefined || isNews) this.#changed(key);
  }

  componentDeleted(component: Component): void {
    this.#recent.components.delete(keyTextOf(component));
    const key = ownerKeyOf(component);
    const set = key === undefined ? undefined : this.#caches.sets.get(key);
    if (set !== undefined && isChildOf(component, set)) {
      this.#record(set, deletionEvents(set, component));
    }
    this.#changed(key);
  }

  referencesChanged(): void {
    this.#changed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new DOMException("The sets are not looked at any more", "AbortError"));
    this.#caches[Symbol.dispose]();
    await this.#queue[Symbol.asyncDispose]();
  }

  /** Nothing is decided before all that a decision follows from is known. */
  async #start(): Promise<void> {
    try {
      await this.#caches.synced();
    } catch {
      // Stopped before.
      return;
    }
    this.#isStarted = true;
    this.#queue.start();
    this.#changed();
    this.#options.log.info({ sets: this.#caches.sets.size }, "Rolling out fleet sets");
  }

  #changed(key?: string): void {
    if (!this.#isStarted) return;
    const keys = key === undefined ? [...this.#caches.sets.keys()] : [key];
    const now = this.#options.clock.now();
    for (const one of keys) {
      if (!this.#caches.sets.has(one)) continue;
      const dueAt = (this.#lookedAt.get(one) ?? -Infinity) + paceMs;
      if (dueAt <= now) this.#queue.add(one, one);
      else this.#queue.hasten(one, one, dueAt - now);
    }
  }

  async #look(key: string, signal: AbortSignal): Promise<Next> {
    const { clock, log } = this.#options;
    this.#lookedAt.set(key, clock.now());
    try {
      // The first set that uses a kind of placement makes it one that has to be listed.
      await this.#caches.synced();
      return this.#paced(key, await lookAt(key, this.#deps, signal));
    } catch (err) {
      log.warn({ set: key, err }, "The hub could not be written for a set");
      return { kind: "backoff" };
    } finally {
      if (!this.#caches.sets.has(key)) this.#forget(key);
    }
  }

  /** When to look again: not within the pace, and at the latest when a refused component is due. */
  #paced(key: string, next: Next): Next {
    const refusedMs = this.#notTakenOf(key).dueAt - this.#options.clock.now();
    if (next.kind === "backoff" || (next.kind !== "after" && refusedMs === Infinity)) return next;
    const ms = Math.min(refusedMs, next.kind === "after" ? next.ms : Infinity);
    return { kind: "after", ms: Math.max(paceMs, ms) };
  }

  #factsOf(key: string): SetFacts | undefined {
    const { clock, components, references } = this.#options;
    const now = clock.now();
    const seen = this.#caches.sets.get(key);
    if (seen === undefined) return undefined;
    const newest = this.#recent.sets.newest(key, seen, now) ?? seen;
    // The answer to a write has the spec that is stored, which counts no more during a deletion.
    const isDeleted = seen.metadata.deletionTimestamp !== undefined;
    const set = isDeleted ? { ...newest, spec: seen.spec } : newest;
    const revisions = new Map(
      [...this.#caches.revisions()].map((one) => [reflectorKey(one.metadata), one]),
    );
    const notTaken = this.#notTakenOf(key);
    return gatherFacts(set, {
      sets: this.#caches.sets,
      components: this.#recent.components.all(components.byKey, now).values(),
      revisions: this.#recent.revisions.all(revisions, now).values(),
      profiles: this.#caches.profilesByKey,
      selectionOf: (one) => this.#selectionOf(one),
      policy: references?.policy,
      refusals: notTaken.refusals(set, now),
      unwritten: notTaken.failed,
    });
  }

  #selectionOf(set: FleetSet): Selection {
    const key = setKeyOf(set);
    const { uid, generation = 0 } = set.metadata;
    const of = `${uid} ${generation} ${this.#caches.version}`;
    const known = this.#selections.get(key);
    if (known?.of === of) return known.found;
    const found = findSelection(set, this.#caches);
    this.#selections.set(key, { of, found });
    return found;
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
    this.#notTaken.delete(key);
    this.#selections.delete(key);
    this.#recent.sets.delete(key);
  }
}
