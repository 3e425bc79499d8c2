import type { Socket } from "node:net";

import { type Clock, every } from "../time/clock.ts";

/** When a connection counts as silent: after `limit` checks in a row, `everyMs` apart, without a new byte. */
export interface Silence {
  readonly everyMs: number;
  readonly limit: number;
}

/** 14 to 16 s. With a PING every 4 s, a living server answers three times in this time. */
export const defaultSilence: Silence = { everyMs: 2_000, limit: 7 };

const longestPingMs = 4_000;

/** Interval of PINGs: a living server answers three of them before its connection counts as silent. */
export function pingIntervalMs({ everyMs, limit }: Silence): number {
  return Math.min(longestPingMs, (everyMs * limit) / 3);
}

/**
 * How long a server may send only bookmarks before a question checks whether it works: 10 to 12 s. A PING proves little: a proxy may answer it for a dead
 * server, and a server with stuck storage still answers it and sends bookmarks.
 */
export const defaultQuiet: Silence = { everyMs: 2_000, limit: 6 };

interface QuietCheck {
  readonly clock: Clock;
  readonly count: () => number;
  readonly onQuiet: () => void;
}

/** Calls `onQuiet` each time that the count did not change for `limit` checks in a row, `everyMs` apart. Ends with the signal. */
export function whenQuiet(
  { clock, count, onQuiet }: QuietCheck,
  { everyMs, limit }: Silence,
  signal: AbortSignal,
): void {
  let seen = count();
  let quiet = 0;
  const checks = every(clock, everyMs, () => {
    const now = count();
    quiet = now === seen ? quiet + 1 : 0;
    seen = now;
    if (quiet < limit) return;
    quiet = 0;
    onQuiet();
  });
  signal.addEventListener("abort", () => checks[Symbol.dispose](), { once: true });
}

/**
 * Destroys a socket that receives no bytes any more. This works without requests, because the HTTP/2 session sends a PING every few seconds and the
 * answers are bytes. undici itself ignores a missing answer.
 *
 * After GOAWAY a session sends no PING. Its remaining streams are then cut after the same time, so that watches leave a server that stops.
 *
 * Counts checks instead of time: a process that was stopped for a minute must not lose all its connections.
 */
export function destroyWhenSilent(socket: Socket, clock: Clock, silence: Silence): void {
  let seen = socket.bytesRead;
  let silent = 0;
  const checks = every(clock, silence.everyMs, () => {
    const read = socket.bytesRead;
    silent = read === seen ? silent + 1 : 0;
    seen = read;
    if (silent >= silence.limit) {
      socket.destroy(Object.assign(new Error("No answer to PING"), { code: "ETIMEDOUT" }));
    }
  });
  socket.once("close", () => checks[Symbol.dispose]());
}

/** The request by which an API server is asked whether it answers (`/version`) or works (`/readyz`). */
export function probeRequest(path: "/readyz" | "/version", timeoutMs: number) {
  return {
    method: "GET",
    path,
    verb: "probe",
    headers: { accept: "application/json, */*" },
    answer: "status",
    timeoutMs,
  } as const;
}

// An API server lists its checks, one a line. Every request needs its storage.
const checkList = /^\[[+-]\]\S/;
const storageFailed = /^\[-\](?:ping|etcd)\b/m;

/**
 * Whether an answer to `GET /readyz` shows that the server can answer no request. A 500 alone does not show that: an API server that stops, or that has no
 * keys for Secrets, sends it as well and still answers most requests. A server without this path counts as working.
 */
export function cannotWork({
  status,
  text,
}: {
  readonly status: number;
  readonly text: string;
}): boolean {
  if (status < 500) return false;
  return !checkList.test(text) || storageFailed.test(text);
}
