import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { access, constants, mkdtemp, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

import { FleetError } from "../../api/errors.ts";
import { redactSecrets } from "../../api/foreign-text.ts";
import type { Code } from "../../api/reasons.ts";
import type { Clock } from "../time/clock.ts";
import { abortable, withTimeout } from "../time/deadline.ts";
import type { Credential } from "./credential.ts";
import { outputText, parseExecCredential } from "./exec-credential.ts";
import type { ExecPlan } from "./exec-plan.ts";
import { endMarked, markVariable } from "./left-processes.ts";
import { type PluginPolicy, refusedPlugin } from "./plugin-policy.ts";

/** What every plugin process gets. */
export interface PluginSurroundings {
  /** Environment of every plugin. Commands without a slash are looked up in its `PATH`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Absent for commands of the user's own kubeconfig, which may run any executable. */
  readonly policy?: PluginPolicy;
}

const maxStdoutBytes = 1024 * 1024;
const maxStderrBytes = 64 * 1024;
const stderrTailCharacters = 4 * 1024;
// Linux: one environment string may have 131,071 bytes, name and `=` included.
const maxInputBytes = 131_050;
const pipesTimeoutMs = 500;

/**
 * Runs an exec plugin once and returns the credential that it prints. The process has no stdin, and with a policy it starts in an empty folder that is removed afterwards. Its whole process group is killed
 * at the end, after the timeout of the plan and when the signal aborts; with a policy also what has left the group. Its standard error is only in `cause`.
 *
 * Throws `FleetError` `AccessProviderFailed` with code `PluginNotFound`, `PluginFailed`, `PluginTimeout`,
 * `PluginNotAllowed`, `PluginOutputInvalid` or `PluginInputTooLarge`. Spec: cluster-inventory.md 3; security.md T-40 to T-44.
 */
export async function runExecPlugin(
  plan: ExecPlan,
  surroundings: PluginSurroundings,
  signal: AbortSignal,
): Promise<Credential> {
  signal.throwIfAborted();
  const input = execInfo(plan);
  if (Buffer.byteLength(input) > maxInputBytes) {
    throw failed(plan, "PluginInputTooLarge", "its input is too large for a process");
  }
  const path = surroundings.environment["PATH"] ?? "";
  const file = await resolveCommand(plan.command, path);
  if (file === undefined) {
    const hint = plan.installHint === "" ? "" : `; ${plan.installHint}`;
    const why = await whyNotFound(plan.command, path);
    throw failed(plan, "PluginNotFound", `${why}${hint}`);
  }
  const { clock, policy } = surroundings;
  const refusal = policy && (await refusedPlugin(file, policy, plan.sha256));
  if (refusal !== undefined) throw failed(plan, "PluginNotAllowed", refusal);
  signal.throwIfAborted();
  // A command of the user's own kubeconfig may leave processes, such as an agent.
  const mark = policy && randomUUID();
  const env = {
    ...surroundings.environment,
    ...Object.fromEntries(plan.env.map(({ name, value }) => [name, value])),
    // Last, so that no other variable replaces them.
    KUBERNETES_EXEC_INFO: input,
    ...(mark === undefined ? {} : { [markVariable]: mark }),
  };
  await using ending = new AsyncDisposableStack();
  // A command of the user's own kubeconfig may name files of the working directory.
  const folder = policy && (await emptyFolder(plan));
  // A child that was just killed may still write there. What is left over does not take the credential away.
  if (folder !== undefined) {
    ending.defer(() => rm(folder, { recursive: true, force: true }).catch(() => undefined));
  }
  const result = await runProcess({ clock, file, plan, env, mark, folder }, signal);
  return parseExecCredential(result, plan, clock.date());
}

async function emptyFolder(plan: ExecPlan): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), "knfleet-plugin-"));
  } catch (cause) {
    throw failed(plan, "PluginFailed", { what: "no folder can be made for it", cause });
  }
}

/** The plugin's input, the value of `KUBERNETES_EXEC_INFO`. */
export function execInfo(plan: Pick<ExecPlan, "apiVersion" | "cluster">): string {
  const { apiVersion, cluster } = plan;
  const spec = cluster === undefined ? { interactive: false } : { cluster, interactive: false };
  return `${JSON.stringify({ kind: "ExecCredential", apiVersion, spec })}\n`;
}

/** The real path of a command's executable; a command without a slash is looked up in `path`. Undefined when there is none. */
export async function resolveCommand(command: string, path: string): Promise<string | undefined> {
  for (const candidate of candidatesOf(command, path)) {
    if (await isExecutable(candidate)) return realpath(candidate);
  }
  return undefined;
}

function candidatesOf(command: string, path: string): readonly string[] {
  if (command.includes("/")) return [resolve(command)];
  // Relative entries are skipped, so that the working directory is not searched.
  return path.split(":").flatMap((folder) => (isAbsolute(folder) ? [join(folder, command)] : []));
}

async function whyNotFound(command: string, path: string): Promise<string> {
  const candidates = candidatesOf(command, path);
  const kinds = await Promise.all(
    candidates.map((file) =>
      stat(file).then(
        (found) => found.isFile(),
        () => undefined,
      ),
    ),
  );
  if (kinds.includes(true)) return "the file is not executable (EACCES)";
  return kinds.includes(false) ? "it is not a file" : "there is no such executable file";
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

interface Start {
  readonly clock: Clock;
  readonly file: string;
  readonly plan: ExecPlan;
  readonly env: Readonly<Record<string, string>>;
  /** What the environments of the processes of this run hold. Undefined: they may stay. */
  readonly mark: string | undefined;
  /** The working directory. Undefined: that of this process. */
  readonly folder: string | undefined;
}

async function runProcess(start: Start, signal: AbortSignal): Promise<string> {
  const { clock, plan, mark } = start;
  const child = startProcess(start);
  const output = collect(child);
  const flood = Promise.withResolvers<never>();
  output.onFlood((what) => flood.reject(failed(plan, "PluginOutputInvalid", `it printed ${what}`)));
  const limit = withTimeout(clock, plan.timeoutMs, signal);
  try {
    const end = await abortable(Promise.race([flood.promise, endOf(child, clock)]), limit);
    if (end.error !== undefined) throw notStarted(plan, end.error);
    if (end.code !== 0) {
      const how = end.signal === null ? `exit code ${end.code}` : `signal ${end.signal}`;
      const cause = new Error(`stderr: ${output.stderr()}`);
      throw failed(plan, "PluginFailed", { what: `it ended with ${how}`, cause });
    }
    return output.stdout();
  } catch (error) {
    if (error !== limit.reason || signal.aborted) throw error;
    throw failed(plan, "PluginTimeout", `it did not end within ${plan.timeoutMs / 1_000} s`);
  } finally {
    // Also ends background processes that the plugin has left.
    killGroup(child);
    if (mark !== undefined) endMarked(mark);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function startProcess({ file, plan, env, folder }: Start): ChildProcess {
  try {
    return spawn(file, [...plan.args], {
      argv0: plan.command,
      env,
      cwd: folder,
      shell: false,
      // Its own process group, so that its children can be killed with it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (cause) {
    // spawn throws for E2BIG and for arguments with NUL, and emits its other errors.
    throw notStarted(plan, cause);
  }
}

interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

/** Resolves when the process has ended and its pipes are closed. A background child that keeps a pipe open delays this by 500 ms at most. */
function endOf(child: ChildProcess, clock: Clock): Promise<ProcessEnd> {
  return new Promise((done) => {
    child.once("error", (error) => done({ code: null, signal: null, error }));
    child.once("close", (code, signal) => done({ code, signal }));
    child.once("exit", (code, signal) => {
      const late = clock.after(pipesTimeoutMs, () => {
        killGroup(child);
        done({ code, signal });
      });
      child.once("close", () => late[Symbol.dispose]());
    });
  });
}

interface Output {
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly onFlood: (listener: (what: string) => void) => void;
}

function collect(child: ChildProcess): Output {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const errors: Buffer[] = [];
  let errorBytes = 0;
  let flood: ((what: string) => void) | undefined;
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxStdoutBytes) return flood?.("more than 1 MiB");
    chunks.push(chunk);
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    errorBytes += chunk.length;
    if (errorBytes > maxStderrBytes) return flood?.("more than 64 KiB on standard error");
    errors.push(chunk);
  });
  return {
    stdout: () => outputText(Buffer.concat(chunks)),
    // Redacted before it is cut, because a part of a token could not be recognized.
    stderr: () =>
      redactSecrets(Buffer.concat(errors).toString("utf8")).slice(-stderrTailCharacters),
    onFlood: (listener) => {
      flood = listener;
    },
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}

/** What the message says of a plugin that is there and cannot run on this machine. */
export const loaderMissing =
  "the file is there, but its interpreter (the first line of a script) or its loader is not";

function notStarted(plan: ExecPlan, cause: unknown): FleetError {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "E2BIG") {
    return failed(plan, "PluginInputTooLarge", "its input is too large for a process");
  }
  // The file was found before. Linux answers this, too, when what runs the file is not there.
  if (code === "ENOENT") return failed(plan, "PluginFailed", { what: loaderMissing, cause });
  const isNotExecutable = code === "EACCES" || code === "ENOEXEC";
  return isNotExecutable
    ? failed(plan, "PluginNotFound", `it cannot be started (${code})`)
    : failed(plan, "PluginFailed", { what: "it cannot be started", cause });
}

function failed(plan: ExecPlan, code: Code, failure: string | Failure): FleetError {
  const { what, cause } =
    typeof failure === "string" ? { what: failure, cause: undefined } : failure;
  const message = `Exec plugin ${plan.command} of provider ${plan.provider}: ${what}`;
  return new FleetError("AccessProviderFailed", message, { code, cause });
}

interface Failure {
  /** The end of the message. */
  readonly what: string;
  readonly cause: unknown;
}
