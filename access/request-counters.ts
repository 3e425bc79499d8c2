/** What one kind of request has cost so far. Bytes are those of bodies, without headers and TLS. */
export interface RequestCount {
  requests: number;
  sentBytes: number;
  receivedBytes: number;
}

/** Counts requests by Kubernetes verb: `get`, `list`, `watch`, `create`, `apply`, `patch`, `update`, `delete`, … */
export class RequestCounters {
  readonly #counts = new Map<string, RequestCount>();

  /** The live count of one verb. */
  of(verb: string): RequestCount {
    const known = this.#counts.get(verb);
    if (known !== undefined) return known;
    const fresh: RequestCount = { requests: 0, sentBytes: 0, receivedBytes: 0 };
    this.#counts.set(verb, fresh);
    return fresh;
  }

  /** A copy of all counts, sorted by verb. */
  snapshot(): Readonly<Record<string, Readonly<RequestCount>>> {
    const sorted = [...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([verb, count]) => [verb, { ...count }]));
  }
}
