import { once } from "node:events";
import type { Writable } from "node:stream";

import { Follower } from "../../access/time/deadline.ts";
import { FleetError } from "../../api/errors.ts";
import { reasons } from "../../api/reasons.ts";

/** A service that runs until it is disposed or fails. */
export interface Service extends AsyncDisposable {
  /** Aborted with an Error when the service fails. */
  readonly failed: AbortSignal;
  /** What the disposal waits for, while it runs. */
  readonly ending?: () => string | undefined;
}

/** The log for a bug that ends the process, for example pino. */
export interface CrashLog {
  error(fields: { readonly err: unknown }, message: string): void;
}

const crashLimitMs = 1_000;
const endMs = 200;
const defaultStopLimitMs = 10_000;

/**
 * Runs a service until SIGTERM or SIGINT, then stops it, and the process ends with code 0. A service that fails ends the process with code 1 and one line on
 * standard error. A second signal ends the process at once with code 1. So does `stopLimitMs` (ten seconds) after the first signal, with a line that says
 * what did not end. An uncaught error is logged and ends the process with code 1 after at most one second, because its state is unknown.
 */
export async function runService(
  start: (signal: AbortSignal) => Promise<Service>,
  log?: CrashLog,
  stopLimitMs = defaultStopLimitMs,
): Promise<void> {
  const { env: environment, execArgv } = process;
  // Loaded here, because loading is expensive and commands do not need it.
  const inspectorUrl = process.getBuiltinModule("node:inspector").url();
  const problem = processProblem({ environment, execArgv, inspectorUrl });
  if (problem !== undefined) return fail(new Error(problem));
  // Without a listener Node opens a debugger, which shows the credentials in memory. Security: T-46.
  process.on("SIGUSR1", () => undefined);
  const stop = new AbortController();
  endOnCrash(stop, log);
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort(new DOMException(`Stopped by ${name}`, "AbortError"));
    });
  }
  const state: { service?: Service; hasEnded?: boolean } = {};
  limitStop(stop.signal, stopLimitMs, () => {
    if (state.hasEnded === true) return openResources();
    return state.service === undefined ? "the start" : (state.service.ending?.() ?? "the service");
  });
  using _alive = keepAlive();
  try {
    await using service = await start(stop.signal);
    state.service = service;
    const end = new Follower(stop.signal, service.failed).signal;
    if (!end.aborted) await once(end, "abort");
    // After a stop, failures of running work do not count.
    if (!stop.signal.aborted) fail(service.failed.reason);
    // Running work must also end when the service failed by itself.
    stop.abort();
  } catch (error) {
    if (!stop.signal.aborted) fail(error);
    else if (error !== stop.signal.reason) fail(error);
  } finally {
    state.hasEnded = true;
  }
}

/** Ends the process with code 1 when it still runs some time after the signal. */
function limitStop(signal: AbortSignal, limitMs: number, whatIsOpen: () => string): void {
  const late = (): void => {
    fail(new Error(`Not stopped within ${limitMs / 1_000} s: waiting for ${whatIsOpen()}`));
    process.exit();
  };
  signal.addEventListener("abort", () => void setTimeout(late, limitMs).unref());
}

function openResources(): string {
  return [...new Set(process.getActiveResourcesInfo())].join(", ");
}

/** Keeps the process alive: Node ends with code 13 when a promise is pending and no timer or socket is left. */
function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, 1_000_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Ends the process after an uncaught exception, or after an unhandled rejection, which Node turns into one. */
function endOnCrash(stop: AbortController, log: CrashLog | undefined): void {
  process.on("uncaughtException", (err) => {
    process.exitCode = 1;
    if (log === undefined) process.stderr.write(`Error: ${err.message}\n`);
    else log.error({ err }, "The program has a bug and ends");
    // Aborts running work. The Lease is released if that takes less than a second.
    stop.abort(new DOMException("Stopped by a bug", "AbortError"));
    setTimeout(() => process.exit(1), crashLimitMs).unref();
  });
}

/**
 * Runs a command to its exit code. SIGINT and SIGTERM abort the signal. A second one ends the process at once with code 130, as do ten seconds after the
 * first. A reader that closes the pipe (`| head`) ends it quietly. Open connections do not delay the end after the output is complete.
 */
export async function runCommand(run: (signal: AbortSignal) => Promise<number>): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort();
      setTimeout(() => process.exit(130), defaultStopLimitMs).unref();
    });
  }
  const outputs = [process.stdout, process.stderr];
  for (const output of outputs) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(process.exitCode ?? 0);
    });
  }
  {
    using _alive = keepAlive();
    process.exitCode = await run(stop.signal);
  }
  await Promise.all(outputs.map(flush));
  setTimeout(() => process.exit(), endMs).unref();
}

function fail(error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(`Error: ${explained(error)}\n`);
}

/** The message of an error, and what to do next where that is known. */
export function explained(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return error instanceof FleetError ? `${text}. ${reasons[error.reason].next}` : text;
}

function flush(output: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  output.write("", () => resolve());
  return promise;
}

/** Facts about this process. */
export interface ProcessFacts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Options of Node itself. */
  readonly execArgv: readonly string[];
  /** Address of a listening debugger, if any. */
  readonly inspectorUrl: string | undefined;
}

// Options that show memory with credentials, run foreign code, or turn off the verification of servers.
const openOptions =
  /^--?(?:inspect|heapsnapshot|heap-?prof|cpu-?prof|diagnostic-dir|report-|abort-on-uncaught|tls-keylog|trace-tls|require$|r$|import$|loader$|experimental-loader$|openssl-|insecure-http-parser)/;

/**
 * A sentence why a process with credentials must not run with these options. Undefined when it may. Debuggers are refused in a pod only: on a workstation they
 * are needed to find bugs. Spec: security.md T-13, T-46.
 */
export function processProblem(facts: ProcessFacts): string | undefined {
  const { environment, execArgv, inspectorUrl } = facts;
  if ((environment["NODE_TLS_REJECT_UNAUTHORIZED"] ?? "") !== "") {
    return "NODE_TLS_REJECT_UNAUTHORIZED is set; API servers have to be verified, so unset it";
  }
  if ((environment["KUBERNETES_SERVICE_HOST"] ?? "") === "") return undefined;
  const given = [...execArgv, ...(environment["NODE_OPTIONS"] ?? "").split(/\s+/)];
  const [name] = given
    .map((option) => option.replaceAll(/["']/g, "").split("=", 1)[0] ?? "")
    .filter((option) => openOptions.test(option.replaceAll("_", "-")));
  if (name !== undefined) {
    return `Node was given ${name}, which opens a process with credentials; take it out of NODE_OPTIONS and the command`;
  }
  return inspectorUrl === undefined
    ? undefined
    : "A debugger listens in a process with credentials";
}

/** The resources of a service, each with a name. Disposing ends them one after the other, the last one first. */
export class Resources implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #names: string[];

  constructor(stack = new AsyncDisposableStack(), names: string[] = []) {
    this.#stack = stack;
    this.#names = names;
  }

  /** The name of the next resource to end. */
  get last(): string | undefined {
    return this.#names.at(-1);
  }

  /** Takes over a resource, and returns it. */
  use<Thing extends Disposable | AsyncDisposable>(name: string, thing: Thing): Thing {
    this.#stack.defer(() => void this.#names.pop());
    this.#names.push(name);
    return this.#stack.use(thing);
  }

  /** Moves the resources to a new owner. */
  move(): Resources {
    return new Resources(this.#stack.move(), this.#names);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
