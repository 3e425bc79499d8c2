import { type PathSpan, PathTraces, type SpanAttributes } from "../../access/spokes/path-traces.ts";
import type { Log } from "../../controller/log.ts";

interface TraceExportOptions {
  /** Full URL that takes OTLP/HTTP, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly version: string;
  readonly log: Pick<Log, "info" | "warn">;
}

const everyMs = 2_000;
const timeoutMs = 5_000;
const maxBatch = 512;
const maxWaiting = 2_048;

/**
 * Sends the steps on the way to the spokes to an OpenTelemetry collector, as OTLP/HTTP with JSON. A collector that is away or
 * slow costs nothing but spans: at most 2,048 wait for it. Disposing sends what is left, within five seconds.
 */
class TraceExport implements AsyncDisposable {
  readonly #options: TraceExportOptions;
  readonly #listening: Disposable;
  readonly #timer: NodeJS.Timeout;
  #waiting: PathSpan[] = [];
  #dropped = 0;
  #sending: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: TraceExportOptions, traces: PathTraces) {
    this.#options = options;
    this.#listening = traces.onSpan((span) => {
      if (this.#waiting.length < maxWaiting) this.#waiting.push(span);
      else this.#dropped += 1;
    });
    this.#timer = setInterval(() => void this.#flush(), everyMs).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#listening[Symbol.dispose]();
    await this.#flush();
  }

  /** Never rejects. */
  #flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    const late = AbortSignal.timeout(timeoutMs);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, maxBatch);
      const problem = await this.#send(batch, late);
      this.#tell(problem);
      // They wait for the next time; what comes meanwhile may find no place.
      if (problem !== undefined) return;
      this.#waiting = this.#waiting.slice(batch.length);
    }
  }

  async #send(spans: readonly PathSpan[], signal: AbortSignal): Promise<string | undefined> {
    const { url, version } = this.#options;
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(otlpOf(spans, version)),
        redirect: "error",
        signal,
      });
      await answer.body?.cancel();
      return answer.ok ? undefined : `it answered ${answer.status}`;
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
      return `it cannot be reached${code}`;
    }
  }

  #tell(problem: string | undefined): void {
    const { log } = this.#options;
    if (problem !== undefined && !this.#isFailing) {
      log.warn({ problem }, "The collector does not take traces");
    }
    if (problem === undefined && this.#isFailing) {
      log.info({ dropped: this.#dropped }, "The collector takes traces again");
      this.#dropped = 0;
    }
    this.#isFailing = problem !== undefined;
  }
}

/**
 * Traces for the whole process. Writes each step at level debug, and sends it to the collector when there is one: at the flag's URL, else at
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` as it is, else at `OTEL_EXPORTER_OTLP_ENDPOINT` and `/v1/traces`.
 */
export function tracing(flag: string | undefined, surroundings: TracingSurroundings): Tracing {
  const traces = new PathTraces();
  const { environment, version, log } = surroundings;
  const ended = new AsyncDisposableStack();
  const listening = traces.onSpan(({ attributes, startMs, endMs, name, ...ids }) => {
    const ms = Math.round((endMs - startMs) * 1_000) / 1_000;
    const { "knfleet.clusterprofile": spoke } = attributes;
    log.debug({ span: name, spoke, ms, ...ids }, "A step on the way to a spoke");
  });
  ended.use(listening);
  const url = tracesUrlOf(flag, environment);
  if (url !== undefined) ended.use(new TraceExport({ url, version, log }, traces));
  return { traces, [Symbol.asyncDispose]: () => ended.disposeAsync() };
}

export interface Tracing extends AsyncDisposable {
  readonly traces: PathTraces;
}

export interface TracingSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: Pick<Log, "debug" | "info" | "warn">;
}

function tracesUrlOf(
  flag: string | undefined,
  environment: TracingSurroundings["environment"],
): string | undefined {
  const own = flag ?? environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? "";
  if (own !== "") return own;
  const base = environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "";
  return base === "" ? undefined : `${base.replace(/\/+$/, "")}/v1/traces`;
}

const spanKindInternal = 1;
const statusError = 2;

/** The JSON form of `ExportTraceServiceRequest`. Format: OTLP 1.x, JSON encoding of protobuf. */
function otlpOf(spans: readonly PathSpan[], version: string): object {
  const resource = { attributes: attributesOf({ "service.name": "knfleet-controller" }) };
  const scope = { name: "knfleet", version };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: spans.map(spanOf) }] }] };
}

function spanOf(span: PathSpan): object {
  const { traceId, spanId, parentSpanId, name, code } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: spanKindInternal,
    startTimeUnixNano: nanosecondsOf(span.startMs),
    endTimeUnixNano: nanosecondsOf(span.endMs),
    attributes: attributesOf(span.attributes),
    status: code === undefined ? {} : { code: statusError, message: code },
  };
}

function attributesOf(attributes: SpanAttributes): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  }));
}

/** As a text: the number does not fit into a double. */
function nanosecondsOf(ms: number): string {
  const whole = Math.floor(ms);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1_000_000)));
}
