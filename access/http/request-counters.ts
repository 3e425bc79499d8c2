import { byText } from "../../api/fields.ts";
import type { Clock } from "../time/clock.ts";

/** Requests of one verb so far. Bytes are those of bodies, without headers and TLS. */
export interface RequestCount {
  requests: number;
  sentBytes: number;
  receivedBytes: number;
}

/** The end of one request: its answer began, or it failed. */
export interface RequestEnd {
  /** Host and port of the server. */
  readonly host: string;
  readonly method: string;
  /** Kubernetes verb. */
  readonly verb: string;
  /** HTTP status, or `<error>` without an answer, as in client-go. */
  readonly code: string;
  /** Until the answer began. */
  readonly elapsedMs: number;
}

/** How many requests to one server ended with one code. */
export type RequestEnds = Omit<RequestEnd, "elapsedMs" | "verb"> & { readonly count: number };

interface Server {
  users: number;
  /** When the last user left. */
  leftAt: number;
  readonly ends: Map<string, RequestEnds>;
}

const rememberedMs = 10 * 60_000;

/**
 * Counts requests by Kubernetes verb: `get`, `list`, `watch`, `create`, `apply`, `patch`, `update`, `delete`, … Counts their ends by server, and forgets
 * a server ten minutes after its last use.
 */
export class RequestCounters {
  readonly #counts = new Map<string, RequestCount>();
  readonly #servers = new Map<string, Server>();
  readonly #listeners = new Set<(end: RequestEnd) => void>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

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
    const sorted = [...this.#counts].toSorted(byText(([key]) => key));
    return Object.fromEntries(sorted.map(([verb, count]) => [verb, { ...count }]));
  }

  /** Keeps the counts of a server until the result is disposed. */
  use(host: string): Disposable {
    const server = this.#serverOf(host);
    server.users += 1;
    let isUsed = true;
    return {
      [Symbol.dispose]: () => {
        if (!isUsed) return;
        isUsed = false;
        server.users -= 1;
        server.leftAt = this.#clock.now();
      },
    };
  }

  countEnd(end: RequestEnd): void {
    const { host, method, code } = end;
    const { ends } = this.#serverOf(host);
    const key = `${method} ${code}`;
    ends.set(key, { host, method, code, count: (ends.get(key)?.count ?? 0) + 1 });
    for (const listener of this.#listeners) listener(end);
  }

  /** How requests ended so far, by server, method and code. */
  ends(): readonly RequestEnds[] {
    for (const [host, { users, leftAt }] of this.#servers) {
      if (users === 0 && this.#clock.now() - leftAt > rememberedMs) this.#servers.delete(host);
    }
    return [...this.#servers.values()].flatMap(({ ends }) => [...ends.values()]);
  }

  /** Calls back for every request that ends. */
  onEnd(listener: (end: RequestEnd) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #serverOf(host: string): Server {
    const known = this.#servers.get(host);
    if (known !== undefined) return known;
    const fresh = { users: 0, leftAt: this.#clock.now(), ends: new Map<string, RequestEnds>() };
    this.#servers.set(host, fresh);
    return fresh;
  }
}
