import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";

import type { Watchdog } from "./watchdog.ts";

/** What to start. */
export interface ServerCommand {
  /** How messages name it, for example `spoke-1 kube-apiserver`. */
  readonly title: string;
  readonly binary: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Standard output and error are appended here. */
  readonly logFile: string;
}

/** A started server. It must be stopped; when this process dies first, the watchdog does it. */
export interface ServerProcess {
  readonly title: string;
  readonly pid: number;
  readonly logFile: string;
  readonly running: boolean;
  /** Rejects with `DiedAtStartError` when the process ends without being asked to; never resolves. */
  readonly died: Promise<never>;
  /** Sends a signal; false when the process has ended already. */
  signal(name: "SIGSTOP" | "SIGCONT" | "SIGTERM" | "SIGKILL"): boolean;
  /** Ends the process and waits until it is gone. SIGTERM is followed by SIGKILL after `graceMs`. */
  stop(options?: {
    readonly signal?: "SIGTERM" | "SIGKILL";
    readonly graceMs?: number;
  }): Promise<void>;
}

/** What starting a server takes. */
export interface ServerDeps {
  readonly watchdog: Watchdog;
  readonly log: (line: string) => void;
}

/** A server ended although nobody stopped it. `logTail` has the last lines of its log. */
export class DiedAtStartError extends Error {
  override readonly name = "DiedAtStartError";
  readonly logTail: string;

  constructor(message: string, logTail: string) {
    super(message);
    this.logTail = logTail;
  }
}

/** Starts one server in a process group of its own; throws when the binary cannot be started at all. */
export async function startServer(
  command: ServerCommand,
  watchdog: Watchdog,
): Promise<ServerProcess> {
  const child = await spawned(command);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`Cannot start ${command.title}: no process id`);
  watchdog.watch(pid);
  child.unref();
  let asked = false;
  const exited = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      watchdog.forget(pid);
      resolve(signal === null ? `exit code ${String(code)}` : `signal ${signal}`);
    });
  });
  const died = exited.then((how) =>
    asked ? new Promise<never>(() => undefined) : failWithLog(command, how),
  );
  died.catch(() => undefined);
  const running = () => child.exitCode === null && child.signalCode === null;
  return {
    title: command.title,
    pid,
    logFile: command.logFile,
    died,
    get running() {
      return running();
    },
    signal: (name) => running() && child.kill(name),
    async stop({ signal = "SIGKILL", graceMs = 5000 } = {}) {
      asked = true;
      if (!running()) return;
      child.ref();
      child.kill(signal);
      // A paused process acts on SIGTERM only after SIGCONT.
      child.kill("SIGCONT");
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** From now on, says when the server ends by itself. */
export function logDeath(server: ServerProcess, { log }: ServerDeps): void {
  server.died.catch((error: unknown) => log(String(error)));
}

async function spawned(command: ServerCommand): Promise<ChildProcess> {
  const log = openSync(command.logFile, "a", 0o600);
  try {
    const child = spawn(command.binary, [...command.args], {
      cwd: command.cwd,
      // They live for a minute or two: to collect half as often saves a tenth of their computing and costs 200 MB. A start costs a quarter less without
      // threads that look for work and wake each other.
      env: { ...process.env, GOGC: "200", GOMAXPROCS: "1" },
      // A session of its own, which Ctrl-C in a terminal does not reach. In a test it has none: Linux gives each session the same share of the processor,
      // and forty servers would leave one of forty to the worker and its controllers.
      detached: process.env["VITEST"] === undefined,
      stdio: ["ignore", log, log],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => {
        reject(new Error(`Cannot start ${command.title} (${command.binary})`, { cause }));
      });
    });
    return child;
  } finally {
    closeSync(log);
  }
}

async function failWithLog(command: ServerCommand, how: string): Promise<never> {
  const tail = await tailOf(command.logFile);
  throw new DiedAtStartError(
    `${command.title} ended by itself (${how}). Last lines of ${basename(command.logFile)}:\n${tail}`,
    tail,
  );
}

async function tailOf(logFile: string, lines = 15): Promise<string> {
  const log = await readFile(logFile, "utf8").catch(() => "");
  return log.slice(-4096).trimEnd().split("\n").slice(-lines).join("\n");
}
