import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { selectInstallations } from "../../hub/installations.ts";
import {
  notFoundErrors,
  type Report,
  type ReportError,
  reportOf,
  stampAt,
} from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { isRemote } from "../../spokes/live-view.ts";
import { readEach, type ReadLimits, unreadErrors } from "../../spokes/read-clusters.ts";
import { unreadBecause } from "../../spokes/spoke-reading.ts";
import {
  controllerSources,
  inOrder,
  itemOf,
  type LogItem,
  type LogSource,
  spokeSources,
} from "./log-line.ts";

interface LogSummary {
  readonly lines: number;
  /** Containers that were read. */
  readonly streams: number;
  readonly clusters: number;
  readonly unread: number;
}

export type LogList = Report<"LogList", LogSummary, LogItem>;

/** Which lines. */
export interface LogFilter {
  /** RFC 3339; absent: of any age. */
  readonly sinceTime: string | undefined;
  /** Of each container the last so many; absent: all. */
  readonly tail: number | undefined;
  /** Only containers of this name. */
  readonly container: string | undefined;
  readonly maxStreams: number;
}

export interface LogDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  /** False: the hub alone. */
  readonly live: boolean;
  readonly now: () => Date;
}

/** Log lines of one cluster, and the sources that could not be read. */
interface ClusterLogs {
  readonly streams: readonly (readonly LogItem[])[];
  readonly errors: readonly ReportError[];
}

/** The log lines about the selected installations, of the controllers on the hub and of their Deployments, by time. Throws only when the hub cannot be read. */
export async function readLogs(
  { selection, filter }: { readonly selection: Selection; readonly filter: LogFilter },
  { access, limits, live, now }: LogDeps,
  signal: AbortSignal,
): Promise<LogList> {
  const { components, missing } = await selectInstallations(access, selection, signal);
  const budget = new StreamBudget(filter.maxStreams);
  const [hub, readings] = await Promise.all([
    hubLogs(components, { access, filter, budget }, signal),
    readEach(
      live ? components : components.filter((component) => !isRemote(component)),
      {
        access,
        limits,
        read: async (cluster, deadline) => {
          const sources = await spokeSources(components, cluster, deadline);
          const place = { ...cluster, id: cluster.id === "" ? null : cluster.id };
          return readSources(sources, { ...place, filter, budget }, deadline);
        },
      },
      signal,
    ),
  ]);
  const read = [hub, ...[...readings.values()].flatMap(factsOf)];
  const streams = read.flatMap((one) => one.streams);
  const items = inOrder(streams);
  const unread = unreadErrors(readings);
  const errors = [...read.flatMap((one) => one.errors), ...unread];
  return reportOf("LogList", stampAt(now()), {
    complete: errors.length === 0,
    summary: {
      lines: items.length,
      streams: streams.length,
      clusters: readings.size,
      unread: unread.length,
    },
    items,
    errors: [...notFoundErrors(missing), ...errors],
  });
}

function factsOf<Facts>(reading: { readonly kind: string; readonly facts?: Facts }): Facts[] {
  return reading.facts === undefined ? [] : [reading.facts];
}

/** Counts the containers that are read, on all clusters. */
class StreamBudget {
  #left: number;

  constructor(streams: number) {
    this.#left = streams;
  }

  /** As many of them as may still be read. */
  take<Source>(sources: readonly Source[]): readonly Source[] {
    const taken = sources.slice(0, this.#left);
    this.#left -= taken.length;
    return taken;
  }
}

async function hubLogs(
  components: readonly Component[],
  { access, filter, budget }: Pick<LogDeps, "access"> & Pick<Place, "filter" | "budget">,
  signal: AbortSignal,
): Promise<ClusterLogs> {
  const { hub, hubTimeoutMs } = access;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutMs)]);
  try {
    const sources = await controllerSources(components, hub, deadline);
    if (sources === undefined) return { streams: [], errors: [unseen] };
    return await readSources(sources, { id: null, client: hub, filter, budget }, deadline);
  } catch (error) {
    signal.throwIfAborted();
    return { streams: [], errors: [errorOf(error, null, hubTimeoutMs)] };
  }
}

/** The place of the controller is unknown. */
export const unseen: ReportError = {
  reason: "Forbidden",
  message: "Deployments may not be listed, so the controller's log is not looked for",
  cluster: null,
};

interface Place {
  /** Null for the hub. */
  readonly id: string | null;
  readonly client: KubeClient;
  readonly filter: LogFilter;
  readonly budget: StreamBudget;
}

async function readSources(
  all: readonly LogSource[],
  { id, client, filter, budget }: Place,
  signal: AbortSignal,
): Promise<ClusterLogs> {
  const sources = wantedSources(all, filter);
  const taken = budget.take(sources);
  const read = await Promise.all(
    taken.map(async (source) => {
      try {
        return { items: await linesOf(source, { id, client, filter }, signal), errors: [] };
      } catch (error) {
        signal.throwIfAborted();
        return { items: [], errors: hasNotBegun(error) ? [] : [sourceError(error, source, id)] };
      }
    }),
  );
  const errors = read.flatMap((one) => one.errors);
  const left = sources.length - taken.length;
  return {
    streams: read.map(({ items }) => items),
    errors: left === 0 ? errors : [...errors, tooMany(left, id)],
  };
}

/** A pod that no node has yet has no log, which its API server says with 204 and is no trouble. */
export function hasNotBegun(error: unknown): boolean {
  return error instanceof ApiError && error.status === 204;
}

/** The containers that were asked for. */
export function wantedSources(
  sources: readonly LogSource[],
  { container }: Pick<LogFilter, "container">,
): readonly LogSource[] {
  return sources.filter((source) => container === undefined || source.container === container);
}

/** Sources beyond the limit of `--max-streams`. */
export function tooMany(left: number, cluster: string | null): ReportError {
  const message = `${left} more containers were not read: --max-streams was reached`;
  return { reason: "StreamLimit", message, cluster };
}

/** Why one container could not be read. */
export function sourceError(
  error: unknown,
  { namespace, pod, container }: LogSource,
  cluster: string | null,
): ReportError {
  const { reason, message } = errorOf(error, cluster, 0);
  return { reason, message: `${namespace}/${pod} ${container}: ${message}`, cluster };
}

function errorOf(error: unknown, cluster: string | null, timeoutMs: number): ReportError {
  const { reason, message } = unreadBecause(error, timeoutMs);
  return { reason, message, cluster };
}

async function linesOf(
  source: LogSource,
  { id, client, filter }: Pick<Place, "id" | "client" | "filter">,
  signal: AbortSignal,
): Promise<readonly LogItem[]> {
  const { namespace, pod, container, isWanted } = source;
  const { sinceTime, tail } = filter;
  const ref = { namespace, pod, container, follow: false };
  const lines = client.logs?.(
    {
      ...ref,
      ...(sinceTime === undefined ? {} : { sinceTime }),
      // Of a controller's lines the last that are about the components, wherever they are.
      ...(tail === undefined || isWanted !== undefined ? {} : { tailLines: tail }),
    },
    signal,
  );
  const items: LogItem[] = [];
  for await (const line of lines ?? []) {
    const item = itemOf(line, id, source);
    if (item !== undefined) items.push(item);
    if (tail !== undefined && items.length > tail) items.shift();
  }
  return items;
}
