import type { Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { setAnnotations, setLabels, steering } from "../../api/fleet-set.ts";
import { componentCondition } from "../../sets/component-condition.ts";
import type { Decision, Revision, Stamp } from "../../sets/facts.ts";
import { type Share, shareOf } from "../../sets/limits.ts";
import { newestOf } from "../../sets/rollout-turns.ts";
import type { SetWorld } from "./set-world.ts";

const minute = 60_000;
/** `progressDeadline`, and the minute that a process gives a cluster that it does not know. */
const lateMs = 16 * minute;

/** What is promised of a stage. */
export interface StagePromise {
  /** Name of the stage, and of the ring of its clusters. */
  readonly name: string;
  /** The most clusters that it has ever had. */
  readonly size: number;
  readonly maxConcurrency: Share;
  readonly maxFailures: Share;
  readonly soakMs: number;
}

type Health = "ready" | "unready" | "dark";

/** One cluster since its stamp, as somebody sees it who looks at nothing but its component. */
interface Watched {
  readonly stamp: string;
  readonly health: Health;
  readonly at: number;
  /** Since when its health is as it is. */
  readonly since: number;
  /** How long it was unready, all in all. */
  unreadyMs: number;
  /** When it last stopped being ready. */
  brokeAt: number;
  /** When it was last seen not to be ready since then. */
  unreadyAt: number;
  /** It was stamped while its stage soaked. */
  readonly isLate: boolean;
}

/** Judges decisions by the stamps and the clusters alone, not by the counts of the status. */
export class StampJudge {
  readonly #stages: readonly StagePromise[];
  readonly #watched = new Map<string, Watched>();
  /** Numbers of the rollouts that have passed the first stage. */
  readonly #passed = new Set<number>();

  constructor(stages: readonly StagePromise[]) {
    this.#stages = stages;
  }

  /** Has to be called before each decision. */
  look(world: SetWorld): void {
    const isPaused = world.set.metadata.annotations?.[steering.pause] !== undefined;
    const soaking = world.set.status?.stages?.find(({ doneAt }) => doneAt !== undefined);
    // A cluster that leaves and comes back begins anew.
    for (const name of this.#watched.keys()) {
      if (!world.clusters.has(name)) this.#watched.delete(name);
    }
    for (const name of world.clusters.keys()) {
      const child = world.children.get(`fleet/${name}`);
      if (child === undefined) {
        this.#watched.delete(name);
        continue;
      }
      const isLate = soaking !== undefined && name.startsWith(soaking.name);
      const seen = { child, health: healthOf(world, name, child), now: world.now, isLate };
      const watched = watchedAfter(this.#watched.get(name), seen);
      // A pause, and the return of a dark cluster, start its deadline again.
      const isAnew = isPaused || watched.health === "dark";
      this.#watched.set(name, isAnew ? { ...watched, unreadyMs: 0 } : watched);
    }
  }

  /** The promises that a decision breaks. */
  faults(world: SetWorld, decision: Decision): readonly string[] {
    const update = newestOf(world.revisions);
    if (update === undefined || update.failed || decision.mark !== undefined) return [];
    const { stamps } = decision;
    const [first] = this.#stages;
    return [
      ...this.#passing(world, decision, update),
      ...this.#stages.flatMap((stage) => this.#crowd(world, stage, stamps)),
      ...stamps.flatMap(({ stage, revision, cluster }) => {
        if (revision !== update.name) return [];
        const isTooEarly = stage !== first?.name && !this.#hasPassed(update);
        const failing = this.#failingBefore(world, stage, update);
        return [
          ...(isTooEarly ? [`${cluster} is stamped before stage ${first?.name} is passed`] : []),
          ...failing.map((one) => `${cluster} is stamped although too many of ${one} have failed`),
        ];
      }),
    ];
  }

  #hasPassed({ number, completedNumber }: Revision): boolean {
    return completedNumber === number || this.#passed.has(number);
  }

  /** The first stage is passed by this decision: each of its clusters has shown that the revision works. */
  #passing(world: SetWorld, { status }: Decision, update: Revision): readonly string[] {
    const [stage] = this.#stages;
    const state = status.stages?.find(({ name }) => name === stage?.name)?.state;
    if (stage === undefined || !(state === "Passed" || state === "Empty")) return [];
    if (this.#hasPassed(update)) return [];
    this.#passed.add(update.number);
    const members = this.#members(world, stage);
    const answering = members.filter(({ isDark }) => !isDark);
    const unready = answering.filter(({ watched }) => watched?.health === "unready").length;
    const budget = shareOf(stage.maxFailures, stage.size, 0);
    const faults = {
      "clusters lack the revision": answering.some(({ child }) => !has(child, update)),
      "more are not ready than may fail": unready > budget,
      "more than one is dark": members.length - answering.length > 1,
      "clusters broke during the soak": answering.some(({ watched }) => {
        if (watched === undefined || watched.isLate) return false;
        const broke = budget === 0 ? watched.unreadyAt : 0;
        return world.now - Math.max(broke, watched.brokeAt) < stage.soakMs;
      }),
    };
    return Object.entries(faults).flatMap(([fault, isFault]) =>
      isFault ? [`Stage ${stage.name} is passed although ${fault}`] : [],
    );
  }

  /** Clusters that are ready change only while few enough of their stage are not. */
  #crowd(world: SetWorld, stage: StagePromise, stamps: readonly Stamp[]): readonly string[] {
    const unready = this.#members(world, stage)
      .filter(({ child, watched }) => child !== undefined && watched?.health === "unready")
      .map(({ name }) => name);
    const stamped = stamps
      .filter((stamp) => stamp.stage === stage.name)
      .map(({ cluster }) => cluster.slice("fleet/".length));
    const changing = new Set([...unready, ...stamped]);
    const allowed =
      shareOf(stage.maxConcurrency, stage.size, 1) + shareOf(stage.maxFailures, stage.size, 0);
    if (changing.size === unready.length || changing.size <= allowed) return [];
    return [`${changing.size} clusters of stage ${stage.name} change or are not ready`];
  }

  /** The stages up to one in which more clusters have failed than may. */
  #failingBefore(world: SetWorld, last: string, update: Revision): readonly string[] {
    const index = this.#stages.findIndex(({ name }) => name === last);
    const isComplete = update.completedNumber === update.number;
    return this.#stages
      .slice(isComplete ? index : 0, index + 1)
      .filter((stage) => {
        const failed = this.#members(world, stage).filter(
          ({ child, watched }) => has(child, update) && hasFailed(child, watched, update),
        );
        return failed.length > shareOf(stage.maxFailures, stage.size, 0);
      })
      .map(({ name }) => name);
  }

  #members(world: SetWorld, { name: ring }: StagePromise) {
    return [...world.clusters.values()]
      .filter(({ labels }) => labels["ring"] === ring)
      .map(({ name }) => {
        const child = world.children.get(`fleet/${name}`);
        return {
          name,
          child,
          watched: this.#watched.get(name),
          isDark: answersNot(world, name, child),
        };
      });
  }
}

function has(child: Component | undefined, { name }: Revision): boolean {
  return child?.metadata.labels?.[setLabels.revision] === name;
}

function answersNot(world: SetWorld, name: string, child: Component | undefined): boolean {
  const { status, spec } = child ?? {};
  const resolved = componentCondition({ ...(status && { status }) }, "TargetClusterResolved");
  const fate = world.clusters.get(name)?.fate(spec?.version ?? "");
  return resolved.status === "False" || fate === "dark";
}

function healthOf(world: SetWorld, name: string, child: Component): Health {
  if (answersNot(world, name, child)) return "dark";
  const { status, metadata } = child;
  const isReady = conditionOf(status?.conditions, "Ready")?.status === "True";
  return isReady && status?.observedGeneration === metadata.generation ? "ready" : "unready";
}

function watchedAfter(
  before: Watched | undefined,
  {
    child,
    health,
    now,
    isLate,
  }: {
    readonly child: Component;
    readonly health: Health;
    readonly now: number;
    readonly isLate: boolean;
  },
): Watched {
  const { labels, annotations } = child.metadata;
  const stamp = `${labels?.[setLabels.revision]} ${annotations?.[setAnnotations.updatedAt]}`;
  if (before?.stamp !== stamp) {
    return { stamp, health, at: now, since: now, unreadyMs: 0, brokeAt: 0, unreadyAt: 0, isLate };
  }
  const since = before.health === health ? before.since : now;
  const seen = { ...before, health, at: now, since };
  if (before.health === "unready") seen.unreadyMs += now - before.at;
  if (before.health === "ready") {
    // What was ready for the whole deadline has all of it again.
    if (now - before.since >= 15 * minute) seen.unreadyMs = 0;
    if (health === "unready") seen.brokeAt = now;
  }
  if (health === "unready" && seen.brokeAt > 0) seen.unreadyAt = now;
  return seen;
}

/** Whether a cluster has failed beyond doubt: it refuses what was stamped, or was not ready for longer than it may. */
function hasFailed(
  child: Component | undefined,
  watched: Watched | undefined,
  { retriedAt }: Revision,
): boolean {
  if (child === undefined || watched?.health !== "unready") return false;
  const stampedAt = Date.parse(child.metadata.annotations?.[setAnnotations.updatedAt] ?? "");
  if (retriedAt !== undefined && stampedAt < Date.parse(retriedAt)) return false;
  return watched.unreadyMs >= lateMs || isRefused(child, watched.at - stampedAt);
}

function isRefused({ status, metadata }: Component, ageMs: number): boolean {
  const isOfSpec = status?.observedGeneration === metadata.generation;
  const { reason } = componentCondition({ ...(status && { status }) }, "InstallSucceeded");
  return isOfSpec && reason === "ManifestInvalid" && ageMs >= minute;
}
