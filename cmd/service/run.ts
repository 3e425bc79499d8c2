import { once } from "node:events";
import type { Writable } from "node:stream";

/** Something that runs until it is disposed, or cannot go on. */
export interface Service extends AsyncDisposable {
  /** Aborted, with an Error as the reason, when the service cannot go on by itself. */
  readonly failed: AbortSignal;
  /** While it is being disposed: what it waits for. */
  readonly ending?: () => string | undefined;
}

/** Told of a mistake in the program, before it ends; pino fits. */
export interface CrashLog {
  error(fields: { readonly err: unknown }, message: string): void;
}

const crashLimitMs = 1_000;
const endMs = 200;
const defaultStopLimitMs = 10_000;

/**
 * Runs a service until SIGTERM or SIGINT, then stops it and lets the process end with code 0. A service that does not start or
 * cannot go on: one line on standard error and code 1. A second signal ends the process at once, and so do `stopLimitMs` (ten
 * seconds) without an end, with code 1 and a line on standard error that says what did not end. An error that nobody caught is told to
 * the log and ends it with code 1 after one second at most: what state the process is in is unknown then.
 */
export async function runService(
  start: (signal: AbortSignal) => Promise<Service>,
  log?: CrashLog,
  stopLimitMs = defaultStopLimitMs,
): Promise<void> {
  const { env: environment, execArgv } = process;
  // Asked for here: loading it is dear, and commands do not need it.
  const inspectorUrl = process.getBuiltinModule("node:inspector").url();
  const problem = processProblem({ environment, execArgv, inspectorUrl });
  if (problem !== undefined) return fail(new Error(problem));
  // Node would open a debugger, and with it a memory full of credentials. Security: T-46.
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
    const end = AbortSignal.any([stop.signal, service.failed]);
    if (!end.aborted) await once(end, "abort");
    // Who is told to stop may fail at what it was about to do.
    if (!stop.signal.aborted) fail(service.failed.reason);
    // What is still running hears of the end also when it was the service's own.
    stop.abort();
  } catch (error) {
    if (!stop.signal.aborted) fail(error);
    else if (error !== stop.signal.reason) fail(error);
  } finally {
    state.hasEnded = true;
  }
}

/** Ends the process with code 1 when it is still there some time after it was told to stop. */
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

/** Without it Node would end with code 13, in the middle of everything, when what is waited for does not come and nothing else is left. */
function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, 1_000_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Also for rejections that nobody handles, which Node turns into uncaught exceptions. */
function endOnCrash(stop: AbortController, log: CrashLog | undefined): void {
  process.on("uncaughtException", (err) => {
    process.exitCode = 1;
    if (log === undefined) process.stderr.write(`Error: ${err.message}\n`);
    else log.error({ err }, "The program has a bug and ends");
    // Work under way is broken off, and a Lease is let go if that is soon done.
    stop.abort(new DOMException("Stopped by a bug", "AbortError"));
    setTimeout(() => process.exit(1), crashLimitMs).unref();
  });
}

/**
 * Runs a command to its exit code. SIGINT and SIGTERM abort the signal, a second one ends the process at once with code 130, as do
 * ten seconds without an end; a reader that goes away (`| head`) ends it quietly. What is still open when the command has printed everything, such as a
 * connection attempt to a silent server, is not waited for.
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
  await Promise.all(outputs.map(flushed));
  setTimeout(() => process.exit(), endMs).unref();
}

function fail(error: unknown): void {
  process.exitCode = 1;
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`Error: ${text}\n`);
}

function flushed(output: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  output.write("", () => resolve());
  return promise;
}

/** What is known of our own process. */
export interface ProcessFacts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Options that Node itself was given on the command line. */
  readonly execArgv: readonly string[];
  /** Address of a debugger that listens, if one does. */
  readonly inspectorUrl: string | undefined;
}

// They show memory with everybody's credentials, run foreign code in it, or take the verification of servers away.
const openOptions =
  /^--?(?:inspect|heapsnapshot|heap-?prof|cpu-?prof|diagnostic-dir|report-|abort-on-uncaught|tls-keylog|trace-tls|require$|r$|import$|loader$|experimental-loader$|openssl-|insecure-http-parser)/;

/**
 * Why a process with credentials must not run like this, as a sentence; undefined when it may. Debuggers and the like are refused in
 * a pod alone: on somebody's own machine they are how bugs are found. Spec: security.md T-13, T-46.
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

/** What a service holds, each thing with a name for people. Disposing ends the last one first, one after the other. */
export class Resources implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #names: string[];

  constructor(stack = new AsyncDisposableStack(), names: string[] = []) {
    this.#stack = stack;
    this.#names = names;
  }

  /** What has not ended yet and would be the next to end. */
  get last(): string | undefined {
    return this.#names.at(-1);
  }

  /** Takes over a thing and gives it back. */
  use<Thing extends Disposable | AsyncDisposable>(name: string, thing: Thing): Thing {
    this.#stack.defer(() => void this.#names.pop());
    this.#names.push(name);
    return this.#stack.use(thing);
  }

  /** The same things in other hands; this holds nothing any more. */
  move(): Resources {
    return new Resources(this.#stack.move(), this.#names);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
