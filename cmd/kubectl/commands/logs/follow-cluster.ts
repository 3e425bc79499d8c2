import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { pause } from "../../../../access/time/clock.ts";
import { isAborted, withTimeout } from "../../../../access/time/deadline.ts";
import type { Semaphore } from "../../../../access/time/semaphore.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type LogFilter, streamLimitError, wantedSources } from "../../fleet/read-logs.ts";
import { partingMs } from "../../hub/hub-changes.ts";
import { troubleOf, type Troubles } from "../../output/report.ts";
import type { LogSource } from "../../spokes/log-line.ts";
import type { LastingSpoke } from "../../spokes/read-clusters.ts";
import { followContainer, FollowedContainer, type FollowSink } from "./follow-container.ts";

const pollMs = 5_000;
/** Part of the pause for each followed cluster, so that the rate of requests does not grow with the number of clusters. */
const pollMsPerCluster = 100;
const maxPollMs = 60_000;

/** A followed cluster; its containers are followed one by one. */
export interface FollowedCluster {
  /** `namespace/name` of the ClusterProfile; null for the hub. */
  readonly id: string | null;
  readonly open: (signal: AbortSignal) => Promise<LastingSpoke>;
  /** Finds the containers that are to be followed now. */
  readonly sources: (client: KubeClient, signal: AbortSignal) => Promise<readonly LogSource[]>;
  readonly timeoutMs: number;
  /** Containers followed so far, by `namespace/pod/container`. */
  readonly containers: Map<string, FollowedContainer>;
}

/** Input that all clusters of a command share. */
export interface FollowContext {
  readonly filter: LogFilter;
  readonly sink: FollowSink;
  readonly troubles: Troubles;
  readonly streams: { left: number };
  /** Limits how many clusters are read at the same time. */
  readonly turns: Semaphore;
  /** Number of followed clusters. */
  readonly clusters: () => number;
}

/** Looks for new containers every five seconds or more and follows them. Connects again when the cluster cannot be read. Never rejects. */
export async function followCluster(
  cluster: FollowedCluster,
  shared: FollowContext,
  signal: AbortSignal,
): Promise<void> {
  const { id, timeoutMs, containers } = cluster;
  let opened: LastingSpoke | undefined;
  let failures = 0;
  while (!signal.aborted) {
    // oxlint-disable no-await-in-loop -- one read after another
    try {
      opened = await readSources(cluster, { opened, shared }, signal);
      if (failures > 0) shared.troubles.clear(id);
      failures = 0;
    } catch (error) {
      if (isAborted(signal)) break;
      failures += 1;
      shared.troubles.report(troubleOf(error, id, timeoutMs));
      if (containers.values().every(({ isActive }) => !isActive)) {
        opened?.close();
        opened = undefined;
      }
    }
    await pause(systemClock, pauseMs(failures, shared.clusters()), signal);
    // oxlint-enable no-await-in-loop
  }
  opened?.close();
}

function pauseMs(failures: number, clusters: number): number {
  const base = Math.max(pollMs, clusters * pollMsPerCluster) * 2 ** Math.max(0, failures - 1);
  return Math.min(maxPollMs, base) * (0.8 + Math.random() * 0.4);
}

interface OpenedCluster {
  readonly opened: LastingSpoke | undefined;
  readonly shared: FollowContext;
}

async function readSources(
  { id, open, sources, timeoutMs, containers }: FollowedCluster,
  { opened, shared }: OpenedCluster,
  signal: AbortSignal,
): Promise<LastingSpoke> {
  using _place = await shared.turns.enter(signal);
  const deadline = withTimeout(systemClock, timeoutMs, signal);
  let spoke = opened;
  try {
    spoke ??= await open(deadline);
    const { client } = spoke;
    const wanted = wantedSources(await sources(client, deadline), shared.filter);
    followNew(wanted, { id, client, containers, shared }, signal);
    stopUnwanted(new Set(wanted.map(sourceKey)), containers);
    return spoke;
  } catch (error) {
    if (opened === undefined) spoke?.close();
    throw deadline.aborted ? deadline.reason : error;
  }
}

interface NewSources extends Pick<FollowedCluster, "id" | "containers"> {
  readonly client: KubeClient;
  readonly shared: FollowContext;
}

function followNew(
  sources: readonly LogSource[],
  { id, client, containers, shared }: NewSources,
  signal: AbortSignal,
): void {
  const { filter, sink, streams, troubles } = shared;
  let skipped = 0;
  for (const source of sources) {
    const key = sourceKey(source);
    const state = containers.get(key) ?? new FollowedContainer(source);
    if (state.isActive) continue;
    if (streams.left <= 0) {
      skipped += 1;
      continue;
    }
    streams.left -= 1;
    state.isActive = true;
    containers.set(key, state);
    // followContainer never rejects.
    void followContainer(source, { id, client, filter, sink, state }, signal).finally(() => {
      state.isActive = false;
      streams.left += 1;
    });
  }
  if (skipped > 0) troubles.report(streamLimitError(skipped, id));
}

/** Stops following containers that have not been selected for half a minute; until then the last lines of a pod arrive. */
function stopUnwanted(
  wanted: ReadonlySet<string>,
  containers: FollowedCluster["containers"],
): void {
  const nowMs = performance.now();
  for (const [key, state] of containers) {
    if (wanted.has(key)) state.unwantedMs = undefined;
    else state.unwantedMs ??= nowMs;
    if (state.unwantedMs === undefined || nowMs - state.unwantedMs <= partingMs) continue;
    state.stop.abort();
    containers.delete(key);
  }
}

function sourceKey({ namespace, pod, container }: LogSource): string {
  return `${namespace}/${pod}/${container}`;
}
