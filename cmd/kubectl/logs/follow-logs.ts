import { setTimeout as delay } from "node:timers/promises";

import type { KubeClient, LogRef } from "../../../access/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { openLastingSpoke, type LastingSpoke } from "../lasting-spoke.ts";
import { isRemote } from "../own-objects.ts";
import { clusterIdOf } from "../read-clusters.ts";
import type { ReportError } from "../report.ts";
import { unreadBecause } from "../spoke-reading.ts";
import { itemOf, type LogItem, type LogSource } from "./log-line.ts";
import { controllerSources, spokeSources } from "./log-sources.ts";
import {
  sourceError,
  tooMany,
  unseen,
  wantedSources,
  type LogDeps,
  type LogFilter,
} from "./read-logs.ts";

const pollMs = 5_000;

/** Where what is followed goes. */
export interface FollowSink {
  readonly line: (item: LogItem) => void;
  /** Told once for each trouble, however long it lasts. */
  readonly trouble: (error: ReportError) => void;
}

interface Following extends Pick<LogDeps, "access" | "limits" | "live"> {
  readonly filter: LogFilter;
  readonly sink: FollowSink;
}

/**
 * Follows the log lines about the components until the signal aborts: also of containers that come later, and again after a connection broke or a container
 * started anew. Never rejects.
 */
export async function followLogs(
  components: readonly Component[],
  { access, limits, live, filter, sink }: Following,
  signal: AbortSignal,
): Promise<void> {
  const shared = { filter, sink: onceEach(sink), streams: { left: filter.maxStreams } };
  const targets = new Map(
    components
      .filter((component) => live || !isRemote(component))
      .map((component) => [clusterIdOf(component), component.spec?.clusterProfileRef]),
  );
  const controllers: Cluster = {
    id: null,
    title: "controller",
    open: (deadline) => openLastingSpoke(undefined, access, deadline),
    sources: async (client, deadline) => {
      const found = await controllerSources(components, client, deadline);
      if (found === undefined) shared.sink.trouble(unseen);
      return found ?? [];
    },
    timeoutMs: access.hubTimeoutMs,
  };
  const clusters = [...targets].map(([id, ref]): Cluster => ({
    id: id === "" ? null : id,
    title: id,
    open: (deadline) => openLastingSpoke(ref, access, deadline),
    sources: (client, deadline) => spokeSources(components, { id, client }, deadline),
    timeoutMs: limits.spokeTimeoutMs,
  }));
  await Promise.all([controllers, ...clusters].map((one) => followCluster(one, shared, signal)));
}

interface Cluster {
  readonly id: string | null;
  readonly title: string;
  readonly open: (signal: AbortSignal) => Promise<LastingSpoke>;
  readonly sources: (client: KubeClient, signal: AbortSignal) => Promise<readonly LogSource[]>;
  readonly timeoutMs: number;
}

interface Shared {
  readonly filter: LogFilter;
  readonly sink: FollowSink;
  readonly streams: { left: number };
}

/** Looks for containers every five seconds and follows each that is new; begins anew when the cluster cannot be read. */
async function followCluster(cluster: Cluster, shared: Shared, signal: AbortSignal): Promise<void> {
  const { id, timeoutMs } = cluster;
  const followed = new Map<string, Followed>();
  let opened: LastingSpoke | undefined;
  while (!signal.aborted) {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      // oxlint-disable no-await-in-loop -- one look after another
      opened ??= await cluster.open(deadline);
      const { client } = opened;
      const sources = wantedSources(await cluster.sources(client, deadline), shared.filter);
      followNew(sources, { id, client, followed, shared }, signal);
    } catch (error) {
      if (isAborted(signal)) break;
      const { reason, message } = unreadBecause(
        deadline.aborted ? deadline.reason : error,
        timeoutMs,
      );
      shared.sink.trouble({ reason, message, cluster: id });
      if (followed.values().every(({ isActive }) => !isActive)) {
        opened?.close();
        opened = undefined;
      }
    }
    await delay(pollMs, undefined, { signal }).catch(() => undefined);
    // oxlint-enable no-await-in-loop
  }
  opened?.close();
}

/** One container and how far it was read. */
interface Followed {
  isActive: boolean;
  /** Time of the last line. */
  lastTime: string | undefined;
  /** Lines of that time, which come again with `sinceTime`. */
  readonly sameTime: Set<string>;
}

interface New {
  readonly id: string | null;
  readonly client: KubeClient;
  readonly followed: Map<string, Followed>;
  readonly shared: Shared;
}

interface Stream extends Pick<New, "id" | "client" | "shared"> {
  readonly state: Followed;
}

function followNew(
  sources: readonly LogSource[],
  { id, client, followed, shared }: New,
  signal: AbortSignal,
): void {
  let left = 0;
  for (const source of sources) {
    const key = `${source.namespace}/${source.pod}/${source.container}`;
    const known = followed.get(key);
    if (known?.isActive === true) continue;
    if (shared.streams.left <= 0) {
      left += 1;
      continue;
    }
    shared.streams.left -= 1;
    const state = known ?? { isActive: true, lastTime: undefined, sameTime: new Set<string>() };
    state.isActive = true;
    followed.set(key, state);
    // It never rejects.
    void followOne(source, { id, client, state, shared }, signal).finally(() => {
      state.isActive = false;
      shared.streams.left += 1;
    });
  }
  if (left > 0) shared.sink.trouble(tooMany(left, id));
}

async function followOne(
  source: LogSource,
  { id, client, state, shared }: Stream,
  signal: AbortSignal,
): Promise<void> {
  const { tail } = shared.filter;
  try {
    if (state.lastTime === undefined && source.isWanted !== undefined && tail !== undefined) {
      await tellLast(source, { id, client, state, shared }, signal);
    }
    for await (const line of client.logs?.(refOf(source, state, shared.filter), signal) ?? []) {
      if (isOld(line, state)) continue;
      const item = itemOf(line, id, source);
      if (item !== undefined) shared.sink.line(item);
    }
  } catch (error) {
    if (!signal.aborted) shared.sink.trouble(sourceError(error, source, id));
  }
}

/** Of a controller's lines the last that are about the components, wherever they are; the server cannot tell. */
async function tellLast(
  source: LogSource,
  { id, client, state, shared }: Stream,
  signal: AbortSignal,
): Promise<void> {
  const { tail = 0 } = shared.filter;
  const ref = { ...refOf(source, state, shared.filter), follow: false };
  const last: LogItem[] = [];
  for await (const line of client.logs?.(ref, signal) ?? []) {
    if (isOld(line, state)) continue;
    const item = itemOf(line, id, source);
    if (item !== undefined) last.push(item);
    if (last.length > tail) last.shift();
  }
  for (const item of last) shared.sink.line(item);
}

function refOf(
  { namespace, pod, container, isWanted }: LogSource,
  { lastTime }: Followed,
  { tail, sinceTime }: LogFilter,
): LogRef {
  const since = lastTime ?? sinceTime;
  const isCut = lastTime === undefined && tail !== undefined && isWanted === undefined;
  return {
    namespace,
    pod,
    container,
    follow: true,
    ...(since === undefined ? {} : { sinceTime: since }),
    ...(isCut ? { tailLines: tail } : {}),
  };
}

/** Remembers how far a container was read; `sinceTime` has whole seconds for the kubelet, so what was shown comes again. */
function isOld(line: string, state: Followed): boolean {
  const [time = ""] = line.split(" ", 1);
  const { lastTime } = state;
  if (Number.isNaN(Date.parse(time))) return false;
  if (lastTime !== undefined && time < lastTime) return true;
  if (time !== lastTime) state.sameTime.clear();
  const isKnown = state.sameTime.has(line);
  state.lastTime = time;
  state.sameTime.add(line);
  return isKnown;
}

function onceEach({ line, trouble }: FollowSink): FollowSink {
  const told = new Set<string>();
  return {
    line,
    trouble(error) {
      const key = `${error.cluster} ${error.reason} ${error.message}`;
      if (told.has(key)) return;
      told.add(key);
      trouble(error);
    },
  };
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
