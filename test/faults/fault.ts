import type { IncomingHttpHeaders } from "node:http";

/** A request as a fault proxy sees it before it decides. */
export interface Seen {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly isWrite: boolean;
  readonly isWatch: boolean;
  /** Counts the requests of the proxy from 1. */
  readonly number: number;
  /** `performance.now()` when it arrived. */
  readonly atMs: number;
}

/** What happens to a request instead of, or besides, being passed on. */
export type Fault =
  | { readonly kind: "pass"; readonly delayMs?: number; readonly path?: string }
  | Answer
  /** The connection is cut: before the server saw the request, or when its answer was on its way. */
  | { readonly kind: "reset"; readonly when: "before" | "after" }
  /** Nothing comes back. */
  | { readonly kind: "hang" }
  /** The answer ends as if it were complete after so many bytes. */
  | { readonly kind: "truncate"; readonly bytes: number }
  /** The answer comes in pieces of so many bytes, one each `everyMs`. */
  | { readonly kind: "trickle"; readonly bytes: number; readonly everyMs: number }
  /** The answer is passed on and kept, until it ends or the client goes. */
  | { readonly kind: "record"; readonly onBody: (chunk: Buffer) => void };

/** An answer of the proxy itself; the server never sees the request. */
export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** More could follow, as in a watch; nothing does. Default: false. */
  readonly isOpen?: boolean;
}

/** Says what happens to a request; undefined: nothing of the kind. */
export type Rule = (request: Seen) => Fault | undefined;

/** A Status as an API server answers it. */
export function failure(status: number, reason: string, message: string): Answer {
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  return {
    kind: "answer",
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, message, reason, code: status }),
  };
}

/** 429 as an API server's own filter writes it: plain text. Spec: engine-facts.md 7. */
export function tooManyRequests(retryAfterS: number): Answer {
  return {
    kind: "answer",
    status: 429,
    headers: { "content-type": "text/plain", "retry-after": String(retryAfterS) },
    body: "Too many requests, please try again later.",
  };
}

/** A stale write: 409 without causes. */
export function conflict(): Answer {
  return failure(409, "Conflict", "the object has been modified; please apply your changes again");
}

/** The fault for every n-th request that is meant, beginning with the first. */
export function everyNth(n: number, fault: Fault, isMeant: (request: Seen) => boolean): Rule {
  let count = 0;
  return (request) => {
    if (!isMeant(request)) return undefined;
    count += 1;
    return (count - 1) % n === 0 ? fault : undefined;
  };
}

/** The fault for the first n requests that are meant. */
export function firstN(n: number, fault: Fault, isMeant: (request: Seen) => boolean): Rule {
  let count = 0;
  return (request) => {
    if (!isMeant(request) || count >= n) return undefined;
    count += 1;
    return fault;
  };
}

/** The fault for a part of the requests, drawn with a seed. */
export function someOf(
  { share, random }: { readonly share: number; readonly random: () => number },
  fault: Fault,
): Rule {
  return () => (random() < share ? fault : undefined);
}

/** Something that changes the cluster: not a review, and not one of the guard's probes, whose refusals have to come without a break. */
export function isWrite({ isWrite: writes, path }: Pick<Seen, "isWrite" | "path">): boolean {
  return writes && !path.includes("dryRun=") && !path.endsWith("reviews");
}

/** An ordinary request: the proxy's answer to it ends. */
export function isOrdinary({ isWatch: watches }: Seen): boolean {
  return !watches;
}
