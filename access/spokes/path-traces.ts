import { randomBytes } from "node:crypto";

/** When something began and ended, in ms since the epoch with fractions. */
export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

/** A finished step on the way to a spoke, with the ids of W3C Trace Context. Holds no secret and no foreign text. */
export interface PathSpan extends Times {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: StepName;
  readonly attributes: SpanAttributes;
  /** Code of the failure; absent when the step succeeded. */
  readonly code?: string;
}

/**
 * `spoke.resolve`: profile and provider file to an access plan. `spoke.attempt`: all that follows, until the server answered.
 * `spoke.plugin`: a run of the plugin or built-in reader. `spoke.tcp`, or `spoke.tunnel` through a proxy: the way to the
 * server; `spoke.tls`: the handshake on it. `spoke.request`: the first request, on the connection.
 */
export type StepName =
  `spoke.${"resolve" | "attempt" | "plugin" | "tcp" | "tls" | "tunnel" | "request"}`;

export type SpanAttributes = Readonly<Record<string, string | number>>;

/** A step that others belong to. */
export type SpanParent = Pick<PathSpan, "traceId" | "spanId">;

/** A step that is being made. */
export interface OpenSpan extends SpanParent {
  end(code?: string): void;
}

/** Traces of the way to the spokes: it is told of each step, and tells whoever listens when the step is done. */
export class PathTraces {
  readonly #listeners = new Set<(span: PathSpan) => void>();

  /** Calls back with every finished step. */
  onSpan(listener: (span: PathSpan) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Begins a step now; without a parent it begins a trace. */
  begin(name: StepName, attributes: SpanAttributes, parent?: SpanParent): OpenSpan {
    const ids = idsOf(parent);
    const startMs = epochMs();
    return {
      ...ids,
      end: (code) => this.#tell({ ...ids, name, attributes, startMs, endMs: epochMs() }, code),
    };
  }

  /** A step that is over already. */
  record(
    span: Pick<PathSpan, "name" | "attributes" | "code"> & Times,
    parent?: SpanParent,
  ): SpanParent {
    const ids = idsOf(parent);
    this.#tell({ ...span, ...ids }, span.code);
    return ids;
  }

  #tell(span: PathSpan, code?: string): void {
    const told = code === undefined ? span : { ...span, code };
    for (const listener of this.#listeners) listener(told);
  }
}

/** The time as spans have it. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

function idsOf(parent?: SpanParent): SpanParent & { readonly parentSpanId?: string } {
  const spanId = randomBytes(8).toString("hex");
  if (parent === undefined) return { traceId: randomBytes(16).toString("hex"), spanId };
  return { traceId: parent.traceId, spanId, parentSpanId: parent.spanId };
}
