import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { compileCache } from "../../support/compile-cache.ts";
import { silentListener } from "../silent-networks.ts";
import { askingCommands, commandNames, lineOf, writeFilesOfLines } from "./every-command.ts";
import { recordedObjects } from "./recorded-hub.ts";
import { knfleetFile } from "./run-knfleet.ts";
import { runText } from "./run-text.ts";
import { environmentFor, forbidden, startStubHub, type StubHub } from "./stub-hub.ts";

let folder: string;
let hub: StubHub;
let forbidding: StubHub;
let silent: Awaited<ReturnType<typeof silentListener>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-matrix-"));
  await writeFilesOfLines(folder);
  hub = await startStubHub(recordedObjects);
  forbidding = await startStubHub([], () => forbidden());
  silent = await silentListener();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await forbidding[Symbol.asyncDispose]();
  await silent[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe("every command", () => {
  test.each(commandNames)(
    "%s --help exits with 0 and says nothing on standard error",
    async (name) => {
      const { exitCode, stdout, stderr } = await runText([...name.split(" "), "--help"]);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(stdout).toContain("Exit codes:");
    },
  );

  test.each(commandNames)("%s with a flag that does not exist exits with 2", async (name) => {
    const { exitCode, stdout, stderr } = await runText([...name.split(" "), "--no-such-flag"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: Unknown option '--no-such-flag'\nnext: /);
  });
});

describe("every command that asks the hub", () => {
  // Port 9 (discard) of the loopback address: nobody listens.
  test.each(askingCommands)("%s exits with 2 when the hub cannot be reached", async (name) => {
    const { exitCode, stderr } = await runText(lineOf(name, folder), {
      env: await environmentFor(folder, 9),
    });
    expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  test.each(askingCommands)("%s exits with 2 when the hub forbids everything", async (name) => {
    const { exitCode, stderr } = await runText(lineOf(name, folder), { env: forbidding.env });
    expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
    const said = name.startsWith("rollout ") ? /^error: Forbidden: / : /./;
    expect(stderr).toMatch(said);
  });

  test.each(askingCommands)(
    "%s exits with 130 when it is interrupted while the hub is silent",
    async (name) => {
      const stop = new AbortController();
      void silent.connected().then(() => stop.abort());
      const env = await environmentFor(folder, silent.port);
      const { exitCode } = await runText(lineOf(name, folder), { env, signal: stop.signal });
      expect({ name, exitCode }).toEqual({ name, exitCode: 130 });
    },
  );
});

describe("a command that prints", () => {
  // All write to one stream: a table, much text, line by line, what comes, a page, and without a hub.
  const printing = ["status", "render", "logs", "events", "top", "ui", "explain"];

  test.each(printing)("%s ends quietly when nobody reads its output", async (name) => {
    const { PATH = "" } = process.env;
    const child = spawn(process.execPath, [knfleetFile, ...lineOf(name, folder)], {
      env: { PATH, HOME: folder, ...compileCache, ...hub.env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000,
    });
    child.stdout.destroy();
    const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect([0, 1, 2, 3]).toContain(child.exitCode);
    expect(stderr).not.toMatch(/EPIPE|^ {4}at /m);
  });
});
