import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import type { Report } from "../main/report.ts";
import type { ReportError } from "../output/report.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { isRemote } from "../spokes/live-view.ts";
import {
  findControllerSources,
  inTimeOrder,
  itemOf,
  type LogItem,
  type LogList,
  type LogSource,
  findSpokeSources,
} from "../spokes/log-line.ts";
import { targetsOf } from "../spokes/read-clusters.ts";
import { unreadBecause } from "../spokes/spoke-reading.ts";
import type { Fleet } from "./fleet.ts";

/** Which lines to read. */
export interface LogFilter {
  /** RFC 3339; undefined: lines of any age. */
  readonly sinceTime: string | undefined;
  /** Number of last lines of each container; undefined: all. */
  readonly tail: number | undefined;
  /** Only containers of this name. */
  readonly container: string | undefined;
  readonly maxStreams: number;
}

/** Log lines of one cluster, and the sources that could not be read. */
interface ClusterLogs {
  readonly streams: readonly (readonly LogItem[])[];
  readonly errors: readonly ReportError[];
}

/** Reads the log lines of controllers on the hub about the selected installations, and with `live` those of their Deployments, by time. Throws only when the hub cannot be read. */
export async function readLogs(
  fleet: Fleet,
  filter: LogFilter,
  live: boolean,
): Promise<Report<LogItem> & { readonly summary: LogList["summary"] }> {
  const { components, missing } = await fleet.installations();
  const access = await fleet.access();
  const budget = new StreamBudget(filter.maxStreams);
  const near = live ? components : components.filter((component) => !isRemote(component));
  const [hub, spokes] = await Promise.all([
    readHubLogs(components, { access, filter, budget }, fleet.signal),
    fleet.read(targetsOf(near), async (cluster, deadline) => {
      const sources = await findSpokeSources(components, cluster, deadline);
      const place = { ...cluster, id: cluster.id === "" ? null : cluster.id };
      return readSources(sources, { ...place, filter, budget }, deadline);
    }),
  ]);
  const read = [hub, ...spokes.all.map(([, logs]) => logs)];
  const streams = read.flatMap((one) => one.streams);
  const items = inTimeOrder(streams);
  const errors = [...read.flatMap((one) => one.errors), ...spokes.unread];
  return {
    items,
    summary: { lines: items.length, streams: streams.length, ...spokes.counts },
    errors: [...missing, ...errors],
    complete: errors.length === 0,
  };
}

/** Limits the containers that are read on all clusters. */
class StreamBudget {
  #left: number;

  constructor(streams: number) {
    this.#left = streams;
  }

  /** The first of the sources, as many as may still be read. */
  take<Source>(sources: readonly Source[]): readonly Source[] {
    const taken = sources.slice(0, this.#left);
    this.#left -= taken.length;
    return taken;
  }
}

async function readHubLogs(
  components: readonly Component[],
  {
    access,
    filter,
    budget,
  }: Pick<LogPlace, "filter" | "budget"> & { readonly access: ClusterAccess },
  signal: AbortSignal,
): Promise<ClusterLogs> {
  const { hub, hubTimeoutMs } = access;
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  try {
    const sources = await findControllerSources(components, hub, deadline);
    if (sources === undefined) return { streams: [], errors: [controllerUnseen] };
    return await readSources(sources, { id: null, client: hub, filter, budget }, deadline);
  } catch (error) {
    signal.throwIfAborted();
    return { streams: [], errors: [errorOf(error, null, hubTimeoutMs)] };
  }
}

/** The controller cannot be looked for. */
export const controllerUnseen: ReportError = {
  reason: "Forbidden",
  message: "Deployments may not be listed, so the controller's log is not looked for",
  cluster: null,
};

interface LogPlace {
  /** Null for the hub. */
  readonly id: string | null;
  readonly client: KubeClient;
  readonly filter: LogFilter;
  readonly budget: StreamBudget;
}

async function readSources(
  all: readonly LogSource[],
  { id, client, filter, budget }: LogPlace,
  signal: AbortSignal,
): Promise<ClusterLogs> {
  const sources = wantedSources(all, filter);
  const taken = budget.take(sources);
  const read = await Promise.all(
    taken.map(async (source) => {
      try {
        return { items: await readLines(source, { id, client, filter }, signal), errors: [] };
      } catch (error) {
        signal.throwIfAborted();
        return { items: [], errors: hasNoLog(error) ? [] : [sourceError(error, source, id)] };
      }
    }),
  );
  const errors = read.flatMap((one) => one.errors);
  const left = sources.length - taken.length;
  return {
    streams: read.map(({ items }) => items),
    errors: left === 0 ? errors : [...errors, streamLimitError(left, id)],
  };
}

/** Whether a pod has no log because no node runs it yet (the API server answers 204), or because it is gone. That is no failure. */
export function hasNoLog(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 204 || (error.status === 404 && error.message.startsWith("pods "));
}

/** The sources that the filter selects. */
export function wantedSources(
  sources: readonly LogSource[],
  { container }: Pick<LogFilter, "container">,
): readonly LogSource[] {
  return sources.filter((source) => container === undefined || source.container === container);
}

/** The error for containers beyond `--max-streams`. */
export function streamLimitError(left: number, cluster: string | null): ReportError {
  const message = `${left} more containers were not read: --max-streams was reached`;
  return { reason: "StreamLimit", message, cluster };
}

/** The error for one container that could not be read. */
export function sourceError(
  error: unknown,
  { namespace, pod, container }: LogSource,
  cluster: string | null,
): ReportError {
  const said = error instanceof ApiError ? withoutLog(error) : undefined;
  const { reason, message } = said ?? errorOf(error, cluster, 0);
  return { reason, message: `${namespace}/${pod} ${container}: ${message}`, cluster };
}

// What an API server says when it does not reach a kubelet, or when the kubelet fails. A message without these words is about the API server itself.
const ofKubelet = /containerLogs|kubelet|preferred address|pods\/log/i;

/** What an API server says of a log that it cannot get although it is well itself: the log is at the kubelet of the node. */
function withoutLog({
  isStatus,
  status,
  message,
}: ApiError): Pick<ReportError, "reason" | "message"> | undefined {
  if (!isStatus) return undefined;
  if (status === 400 && message.includes("is waiting to start")) {
    return { reason: "NotStarted", message };
  }
  const isOfKubelet =
    status === 400 || status === 404 || (status >= 500 && ofKubelet.test(message));
  return isOfKubelet ? { reason: "LogUnavailable", message } : undefined;
}

function errorOf(error: unknown, cluster: string | null, timeoutMs: number): ReportError {
  const { reason, message } = unreadBecause(error, timeoutMs);
  return { reason, message, cluster };
}

async function readLines(
  source: LogSource,
  { id, client, filter }: Pick<LogPlace, "id" | "client" | "filter">,
  signal: AbortSignal,
): Promise<readonly LogItem[]> {
  const { namespace, pod, container, isWanted } = source;
  const { sinceTime, tail } = filter;
  const ref = { namespace, pod, container, follow: false };
  const lines = client.logs?.(
    {
      ...ref,
      ...(sinceTime === undefined ? {} : { sinceTime }),
      // The last lines of a controller about the components may be anywhere in its log.
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
