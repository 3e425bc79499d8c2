import type { Socket } from "node:net";

/** How fast a silent connection is given up: `limit` checks in a row, `everyMs` apart, that saw no byte arrive. */
export interface Silence {
  readonly everyMs: number;
  readonly limit: number;
}

/** 14 to 16 s of silence; with a PING every 4 s a living server is heard three times in it. */
export const defaultSilence: Silence = { everyMs: 2_000, limit: 7 };

const longestPingMs = 4_000;

/** How often a PING is sent, so that a living server is heard three times in what would be silence. */
export function pingIntervalMs({ everyMs, limit }: Silence): number {
  return Math.min(longestPingMs, (everyMs * limit) / 3);
}

/**
 * How long a server may send nothing but bookmarks before it is asked whether it works: 10 to 12 s. A PING proves little: a proxy may
 * answer it for a dead server, and a server whose storage is stuck still answers it and sends bookmarks.
 */
export const defaultQuiet: Silence = { everyMs: 2_000, limit: 6 };

/** Calls back each time that `limit` checks in a row, `everyMs` apart, found the count unchanged; until the signal aborts. */
export function whenQuiet(
  { count, onQuiet }: { readonly count: () => number; readonly onQuiet: () => void },
  { everyMs, limit }: Silence,
  signal: AbortSignal,
): void {
  let seen = count();
  let quiet = 0;
  const timer = setInterval(() => {
    const now = count();
    quiet = now === seen ? quiet + 1 : 0;
    seen = now;
    if (quiet < limit) return;
    quiet = 0;
    onQuiet();
  }, everyMs);
  timer.unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/**
 * Destroys a socket on which nothing is read any more. Works without requests because the HTTP/2 session sends a PING
 * every few seconds, whose answers are bytes; undici itself never acts on a missing answer.
 *
 * A session that said GOAWAY sends no PING any more: what still runs on it is cut after the same time, and watches move to
 * the new connection instead of staying with a server that is going away.
 *
 * Checks are counted, not time: a process that was stopped for a minute must not find all its connections dead.
 */
export function destroyWhenSilent(socket: Socket, silence: Silence): void {
  let seen = socket.bytesRead;
  let silent = 0;
  const timer = setInterval(() => {
    const read = socket.bytesRead;
    silent = read === seen ? silent + 1 : 0;
    seen = read;
    if (silent >= silence.limit) {
      socket.destroy(Object.assign(new Error("No answer to PING"), { code: "ETIMEDOUT" }));
    }
  }, silence.everyMs);
  timer.unref();
  socket.once("close", () => clearInterval(timer));
}
