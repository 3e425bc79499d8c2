import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runCli } from "../../../../../cmd/kubectl/cli.ts";
import { now } from "../../fleet-facts.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

let hub: StubHub;
beforeAll(async () => {
  hub = await startStubHub(recordedObjects);
});
afterAll(() => hub[Symbol.asyncDispose]());

/** What it prints until the newest Event is there; then it is interrupted. */
async function watched(...args: readonly string[]): Promise<string> {
  const stop = new AbortController();
  let stdout = "";
  const terminal = {
    args: ["events", "-A", "--no-live", "-w", ...args],
    env: hub.env,
    stdout: {
      write: (text: string) => {
        stdout += text;
        if (stdout.includes("Contested")) stop.abort();
      },
    },
    stderr: { write: () => true },
    now: () => now,
  };
  expect(await runCli(terminal, stop.signal)).toBe(130);
  return stdout;
}

describe("events -w", () => {
  test.each([
    { args: ["-o", "name"], says: "With -w there is no -o name" },
    { args: ["--sort-by", ".time"], says: "With -w there is no --sort-by" },
    {
      args: ["--types", "Warnig"],
      says: 'Invalid value "warnig" for --types: want normal, warning',
    },
  ])("with $args is a mistake that is explained", async ({ args, says }) => {
    const ran = await runText(["events", "-w", ...args], { env: hub.env });
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toContain(says);
  });

  test("of a name that does not exist does not wait for it", async () => {
    const ran = await runText(["events", "ks/nothing", "-w"], { env: hub.env });
    expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ran.stderr).toContain('"nothing" not found');
  });

  test("prints one object a line, and nothing that moves the cursor", async () => {
    const items = (await watched("-o", "json"))
      .trimEnd()
      .split("\n")
      .map((one): unknown => JSON.parse(one));
    expect(items).toContainEqual(expect.objectContaining({ reason: "Contested", count: 7 }));
    expect(await watched()).not.toContain("\u001b");
  });
});
