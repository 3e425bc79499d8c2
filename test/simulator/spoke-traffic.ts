import { writingVerbs } from "../e2e/requests.ts";

/** What a virtual spoke does instead of what it should. */
export interface Faults {
  /** Milliseconds before each answer. */
  readonly latencyMs?: number;
  /** Takes connections and requests and never answers, and its watches tell nothing. */
  readonly isBlackHole?: boolean;
  /** Answers each request with this status, as 429 with `Retry-After: 1`. */
  readonly refusal?: number;
  /** Knows no token any more. */
  readonly hasExpiredTokens?: boolean;
  /** Running watches tell nothing any more, not even bookmarks. */
  readonly hasFrozenWatches?: boolean;
}

/** A request that a virtual spoke answered. */
export interface CountedRequest {
  /** As in audit logs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or the method in small letters. */
  readonly verb: string;
  /** Plural; for other paths the path. */
  readonly resource: string;
  readonly caller: string;
  readonly isDryRun: boolean;
}

/** Whether a request changes what is stored. Reviews are created and not stored. */
function isWrite({ verb, resource, isDryRun }: Omit<CountedRequest, "caller">): boolean {
  return writingVerbs.includes(verb) && !isDryRun && !resource.startsWith("self");
}

/** After this silence of the one that replaced it, a caller may write again: as long as a Lease lasts. */
const leaseMs = 15_000;

/** Counts requests to one virtual spoke, and finds out when two callers write to it in turns. */
export class SpokeTraffic {
  readonly #counts = new Map<string, number>();
  /** When each caller wrote last, by the monotonic clock. */
  readonly #wroteAt = new Map<string, number>();
  #writer: string | undefined;
  #doubleWrites = 0;

  /** Writes by a caller that another one had replaced. */
  get doubleWrites(): number {
    return this.#doubleWrites;
  }

  /** Who wrote last. */
  get writer(): string | undefined {
    return this.#writer;
  }

  /** Requests by `verb resource`, dry runs as `dry-run verb resource`. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** As `counts`, of what was written. */
  get writeCounts(): ReadonlyMap<string, number> {
    const writes = [...this.#counts].filter(([name]) => {
      const [verb = "", resource = ""] = name.split(" ");
      return isWrite({ verb, resource, isDryRun: false });
    });
    return new Map(writes);
  }

  get writes(): number {
    return this.writeCounts.values().reduce((sum, count) => sum + count, 0);
  }

  reset(): void {
    this.#counts.clear();
    this.#doubleWrites = 0;
  }

  /** Counts a request. False for a write that must be refused, because its caller was replaced. */
  note(request: CountedRequest): boolean {
    const { verb, resource, caller, isDryRun } = request;
    const name = `${isDryRun ? "dry-run " : ""}${verb} ${resource}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return !isWrite(request) || this.#mayWrite(caller);
  }

  #mayWrite(caller: string): boolean {
    const now = performance.now();
    const hasWritten = this.#wroteAt.has(caller);
    if (caller !== this.#writer && hasWritten) {
      const sinceOther = now - (this.#wroteAt.get(this.#writer ?? "") ?? -Infinity);
      if (sinceOther < leaseMs) {
        this.#doubleWrites += 1;
        return false;
      }
    }
    this.#writer = caller;
    this.#wroteAt.set(caller, now);
    return true;
  }
}
