import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isAlive } from "./build-lock.ts";
import { startFleet, startSpokes, type Fleet } from "./fleet.ts";
import { isRecord, valueAt } from "./json-record.ts";
import { DiedAtStartError } from "./server-process.ts";
import { waitFor } from "./wait-for.ts";

describe("a fleet", () => {
  // Two tests have it: in the first one a server of it ends, in the second one all of them.
  const lines: string[] = [];
  let fleet: Fleet | undefined;

  beforeAll(async () => {
    fleet = await startFleet({
      spokes: 0,
      hub: { kwok: true },
      log: (line) => lines.push(line),
    });
  });
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  function running(): Fleet {
    if (fleet === undefined) throw new Error("The fleet exists only in tests");
    return fleet;
  }

  test("says when a server ends by itself, and starts it again", async () => {
    const { hub } = running();
    const before = hub.pids;
    process.kill(before.at(-1) ?? 0, "SIGKILL");
    const line = await waitFor("a line about it", () =>
      lines.find((said) => said.includes("kwok")),
    );
    expect(line).toContain("hub kwok ended by itself (signal SIGKILL)");
    const after = await waitFor("another one", () => {
      const { pids } = hub;
      return pids.length === before.length && pids.at(-1) !== before.at(-1) && pids;
    });
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
  });

  test("leaves no process and no file behind", async () => {
    const { hub, folder } = running();
    const { pids } = hub;
    hub.pause();
    expect(pids).toHaveLength(5);
    expect(pids.every(isAlive)).toBe(true);
    await running()[Symbol.asyncDispose]();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });

  test("keeps its folder when told to, and says where it is", async () => {
    const said: string[] = [];
    const spokes = await startSpokes({
      spokes: [{ kwok: false }],
      log: (line) => said.push(line),
    });
    spokes.keep();
    await spokes[Symbol.asyncDispose]();
    expect(existsSync(join(spokes.folder, "spoke-1", "kube-apiserver.log"))).toBe(true);
    expect(said.at(-1)).toContain(spokes.folder);
    await rm(spokes.folder, { recursive: true });
  });

  test("ends with its process, also when that is killed", async () => {
    const script = join(import.meta.dirname, "..", "fixtures", "fleet", "abandon-fleet.ts");
    const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface(child.stdout), "line");
    const told: unknown = JSON.parse(String(line));
    const pids = Object.values(isRecord(told) ? (told["pids"] ?? {}) : {}).map(Number);
    expect(pids).toHaveLength(5);
    expect(pids.every(isAlive)).toBe(true);
    child.kill("SIGKILL");
    await waitFor("the servers to end", () => !pids.some(isAlive));
    const folder = String(valueAt(told, "folder"));
    await waitFor("the folder to go", () => !existsSync(folder));
    expect(existsSync(folder)).toBe(false);
  });

  test("that cannot start says why, with the last lines of the log, and leaves only the logs", async () => {
    const failure = await startFleet({
      spokes: 1,
      hub: { apiServerFlags: ["--no-such-flag"] },
    }).catch((thrown: unknown) => thrown);
    const cause = valueAt(failure, "cause");
    expect(cause).toBeInstanceOf(DiedAtStartError);
    expect(valueAt(cause, "logTail")).toContain("unknown flag: --no-such-flag");
    const message = String(valueAt(failure, "message"));
    expect(message).toContain("hub kube-apiserver ended by itself (exit code 1)");
    const folder = /logs are in (\S+)/.exec(message)?.[1] ?? "";
    expect(existsSync(join(folder, "hub", "kube-apiserver.log"))).toBe(true);
    await rm(folder, { recursive: true });
  });
});
