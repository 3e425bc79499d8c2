import { setTimeout as delay } from "node:timers/promises";

import {
  startServer,
  type ServerCommand,
  type ServerDeps,
  type ServerProcess,
} from "./server-process.ts";

/** A server that is started again when it ends by itself, as a kubelet does: some end when their API server is away for long. */
export interface LastingServer {
  /** Of the present process; undefined between two. */
  readonly pid: number | undefined;
  /** Rejects with `DiedAtStartError` when it has ended by itself once too often; never resolves. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

const maxLives = 5;
const pauseMs = 500;

/** Starts a server; each end that nobody asked for is told to the log. */
export async function startLastingServer(
  command: ServerCommand,
  { watchdog, log }: ServerDeps,
): Promise<LastingServer> {
  let starting: Promise<ServerProcess> = startServer(command, watchdog);
  let server = await starting;
  const stopped = new AbortController();
  const ended = async (error: unknown, lives: number): Promise<void> => {
    log(String(error));
    if (lives === maxLives) throw error;
    await delay(pauseMs, undefined, { signal: stopped.signal });
    starting = startServer(command, watchdog);
    server = await starting;
  };
  const live = async (): Promise<never> => {
    for (let lives = 1; ; lives += 1) {
      // Once it is stopped this waits for ever.
      await server.died.catch((error: unknown) => ended(error, lives));
    }
  };
  const failed = live();
  failed.catch(() => undefined);
  return {
    failed,
    get pid() {
      return server.running ? server.pid : undefined;
    },
    async stop() {
      stopped.abort();
      await (await starting).stop();
    },
  };
}
