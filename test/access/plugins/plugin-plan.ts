import { spawnSync } from "node:child_process";

import type { ExecPlan } from "../../../access/plugins/exec-plan.ts";

/** What a plugin prints whose token is `T1`. */
export const goodCredential = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T1"}}`;

/** A run of a command without arguments, for ten seconds at most. */
export function planOf(command: string, overrides: Partial<ExecPlan> = {}): ExecPlan {
  return {
    provider: "sr",
    apiVersion: "client.authentication.k8s.io/v1",
    command,
    args: [],
    env: [],
    installHint: "",
    timeoutMs: 10_000,
    ...overrides,
  };
}

/** A process that has ended but that nobody has collected yet (state Z) is not alive. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout);
}
