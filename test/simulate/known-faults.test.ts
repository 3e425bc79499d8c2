import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { knownFaults } from "./known-faults.ts";

// Of computing alone, which takes long beside other tests.
vi.setConfig({ testTimeout: 600_000 });

const script = resolve(import.meta.dirname, "simulate.ts");

/** Compiled modules, which the processes share: each would need a second for them. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-faults-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// Each in a process of its own, because a module is loaded once. It fails when its seed does not find the fault.
test.each(knownFaults)("seed $seed finds a controller that $name", async ({ name, seed }) => {
  const args = [script, "--fault", name, "--from", String(seed), "--runs", "1"];
  const env = { ...process.env, NODE_COMPILE_CACHE: folder };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout).toContain(`Seed ${seed} finds it`);
});
