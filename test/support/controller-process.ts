import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";

import { clockArguments, clockEnvironment } from "./clock-factor.ts";
import { imageArguments, programEnvironment } from "./image-environment.ts";

/** How a controller is started. */
export interface ControllerProcessOptions {
  /** File of the program; absent: that of the sources. */
  readonly program?: string;
  readonly kubeconfig?: string;
  readonly providerFile?: string;
  readonly releaseDir?: string;
  /** Further flags, after those that come from the options above. */
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** A command that starts the program, in surroundings of its own. */
  readonly through?: readonly string[];
  /** How many times as fast its clocks and timers run, for a test that would wait for its deadlines; default 1. Requests have less time, too. */
  readonly clockFactor?: number;
  /** Wait for the Lease instead of working alone. */
  readonly leaderElection?: boolean;
  /** How long `ready` waits; default one minute. */
  readonly readyTimeoutMs?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One line of the controller's log. */
export type LogLine = Readonly<Record<string, unknown>>;

const projectRoot = resolve(import.meta.dirname, "../..");
const binary = join(projectRoot, "cmd/knfleet-controller.ts");
// More than the process takes when it cannot stop: then it says why.
const stopLimitMs = 30_000;

/** Starts the real binary and resolves when `/readyz` says that it is ready. Throws with the end of its output when it is not. */
export async function startControllerProcess(
  options: ControllerProcessOptions,
): Promise<ControllerProcess> {
  const controller = new ControllerProcess(options);
  try {
    await controller.ready();
    return controller;
  } catch (error) {
    await controller[Symbol.asyncDispose]();
    throw error;
  }
}

/** A running `knfleet-controller`; disposing it stops it. */
export class ControllerProcess implements AsyncDisposable {
  readonly #options: ControllerProcessOptions;
  readonly #child: ChildProcess;
  readonly #exited: Promise<Exit>;
  #stdout = "";
  readonly #lines: LogLine[] = [];
  /** Where the part of the output begins that is not among the lines yet. */
  #parsedUntil = 0;
  #stderr = "";

  /** Starts the binary and waits for nothing; `startControllerProcess` is what most tests want. */
  constructor(options: ControllerProcessOptions) {
    this.#options = options;
    const { program = binary, through = [], clockFactor = 1 } = options;
    const node = [process.execPath, ...imageArguments(), ...clockArguments(clockFactor)];
    const [command = "", ...args] = [...through, ...node, program, ...flagsOf(options)];
    this.#child = spawn(command, args, {
      env: { ...programEnvironment(), ...clockEnvironment(clockFactor), ...options.environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#exited = exitOf(this.#child);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.#stdout += text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("The controller did not start");
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when the process has ended. */
  get exited(): Promise<Exit> {
    return this.#exited;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The lines of the log so far that contain all of the given fields. */
  logLines(fields: LogLine = {}): readonly LogLine[] {
    const wanted = Object.entries(fields);
    return this.#allLines().filter((line) => wanted.every(([name, value]) => line[name] === value));
  }

  #allLines(): readonly LogLine[] {
    // The last line may be cut.
    const end = this.#stdout.lastIndexOf("\n") + 1;
    if (end > this.#parsedUntil) {
      const added = this.#stdout.slice(this.#parsedUntil, end);
      this.#lines.push(...added.split("\n").flatMap(parsed));
      this.#parsedUntil = end;
    }
    return this.#lines;
  }

  /** Waits for a line of the log with the given fields, from now or before. */
  async logged(fields: LogLine, timeoutMs = 60_000): Promise<LogLine> {
    const found = (): LogLine | undefined => this.logLines(fields)[0];
    await this.#until(() => found() !== undefined, { what: JSON.stringify(fields), timeoutMs });
    return found() ?? {};
  }

  /** Base URL of `/healthz`, `/readyz` and `/metrics`. */
  async healthUrl(): Promise<string> {
    const { address } = await this.logged({ msg: "Serving health and metrics" });
    return `http://${String(address)}`;
  }

  async metrics(): Promise<string> {
    const response = await fetch(`${await this.healthUrl()}/metrics`);
    return response.text();
  }

  /** Resolves when `/readyz` answers 200. */
  async ready(): Promise<void> {
    const timeoutMs = this.#options.readyTimeoutMs ?? 60_000;
    const url = `${await this.healthUrl()}/readyz`;
    await this.#until(async () => (await fetch(url)).ok, { what: "readiness", timeoutMs });
  }

  /** Sends a signal and does not wait; SIGSTOP and SIGCONT pause it. */
  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** SIGKILL, and waits for the end. */
  async kill(): Promise<Exit> {
    this.#child.kill("SIGKILL");
    return this.#exited;
  }

  /** SIGTERM, and waits for the end; SIGKILL when that takes too long. */
  async stop(): Promise<Exit> {
    this.#child.kill("SIGTERM");
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), stopLimitMs);
    try {
      return await this.#exited;
    } finally {
      clearTimeout(killer);
    }
  }

  /** A new process with the same options, after this one has ended. */
  async startAgain(): Promise<ControllerProcess> {
    await this.#exited;
    return startControllerProcess(this.#options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A process that a test has paused does not hear SIGTERM.
    this.#child.kill("SIGCONT");
    await this.stop();
  }

  async #until(
    check: () => boolean | Promise<boolean>,
    { what, timeoutMs }: { readonly what: string; readonly timeoutMs: number },
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!(await check())) {
      const hasEnded = !this.isRunning;
      if (!hasEnded && performance.now() < deadline) {
        await new Promise((wake) => setTimeout(wake, 50));
        continue;
      }
      const why = hasEnded ? "The controller ended" : `${timeoutMs} ms passed`;
      const output = `${this.#stdout}\n${this.#stderr}`.slice(-4_000);
      throw new Error(`${why} while waiting for ${what}:\n${output}`);
    }
  }
}

function flagsOf(options: ControllerProcessOptions): readonly string[] {
  const { kubeconfig, providerFile, releaseDir, leaderElection = false, flags = [] } = options;
  return [
    "--health-address=127.0.0.1:0",
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ...(providerFile === undefined ? [] : [`--clusterprofile-provider-file=${providerFile}`]),
    ...(releaseDir === undefined ? [] : [`--release-dir=${releaseDir}`]),
    ...(leaderElection ? [] : ["--disable-ha"]),
    ...flags,
  ];
}

async function exitOf(child: ChildProcess): Promise<Exit> {
  await Promise.race([once(child, "close"), once(child, "error")]);
  return { code: child.exitCode, signal: child.signalCode };
}

function parsed(line: string): readonly LogLine[] {
  if (!line.startsWith("{")) return [];
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? [{ ...value }] : [];
  } catch {
    // Node itself may print such a line.
    return [];
  }
}
