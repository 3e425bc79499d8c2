import { readdir, readlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** What this process holds and may leak. */
export interface Held {
  readonly sockets: number;
  readonly pipes: number;
  readonly processes: number;
  /** Those that keep the process alive. */
  readonly timers: number;
}

/** Sockets and pipes by the kernel's word, because Node does not list idle ones; child processes and timers by Node's. */
export async function held(): Promise<Held> {
  const files = "/proc/self/fd";
  const links = await Promise.all(
    (await readdir(files)).map((fd) => readlink(`${files}/${fd}`).catch(() => "")),
  );
  const active = process.getActiveResourcesInfo();
  return {
    sockets: count(links, "socket:"),
    pipes: count(links, "pipe:"),
    processes: count(active, "ProcessWrap"),
    timers: count(active, "Timeout"),
  };
}

const patienceMs = 60_000;

/** What there is more of than before, also after a minute. It runs no timer while it counts. */
export async function leakedSince(before: Held): Promise<Partial<Held>> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const now = Object.entries(await held());
    const known: Readonly<Record<string, number>> = { ...before };
    const more = now.filter(([what, number]) => number > (known[what] ?? 0));
    if (more.length === 0 || performance.now() > end) return Object.fromEntries(more);
    await delay(20);
  }
}

function count(texts: readonly string[], start: string): number {
  return texts.filter((text) => text.startsWith(start)).length;
}
