import { Window } from "../../../../access/http/window.ts";
import type { Component } from "../../../../api/component.ts";
import { followComponents } from "../../hub/hub-changes.ts";
import { type ReportError, Troubles } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import { isRemote } from "../../spokes/live-view.ts";
import { clusterIdOf, openLastingSpoke } from "../../spokes/read-clusters.ts";
import { followCluster, type FollowedCluster, type SharedFollowing } from "./follow-cluster.ts";
import type { FollowSink } from "./follow-container.ts";
import { controllerSources, isAbout, spokeSources } from "./log-line.ts";
import { type LogDeps, type LogFilter, unseen } from "./read-logs.ts";

interface Following extends Pick<LogDeps, "access" | "limits" | "live"> {
  readonly selection: Selection;
  readonly filter: LogFilter;
  readonly sink: FollowSink;
}

/**
 * Follows the log lines about the selected components until the signal aborts: also about components, and of clusters and containers, that come later, and again
 * after a connection broke or a container started anew. What is gone is followed for half a minute. Each trouble is told once, however long it lasts. Never
 * rejects.
 */
export async function followLogs(following: Following, signal: AbortSignal): Promise<void> {
  const { access, selection } = following;
  const logs = new FleetLogs(following, signal);
  const onComponents = logs.follow.bind(logs);
  await followComponents({ access, selection, onComponents, onTrouble: logs.onTrouble }, signal);
  await logs.ended();
}

/** The controllers on the hub and the clusters that are followed now. */
class FleetLogs {
  readonly onTrouble: (error: ReportError) => void;
  readonly #following: Following;
  readonly #signal: AbortSignal;
  readonly #shared: SharedFollowing;
  readonly #followed = new Map<string, AbortController>();
  readonly #work = new Set<Promise<void>>();
  #components: readonly Component[] = [];
  #tests: readonly ((line: string) => boolean)[] = [];
  #controllers: FollowedCluster | undefined;

  constructor(following: Following, signal: AbortSignal) {
    const { filter, limits, sink } = following;
    const troubles = new Troubles(sink.trouble);
    this.onTrouble = troubles.tell.bind(troubles);
    this.#following = following;
    this.#signal = signal;
    this.#shared = {
      filter,
      sink: { ...sink, trouble: this.onTrouble },
      troubles,
      streams: { left: filter.maxStreams },
      turns: new Window(limits.concurrency),
      clusters: () => this.#followed.size,
    };
  }

  /** Follows these components and no others. */
  follow(components: readonly Component[]): void {
    this.#components = components;
    this.#tests = components.map(isAbout);
    this.#followControllers();
    const targets = targetsOf(components, this.#following.live);
    for (const [id, stop] of this.#followed) {
      if (targets.has(id)) continue;
      stop.abort();
      this.#followed.delete(id);
    }
    for (const [id, ref] of targets) {
      if (this.#followed.has(id)) continue;
      const stop = new AbortController();
      this.#followed.set(id, stop);
      this.#start(this.#clusterOf(id, ref), AbortSignal.any([this.#signal, stop.signal]));
    }
  }

  /** Resolves when everything has ended that was started. */
  async ended(): Promise<void> {
    await Promise.all(this.#work);
  }

  /** Begins when the first components are known, because the last lines about them are looked for once. */
  #followControllers(): void {
    if (this.#controllers === undefined) {
      this.#controllers = this.#controllersOfHub();
      this.#start(this.#controllers, this.#signal);
    }
    const { id, containers } = this.#controllers;
    for (const state of containers.values()) {
      for (const item of state.wantedNow(id)) this.#shared.sink.line(item);
    }
  }

  #controllersOfHub(): FollowedCluster {
    const { access } = this.#following;
    // A stream outlives the list of components that it began with.
    const isWanted = (line: string): boolean => this.#tests.some((test) => test(line));
    return {
      id: null,
      open: (deadline) => openLastingSpoke(undefined, access, deadline),
      sources: async (client, deadline) => {
        const found = await controllerSources(this.#components, client, deadline);
        if (found === undefined) this.onTrouble(unseen);
        return (found ?? []).map((source) => ({ ...source, isWanted }));
      },
      timeoutMs: access.hubTimeoutMs,
      containers: new Map(),
    };
  }

  #clusterOf(id: string, ref: Reference): FollowedCluster {
    const { access, limits } = this.#following;
    return {
      id: id === "" ? null : id,
      open: (deadline) => openLastingSpoke(ref, access, deadline),
      sources: (client, deadline) => spokeSources(this.#components, { id, client }, deadline),
      timeoutMs: limits.spokeTimeoutMs,
      containers: new Map(),
    };
  }

  #start(cluster: FollowedCluster, signal: AbortSignal): void {
    const one = followCluster(cluster, this.#shared, signal).finally(() => this.#work.delete(one));
    this.#work.add(one);
  }
}

type Reference = NonNullable<Component["spec"]>["clusterProfileRef"];

function targetsOf(
  components: readonly Component[],
  live: boolean,
): ReadonlyMap<string, Reference> {
  return new Map(
    components
      .filter((component) => live || !isRemote(component))
      .map((component) => [clusterIdOf(component), component.spec?.clusterProfileRef]),
  );
}
