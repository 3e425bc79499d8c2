import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { describe, expect, test } from "vitest";

import { isAlive } from "./build-lock.ts";
import { startFleet } from "./fleet.ts";
import { isRecord, valueAt } from "./json-record.ts";
import { DiedAtStartError } from "./server-process.ts";
import { waitFor } from "./wait-for.ts";

describe("a fleet", () => {
  test("leaves no process and no file behind", async () => {
    const fleet = await startFleet({ spokes: 1, hub: { kwok: true } });
    const pids = [...fleet.hub.pids, ...fleet.spoke(0).pids];
    fleet.spoke(0).pause();
    expect(pids).toHaveLength(10);
    expect(pids.every(isAlive)).toBe(true);
    await fleet[Symbol.asyncDispose]();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(fleet.folder)).toBe(false);
  });

  test("keeps its folder when told to, and says where it is", async () => {
    const lines: string[] = [];
    const fleet = await startFleet({ spokes: 0, log: (line) => lines.push(line) });
    fleet.keep();
    await fleet[Symbol.asyncDispose]();
    expect(existsSync(join(fleet.folder, "hub", "kube-apiserver.log"))).toBe(true);
    expect(lines.at(-1)).toContain(fleet.folder);
    await rm(fleet.folder, { recursive: true });
  });

  test("says when a server ends by itself, and starts it again", async () => {
    const lines: string[] = [];
    await using fleet = await startFleet({
      spokes: 0,
      hub: { kwok: true },
      log: (line) => lines.push(line),
    });
    const before = fleet.hub.pids;
    process.kill(before.at(-1) ?? 0, "SIGKILL");
    const line = await waitFor("a line about it", () =>
      lines.find((said) => said.includes("kwok")),
    );
    expect(line).toContain("hub kwok ended by itself (signal SIGKILL)");
    const after = await waitFor("another one", () => {
      const { pids } = fleet.hub;
      return pids.length === before.length && pids.at(-1) !== before.at(-1) && pids;
    });
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
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
