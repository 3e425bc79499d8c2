import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { runExecPlugin } from "../../../access/plugins/exec-plugin.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { goodCredential as good, isAlive, planOf } from "./plugin-plan.ts";

let folder: string;
const never = new AbortController().signal;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-left-"));
});

afterAll(() => rm(folder, { recursive: true }));

/** Runs a plugin that leaves a process, and returns the number of that process. */
async function leftBy(name: string, script: string, timeoutMs = 10_000): Promise<number> {
  const [command, pidFile] = [join(folder, name), join(folder, `${name}.pid`)];
  await writeFile(command, `#!/bin/sh\n${script.replaceAll("PIDFILE", pidFile)}\n`);
  await chmod(command, 0o755);
  const plan = planOf(command, { timeoutMs });
  const environment = { PATH: "/usr/bin:/bin" };
  const surroundings = { clock: systemClock, environment, policy: { roots: [folder] } };
  await runExecPlugin(plan, surroundings, never).catch(() => undefined);
  return await vi.waitFor(async () => {
    const pid = Number(await readFile(pidFile, "utf8"));
    expect(pid).toBeGreaterThan(0);
    return pid;
  }, 30_000);
}

const away = `setsid sh -c 'echo $$ > PIDFILE; cd /; exec sleep 300' > /dev/null 2>&1 &`;
const waits = "until [ -s PIDFILE ]; do sleep 0.01; done";

describe.runIf(process.platform === "linux")(
  "a process that has left the group of its plugin",
  () => {
    test("ends with the plugin", async () => {
      const pid = await leftBy("good", `${away} ${waits}; echo '${good}'`);
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 30_000);
    });

    test("ends with a plugin that did not end in time", async () => {
      const pid = await leftBy("slow", `${away} ${waits}; exec sleep 300`, 1_000);
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 30_000);
    });

    test("ends alone: processes of others go on", async () => {
      const env = { PATH: "/usr/bin:/bin", KNFLEET_PLUGIN_RUN: "another" };
      const other = spawn("sleep", ["300"], { env, detached: true, stdio: "ignore" });
      await leftBy("beside", `${away} ${waits}; echo '${good}'`);
      expect(isAlive(other.pid ?? 0)).toBe(true);
      other.kill("SIGKILL");
    });
  },
);
