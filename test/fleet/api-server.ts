import { cp, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { openAdminClient, type AdminClient } from "./admin-client.ts";
import { apiServerCommand, etcdCommand, etcdSocketOf, type ServerPlan } from "./control-plane.ts";
import { freeze } from "./freeze.ts";
import { freePort } from "./ports.ts";
import { startRelay } from "./relay.ts";
import {
  DiedAtStartError,
  logDeath,
  startServer,
  type ServerDeps,
  type ServerProcess,
} from "./server-process.ts";

/** An API server with its etcd. The port stays the same over restarts. */
export interface ApiServer {
  readonly plan: ServerPlan;
  readonly url: string;
  readonly admin: AdminClient;
  readonly pids: readonly number[];
  pause(): void;
  resume(): void;
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Does nothing when it runs. The program is the one it was before, unless another is given. */
  start(program?: string): Promise<void>;
  /** Starts another API server on the same etcd. */
  beside(): Promise<ServerBeside>;
  /** Copies what etcd has stored; returns the name of the copy. */
  backUp(): Promise<string>;
  /** Stops both servers, puts a copy in place of what etcd has stored, and starts them again. */
  restore(copy: string): Promise<void>;
  /** Ends etcd too. */
  shutDown(): Promise<void>;
}

/** Another API server of the same cluster; it ends when it is disposed. */
export interface ServerBeside extends AsyncDisposable {
  readonly port: number;
  readonly admin: AdminClient;
  pause(): void;
  resume(): void;
  /** Its storage is stuck for good, as when the disk below its etcd is: it answers PINGs and sends bookmarks, and knows nothing new. */
  stick(): void;
}

const portAttempts = 5;
const readyTimeoutMs = 120_000;

/**
 * Starts etcd and kube-apiserver and waits until `/readyz` says yes. Tries other ports when another process takes the
 * chosen one first; throws `DiedAtStartError` when a server ends by itself.
 */
export async function startApiServer(
  draft: Omit<ServerPlan, "port">,
  deps: ServerDeps,
): Promise<ApiServer> {
  const etcd = await startServer(etcdCommand({ ...draft, port: 0 }), deps.watchdog);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const plan = { ...draft, port: await freePort() };
      const admin = adminOf(plan);
      try {
        const running = await startReady(plan, { admin, etcd, deps });
        logDeath(etcd, deps);
        return restartable(plan, { admin, etcd, deps }, running);
      } catch (error) {
        admin.close();
        if (attempt === portAttempts || !isPortTaken(error)) throw error;
      }
    }
  } catch (error) {
    await etcd.stop();
    throw error;
  }
}

interface Parts {
  readonly admin: AdminClient;
  etcd: ServerProcess;
  readonly deps: ServerDeps;
}

function restartable(plan: ServerPlan, parts: Parts, first: ServerProcess): ApiServer {
  let server = first;
  let copies = 0;
  const stop: ApiServer["stop"] = (signal = "SIGKILL") => server.stop({ signal, graceMs: 75_000 });
  return {
    plan,
    url: urlOf(plan),
    admin: parts.admin,
    get pids() {
      return [parts.etcd, server].filter((process) => process.running).map(({ pid }) => pid);
    },
    pause: () => freeze(server),
    resume: () => void server.signal("SIGCONT"),
    stop,
    async start(program) {
      const next = program === undefined ? plan : { ...plan, binary: () => program };
      if (!server.running) server = await startOnSamePort(next, parts);
    },
    beside: () => startBeside(plan, parts),
    async backUp() {
      copies += 1;
      const copy = `etcd-copy-${copies}`;
      // What was copied in the middle of writes is what a crash would leave, which etcd copes with.
      freeze(parts.etcd);
      await cp(plan.files.path("etcd"), plan.files.path(copy), { recursive: true });
      parts.etcd.signal("SIGCONT");
      return copy;
    },
    async restore(copy) {
      await stop();
      await parts.etcd.stop();
      await rm(plan.files.path("etcd"), { recursive: true });
      await cp(plan.files.path(copy), plan.files.path("etcd"), { recursive: true });
      parts.etcd = await startServer(etcdCommand(plan), parts.deps.watchdog);
      logDeath(parts.etcd, parts.deps);
      server = await startOnSamePort(plan, parts);
    },
    async shutDown() {
      parts.admin.close();
      await stop();
      await parts.etcd.stop();
    },
  };
}

async function startBeside(first: ServerPlan, parts: Parts): Promise<ServerBeside> {
  await using undo = new AsyncDisposableStack();
  const storage = undo.use(await startRelay(() => ({ path: etcdSocketOf(first.files) })));
  const etcdServers = `http://127.0.0.1:${storage.port}`;
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const apiServerFlags = [...first.apiServerFlags, "--audit-log-path=audit-beside.log"];
    const plan = { ...first, name: `${first.name}-beside`, port, apiServerFlags, etcdServers };
    const admin = adminOf(plan);
    try {
      const server = await startReady(plan, { ...parts, admin });
      undo.defer(() => server.stop({ signal: "SIGKILL" }));
      undo.defer(() => admin.close());
      const running = undo.move();
      return {
        port,
        admin,
        pause: () => freeze(server),
        resume: () => void server.signal("SIGCONT"),
        stick: () => storage.hold(),
        [Symbol.asyncDispose]: () => running.disposeAsync(),
      };
    } catch (error) {
      admin.close();
      if (attempt === portAttempts || !isPortTaken(error)) throw error;
    }
  }
}

// While the server was away, the kernel may have lent its port to an outgoing connection of anybody; they are short.
async function startOnSamePort(plan: ServerPlan, parts: Parts): Promise<ServerProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startReady(plan, parts);
    } catch (error) {
      if (!isPortTaken(error)) throw error;
      if (attempt === portAttempts) {
        throw new Error(`Port ${plan.port} of ${plan.name} is taken by another process`, {
          cause: error,
        });
      }
      await delay(500);
    }
  }
}

async function startReady(plan: ServerPlan, parts: Parts): Promise<ServerProcess> {
  const server = await startServer(apiServerCommand(plan), parts.deps.watchdog);
  try {
    await untilReady(parts.admin, [server.died, parts.etcd.died], plan.name);
    logDeath(server, parts.deps);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function untilReady(
  admin: AdminClient,
  deaths: readonly Promise<never>[],
  name: string,
): Promise<void> {
  const end = Date.now() + readyTimeoutMs;
  for (;;) {
    if (await Promise.race([isReady(admin), ...deaths])) return;
    if (Date.now() > end) {
      throw new Error(`The API server of ${name} was not ready after ${readyTimeoutMs / 1000} s`);
    }
    await Promise.race([delay(50), ...deaths]);
  }
}

async function isReady(admin: AdminClient): Promise<boolean> {
  try {
    await admin.request("GET", "/readyz");
    return true;
  } catch {
    // Refused, or 403 and 500 while it boots: all mean not yet.
    return false;
  }
}

function isPortTaken(error: unknown): boolean {
  return error instanceof DiedAtStartError && error.logTail.includes("address already in use");
}

function adminOf(plan: ServerPlan): AdminClient {
  const { admin, authority } = plan.files;
  return openAdminClient(urlOf(plan), authority.certificatePem, admin);
}

function urlOf(plan: ServerPlan): string {
  return `https://127.0.0.1:${plan.port}`;
}
