import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

import { usageOf } from "./process-usage.ts";

/** What a program printed that ran to its end, and what it took. */
export interface MeasuredProgram {
  readonly output: string;
  readonly elapsedMs: number;
  /** Without its last 50 ms. */
  readonly cpuMs: number;
  readonly peakResidentBytes: number;
}

const lookMs = 50;

/** Runs a program to its end, whatever its exit code is, and looks at its processor time and memory meanwhile. */
export async function runMeasured(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<MeasuredProgram> {
  const startedAt = performance.now();
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let [cpuMs, peakResidentBytes] = [0, 0];
  const look = async (): Promise<void> => {
    const usage = await usageOf(child.pid ?? 0);
    peakResidentBytes = Math.max(peakResidentBytes, usage.peakResidentBytes);
    ({ cpuMs } = usage);
  };
  // It may have ended meanwhile.
  const watch = setInterval(() => void look().catch(() => undefined), lookMs);
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  clearInterval(watch);
  return { output, elapsedMs: performance.now() - startedAt, cpuMs, peakResidentBytes };
}
