import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import type { Fleet } from "../../fleet/fleet.ts";
import { compileCache } from "../../support/compile-cache.ts";
import { runHere } from "./run-text.ts";

/** The plugin's entry point. */
export const knfleetFile = join(import.meta.dirname, "../../../cmd/kubectl-knfleet.ts");

export interface Ran {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly command?: string;
  /** Added to `PATH` and `HOME`, which alone are passed on, and to where compiled sources are. */
  readonly env?: Readonly<Record<string, string>>;
  /** When it is ended; default two minutes. */
  readonly timeoutMs?: number;
  /** Called with the running process, for example to interrupt it. */
  readonly during?: (child: ChildProcess) => void | Promise<void>;
}

/** Runs `kubectl knfleet` with arguments, or another command with them, in a process of its own. */
export async function runKnfleet(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { command, env = {}, during, timeoutMs: timeout = 120_000 } = options;
  const line = command === undefined ? [knfleetFile, ...args] : args;
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(command ?? process.execPath, line, {
    env: { PATH, HOME, ...compileCache, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout,
  });
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
    during?.(child),
  ]);
  return { exitCode: child.exitCode, stdout, stderr };
}

/** Runs the plugin inside this process, with the administrators' kubeconfigs of a hub and its spokes. */
export function runOnFleet(
  { hub, spokes }: Pick<Fleet, "hub" | "spokes">,
  providerFile: string,
  args: readonly string[],
): Promise<Ran> {
  const files = [hub, ...spokes].map(({ adminKubeconfigPath }) => adminKubeconfigPath);
  const env = { KUBECONFIG: files.join(":"), KNFLEET_PROVIDER_FILE: providerFile };
  return runHere(args, env);
}

/** The rows of a printed table by header, for example `{ NAME: "a", LIVE: "2/9 not available" }`. */
export function rowsOf(table: string): readonly Readonly<Record<string, string>>[] {
  const [headers = "", ...lines] = table.trimEnd().split("\n");
  const names = headers.split(/\s{3,}/);
  return lines.map((line) => {
    const cells = line.split(/\s{3,}/);
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]));
  });
}
