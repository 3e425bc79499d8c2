import { expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

const lastTransitionTime = "2026-11-21T11:58:00Z";
const rolling = component({
  cluster: null,
  status: {
    observedGeneration: 1,
    version: "1.23.0",
    conditions: ["DeploymentsAvailable", "Ready"].map((type) => ({
      type,
      status: "False",
      reason: "RollingOut",
      message: "1 of 7 not available: activator (rolling out)",
      lastTransitionTime,
    })),
  },
});

async function run(...args: readonly string[]) {
  await using hub = await startStubHub([rolling]);
  return await runText([...args, "-A"], { env: hub.env });
}

test.each([
  { args: ["--fail-on", "error"], code: 0 },
  { args: [], code: 0 },
  { args: ["--strict"], code: 1 },
])("an installation in a rollout ends status $args with $code", async ({ args, code }) => {
  const { exitCode, stdout, stderr } = await run("status", "--no-live", ...args);
  expect(exitCode).toBe(code);
  expect(stdout).toMatch(/ InProgress +.*RollingOut/);
  expect(stderr).toContain("1 in progress");
});

test("wait says that it is in progress", async () => {
  const { exitCode, stdout } = await run("wait", "--for=ready", "--timeout", "0");
  expect(stdout).toMatch(/in progress/);
  expect(exitCode).toBe(124);
});

test("--strict and another --fail-on exclude each other", async () => {
  const { exitCode, stderr } = await run("status", "--strict", "--fail-on", "never");
  expect(stderr).toContain("--strict is --fail-on=warning");
  expect(exitCode).toBe(2);
});
