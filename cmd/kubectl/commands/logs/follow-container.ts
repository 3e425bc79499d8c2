import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient, LogRef } from "../../../../access/kube/kube-client.ts";
import type { ReportError } from "../../output/report.ts";
import { itemOf, type LogItem, type LogSource } from "./log-line.ts";
import { hasNotBegun, sourceError, type LogFilter } from "./read-logs.ts";

/** Receiver of followed lines. */
export interface FollowSink {
  readonly line: (item: LogItem) => void;
  readonly trouble: (error: ReportError) => void;
}

/** One container and how far it was read. */
export class FollowedContainer {
  readonly #source: LogSource;
  readonly stop = new AbortController();
  isActive = false;
  /** Since when the container is not selected, on a monotonic clock; undefined while it is. */
  unwantedMs: number | undefined;
  /** Attempts in a row that the API server refused. */
  refused = 0;
  /** Time of the last line. */
  lastTime: string | undefined;
  /** Lines of that time, which come again with `sinceTime`. */
  readonly #sameTime = new Set<string>();
  /** The last lines that were about nothing that is wanted, as long as that may change. */
  #skipped: string[] = [];

  constructor(source: LogSource) {
    this.#source = source;
  }

  skip(line: string): void {
    if (line.length > longestSkipped) return;
    this.#skipped.push(line);
    if (this.#skipped.length > mostSkipped) this.#skipped.shift();
  }

  /** Lines that were skipped and are selected now, each once; `cluster` is null for the hub. */
  wantedNow(cluster: string | null): readonly LogItem[] {
    const items = this.#skipped.map((line) => ({
      line,
      item: itemOf(line, cluster, this.#source),
    }));
    this.#skipped = items.flatMap(({ line, item }) => (item === undefined ? [line] : []));
    return items.flatMap(({ item }) => item ?? []);
  }

  /** Remembers how far it was read; `sinceTime` has whole seconds for the kubelet, so what was shown comes again. */
  isOld(line: string): boolean {
    const [time = ""] = line.split(" ", 1);
    if (Number.isNaN(Date.parse(time))) return false;
    if (this.lastTime !== undefined && time < this.lastTime) return true;
    if (time !== this.lastTime) this.#sameTime.clear();
    const isKnown = this.#sameTime.has(line);
    this.lastTime = time;
    this.#sameTime.add(line);
    return isKnown;
  }
}

// The controller logs about a new component before the hub reports the component to us.
const mostSkipped = 500;
const longestSkipped = 4_096;

interface Stream {
  /** `namespace/name` of the ClusterProfile; null for the hub. */
  readonly id: string | null;
  readonly client: KubeClient;
  readonly filter: LogFilter;
  readonly sink: FollowSink;
  readonly state: FollowedContainer;
}

// A container of a new pod says nothing for some seconds, and that is no trouble.
const patience = 3;

/** Tells the lines of one container until its stream ends or the signal aborts. Never rejects. */
export async function followContainer(
  source: LogSource,
  stream: Stream,
  signal: AbortSignal,
): Promise<void> {
  const { id, client, filter, sink, state } = stream;
  const end = AbortSignal.any([signal, state.stop.signal]);
  try {
    if (
      state.lastTime === undefined &&
      source.isWanted !== undefined &&
      filter.tail !== undefined
    ) {
      await tellLast(source, stream, end);
    }
    for await (const line of client.logs?.(refOf(source, state, filter), end) ?? []) {
      state.refused = 0;
      if (state.isOld(line)) continue;
      const item = itemOf(line, id, source);
      if (item !== undefined) sink.line(item);
      else state.skip(line);
    }
    state.refused = 0;
  } catch (error) {
    if (!end.aborted && isTrouble(error, state)) sink.trouble(sourceError(error, source, id));
  }
}

/** A pod that is gone is none, and a container that does not run yet only after a while. */
function isTrouble(error: unknown, state: FollowedContainer): boolean {
  if (!(error instanceof ApiError)) return true;
  if (error.status === 404 || hasNotBegun(error)) return false;
  if (error.status !== 400) return true;
  state.refused += 1;
  return state.refused >= patience;
}

/** Of a controller's lines the last that are about the components, wherever they are; the server cannot tell. */
async function tellLast(
  source: LogSource,
  { id, client, filter, sink, state }: Stream,
  signal: AbortSignal,
): Promise<void> {
  const { tail = 0 } = filter;
  const ref = { ...refOf(source, state, filter), follow: false };
  const last: LogItem[] = [];
  for await (const line of client.logs?.(ref, signal) ?? []) {
    if (state.isOld(line)) continue;
    const item = itemOf(line, id, source);
    if (item !== undefined) last.push(item);
    if (last.length > tail) last.shift();
  }
  for (const item of last) sink.line(item);
}

function refOf(
  { namespace, pod, container, isWanted }: LogSource,
  { lastTime }: FollowedContainer,
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
