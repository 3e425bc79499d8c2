import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient, LogRef } from "../../../../access/kube/kube-client.ts";
import { Follower } from "../../../../access/time/deadline.ts";
import { hasNoLog, sourceError, type LogFilter } from "../../fleet/read-logs.ts";
import type { ReportError } from "../../output/report.ts";
import { itemOf, type LogItem, type LogSource } from "../../spokes/log-line.ts";

/** Receiver of followed lines. */
export interface FollowSink {
  readonly line: (item: LogItem) => void;
  readonly trouble: (error: ReportError) => void;
}

/** One container, and how far its log was read. */
export class FollowedContainer {
  readonly #source: LogSource;
  readonly stop = new AbortController();
  isActive = false;
  /** Time since which the container is not selected, on a monotonic clock; undefined while it is selected. */
  unwantedMs: number | undefined;
  /** Attempts in a row that the API server refused. */
  refused = 0;
  /** Time of the last line. */
  lastTime: string | undefined;
  /** Lines of `lastTime`, which a new stream with `sinceTime` repeats. */
  readonly #sameTime = new Set<string>();
  /** The last lines that are about no selected component. They are shown when the component is selected later. */
  #skipped: string[] = [];

  constructor(source: LogSource) {
    this.#source = source;
  }

  skip(line: string): void {
    if (line.length > maxSkippedLength) return;
    this.#skipped.push(line);
    if (this.#skipped.length > maxSkipped) this.#skipped.shift();
  }

  /** Returns skipped lines that are wanted now, each once; `cluster` is null for the hub. */
  wantedNow(cluster: string | null): readonly LogItem[] {
    const items = this.#skipped.map((line) => ({
      line,
      item: itemOf(line, cluster, this.#source),
    }));
    this.#skipped = items.flatMap(({ line, item }) => (item === undefined ? [line] : []));
    return items.flatMap(({ item }) => item ?? []);
  }

  /** Whether a line was read before. The kubelet takes whole seconds of `sinceTime`, so a new stream repeats lines. */
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
const maxSkipped = 500;
const maxSkippedLength = 4_096;

interface Stream {
  /** `namespace/name` of the ClusterProfile; null for the hub. */
  readonly id: string | null;
  readonly client: KubeClient;
  readonly filter: LogFilter;
  readonly sink: FollowSink;
  readonly state: FollowedContainer;
}

// The API server refuses the log of a new container for some seconds.
const mostRefusals = 3;

/** Passes on the lines of one container until its stream ends or the signal aborts. Never rejects. */
export async function followContainer(
  source: LogSource,
  stream: Stream,
  signal: AbortSignal,
): Promise<void> {
  const { id, client, filter, sink, state } = stream;
  using follower = new Follower(signal, state.stop.signal);
  const end = follower.signal;
  try {
    if (
      state.lastTime === undefined &&
      source.isWanted !== undefined &&
      filter.tail !== undefined
    ) {
      await reportLastLines(source, stream, end);
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

/** Whether to report an error: not for a deleted pod, and for a container that does not run yet only after some attempts. */
function isTrouble(error: unknown, state: FollowedContainer): boolean {
  if (!(error instanceof ApiError)) return true;
  if (error.status === 404 || hasNoLog(error)) return false;
  if (error.status !== 400) return true;
  state.refused += 1;
  return state.refused >= mostRefusals;
}

/** Passes on the last lines of a controller that are about the components. The server cannot select them, so the whole log is read. */
async function reportLastLines(
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
