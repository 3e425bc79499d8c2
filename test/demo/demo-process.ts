import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** How a run of the demo ended, and everything that it wrote. */
export interface DemoRun {
  readonly code: number | null;
  readonly text: string;
}

export interface DemoRunOptions {
  readonly args?: readonly string[];
  /** On top of this process's own. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Press Ctrl-C as soon as this has been written. */
  readonly interruptAt?: string;
  /** Done before Ctrl-C is pressed, with what was written until then; the demo runs on meanwhile. */
  readonly before?: (text: string, pid: number) => Promise<void>;
}

/** Runs the demo as a process of its own, without a terminal. */
export async function runDemo(options: DemoRunOptions): Promise<DemoRun> {
  const { args = [], environment = {}, interruptAt, before = async () => undefined } = options;
  const child = spawn(process.execPath, [join(import.meta.dirname, "demo.ts"), ...args], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  let interrupted = false;
  let done: Promise<void> = Promise.resolve();
  const take = (part: string): void => {
    text += part;
    if (interrupted || interruptAt === undefined || !text.includes(interruptAt)) return;
    interrupted = true;
    done = before(text, child.pid ?? 0).finally(() => child.kill("SIGINT"));
    // A failure is thrown below, when the demo has stopped everything.
    done.catch(() => undefined);
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  await once(child, "close");
  await done;
  return { code: child.exitCode, text };
}

/** Process ids that a run said it had started and that still exist. */
export function survivorsOf({ text }: DemoRun): readonly number[] {
  const told = Array.from(
    text.matchAll(/\bprocess(?:es)?\s+(\d[\d\s]*)/g),
    ([, pids = ""]) => pids,
  );
  return told
    .flatMap((pids) => pids.trim().split(/\s+/).map(Number))
    .filter((pid) => isRunning(pid));
}

/** The folder that a run said its data is in. */
export function folderOf({ text }: DemoRun): string | undefined {
  return /Data and logs:\s+(.+)$/m.exec(text)?.[1];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
