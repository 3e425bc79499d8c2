import { Follower } from "../../../../access/time/deadline.ts";
import { Semaphore } from "../../../../access/time/semaphore.ts";
import type { Component } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import { type LogFilter, controllerUnseen } from "../../fleet/read-logs.ts";
import { followComponents } from "../../hub/hub-changes.ts";
import { type ReportError, Troubles } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { isRemote } from "../../spokes/live-view.ts";
import { findControllerSources, isAbout, findSpokeSources } from "../../spokes/log-line.ts";
import { isPulled, openLastingSpoke, type ReadLimits } from "../../spokes/read-clusters.ts";
import { followCluster, type FollowedCluster, type FollowContext } from "./follow-cluster.ts";
import type { FollowSink } from "./follow-container.ts";

interface FollowOptions {
  readonly access: ClusterAccess;
  readonly limits: Pick<ReadLimits, "concurrency" | "spokeTimeoutMs">;
  /** False: the hub alone. */
  readonly live: boolean;
  readonly selection: Selection;
  readonly filter: LogFilter;
  readonly sink: FollowSink;
}

/**
 * Follows the log lines about the selected components until the signal aborts. Components, clusters and containers that are added later are followed,
 * too. A broken connection or a restarted container is followed again; a deleted one for half a minute. A failure is reported once for as long as it
 * lasts. Never rejects.
 */
export async function followLogs(following: FollowOptions, signal: AbortSignal): Promise<void> {
  const { access, selection } = following;
  const logs = new FleetLogs(following, signal);
  const onComponents = logs.follow.bind(logs);
  await followComponents({ access, selection, onComponents, onTrouble: logs.onTrouble }, signal);
  await logs.waitForEnd();
}

/** The followed controllers on the hub, and the followed clusters. */
class FleetLogs {
  readonly onTrouble: (error: ReportError) => void;
  readonly #following: FollowOptions;
  readonly #signal: AbortSignal;
  readonly #shared: FollowContext;
  readonly #followed = new Map<string, Follower>();
  readonly #work = new Set<Promise<void>>();
  #components: readonly Component[] = [];
  #tests: readonly ((line: string) => boolean)[] = [];
  #controllers: FollowedCluster | undefined;

  constructor(following: FollowOptions, signal: AbortSignal) {
    const { filter, limits, sink } = following;
    const troubles = new Troubles(sink.trouble);
    this.onTrouble = troubles.report.bind(troubles);
    this.#following = following;
    this.#signal = signal;
    this.#shared = {
      filter,
      sink: { ...sink, trouble: this.onTrouble },
      troubles,
      streams: { left: filter.maxStreams },
      turns: new Semaphore(limits.concurrency),
      clusters: () => this.#followed.size,
    };
  }

  /** Follows the clusters of these components and no others. */
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
      const stop = new Follower(this.#signal);
      this.#followed.set(id, stop);
      this.#start(this.#clusterOf(id, ref), stop.signal);
    }
  }

  /** Resolves when all started work has ended. */
  async waitForEnd(): Promise<void> {
    await Promise.all(this.#work);
  }

  /** Starts with the first components, because the last lines of the past are searched once. Shows skipped lines about new components. */
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
    // A stream lasts longer than the list of components with which it began.
    const isWanted = (line: string): boolean => this.#tests.some((test) => test(line));
    return {
      id: null,
      open: (deadline) => openLastingSpoke(undefined, access, deadline),
      sources: async (client, deadline) => {
        const found = await findControllerSources(this.#components, client, deadline);
        if (found === undefined) this.onTrouble(controllerUnseen);
        return (found ?? []).map((source) => ({ ...source, isWanted }));
      },
      timeoutMs: access.hubTimeoutMs,
      containers: new Map(),
    };
  }

  #clusterOf(id: string, ref: ProfileRef): FollowedCluster {
    const { access, limits } = this.#following;
    return {
      id: id === "" ? null : id,
      open: (deadline) => {
        const pulls = isPulled(this.#components, id);
        return openLastingSpoke(ref, { ...access, isPulled: pulls }, deadline);
      },
      sources: (client, deadline) => findSpokeSources(this.#components, { id, client }, deadline),
      timeoutMs: limits.spokeTimeoutMs,
      containers: new Map(),
    };
  }

  #start(cluster: FollowedCluster, signal: AbortSignal): void {
    const one = followCluster(cluster, this.#shared, signal).finally(() => this.#work.delete(one));
    this.#work.add(one);
  }
}

type ProfileRef = NonNullable<Component["spec"]>["clusterProfileRef"];

function targetsOf(
  components: readonly Component[],
  live: boolean,
): ReadonlyMap<string, ProfileRef> {
  return new Map(
    components
      .filter((component) => live || !isRemote(component))
      .map((component) => [targetId(component), component.spec?.clusterProfileRef]),
  );
}
