import { existsSync, readdirSync, readFileSync } from "node:fs";

import type { ServerProcess } from "./server-process.ts";

const patienceMs = 5_000;
const pauseMs = 1;

/**
 * Stops a server (SIGSTOP) and returns when none of its threads runs any more: the signal takes a moment on a busy machine, in which the
 * server may still answer. Where there is no /proc nobody can say, and it returns at once.
 */
export function freeze(server: Pick<ServerProcess, "pid" | "signal">): void {
  if (!server.signal("SIGSTOP") || !existsSync("/proc/self/task")) return;
  const deadline = performance.now() + patienceMs;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (!isStopped(server.pid)) {
    if (performance.now() > deadline) throw new Error(`Process ${server.pid} did not stop`);
    Atomics.wait(sleeper, 0, 0, pauseMs);
  }
}

function isStopped(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  try {
    return readdirSync(threads).every((thread) => {
      const stat = readFileSync(`${threads}/${thread}/stat`, "utf8");
      // The state comes after the name, which may hold anything.
      return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
    });
  } catch {
    // A thread that ended in between.
    return false;
  }
}
