import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { PluginPace } from "../../../access/plugins/plugin-limits.ts";
import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import type { AccessOutcome } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, stub } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const hourMs = 3_600_000;
const usual = { patience: 100, maxIntervalMs: hourMs };

async function isHeldBack(work: Promise<void>): Promise<boolean> {
  const soon = new Promise<boolean>((done) => setImmediate(done, true));
  return Promise.race([work.then(() => false), soon]);
}

describe("the pace of plugins", () => {
  test("lets a profile have two runs at once, and no third; others are not held back (T-22)", async () => {
    const pace = new PluginPace(systemClock, { ...usual, intervalMs: hourMs, burst: 2 });
    const stop = new AbortController();
    await pace.enter("fleet/a", { isFirst: true }, signal);
    await pace.enter("fleet/a", { isFirst: true }, signal);
    const third = pace.enter("fleet/a", { isFirst: true }, stop.signal);
    expect(await isHeldBack(third)).toBe(true);
    await pace.enter("fleet/b", { isFirst: true }, signal);
    stop.abort(new Error("Given up"));
    await expect(third).rejects.toThrow("Given up");
  });

  test("frees the next run when the credential was renewed, once a minute (T-22)", async () => {
    const clock = new FakeClock();
    const pace = new PluginPace(clock, { ...usual, intervalMs: hourMs, burst: 1 });
    const stop = new AbortController();
    const enter = (renewed?: string) =>
      pace.enter("fleet/a", { isFirst: true, renewed }, stop.signal);
    await enter();
    await enter("10:00");
    const again = enter("10:01");
    expect(await isHeldBack(again)).toBe(true);
    stop.abort(new Error("Given up"));
    await expect(again).rejects.toThrow("Given up");
    await clock.advance(61_000);
    await pace.enter("fleet/a", { isFirst: true, renewed: "10:02" }, signal);
  });

  test("lets those who wait go on one after the other, and forgets who has rested", async () => {
    const pace = new PluginPace(systemClock, { ...usual, intervalMs: 30, burst: 1 });
    const started = performance.now();
    await Promise.all(
      Array.from({ length: 4 }, () => pace.enter("fleet/a", { isFirst: true }, signal)),
    );
    expect(performance.now() - started).toBeGreaterThanOrEqual(85);
    await expect
      .poll(async () => {
        await pace.enter("fleet/b", { isFirst: true }, signal);
        return pace.size;
      })
      .toBe(1);
  });
});

/** Seconds between the runs of a profile that always wants the next one; time is faked. */
async function gapsOf(pace: PluginPace, runs: number, isFirst: boolean): Promise<number[]> {
  const gaps: number[] = [];
  let last = performance.now();
  while (gaps.length < runs) {
    const stop = new AbortController();
    const entering = pace.enter("fleet/a", { isFirst }, stop.signal);
    if (await isHeldBack(entering)) {
      stop.abort(new Error("Not yet"));
      await entering.catch(() => undefined);
      vi.advanceTimersByTime(1_000);
    } else {
      gaps.push(Math.round((performance.now() - last) / 1_000));
      last = performance.now();
    }
  }
  return gaps;
}

describe("the longest wait for a plugin (T-22)", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  test("grows to five minutes for a profile that wants new connections all the time", async () => {
    const gaps = await gapsOf(new PluginPace(systemClock), 14, true);
    expect(gaps).toEqual([0, 0, 5, 5, 5, 5, 5, 10, 20, 40, 80, 160, 300, 300]);
  });

  test("does not grow for a connection whose credential never lives long", async () => {
    expect(await gapsOf(new PluginPace(systemClock), 12, false)).toEqual([
      0,
      0,
      ...Array(10).fill(5),
    ]);
  });

  test("is five seconds again after a rest", async () => {
    const pace = new PluginPace(systemClock);
    await gapsOf(pace, 12, true);
    vi.advanceTimersByTime(600_000);
    expect((await gapsOf(pace, 4, true)).slice(1)).toEqual([0, 5, 5]);
  });
});

describe("a plugin runs twice, and then at most once in five seconds,", () => {
  let folder: string;
  let command: string;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    folder = await mkdtemp(join(tmpdir(), "knfleet-pace-"));
    command = join(folder, "plugin");
    const output = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T"}}`;
    await writeFile(command, `#!/bin/sh\necho run >> ${folder}/runs\necho '${output}'\n`);
    await chmod(command, 0o755);
  });

  afterEach(() => rm(folder, { recursive: true }));

  /** Time passes for the limits and for what happens on sockets and in processes. */
  async function passes(ms: number): Promise<void> {
    await new Promise((done) => setTimeout(done, ms));
    await clock.advance(ms);
  }

  async function runs(): Promise<number> {
    return (await readFile(join(folder, "runs"), "utf8")).split("\n").length - 1;
  }

  function keeperTo(server: string): SpokeKeeper {
    const deps = { clock, environment: { PATH: "/usr/bin:/bin" }, userAgent: "test" };
    return new SpokeKeeper(outlookTo(server), deps, () => undefined);
  }

  function outlookTo(server: string): AccessOutcome {
    const ca = Buffer.from(authority.certificatePem).toString("base64");
    const cluster = { server, "certificate-authority-data": ca };
    const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
    const access = resolveAccess(
      profile,
      fileOf(rawProvider("sr", {}, { command })),
      Number(clock.date()),
    );
    return { kind: "access", access };
  }

  test("for a server that refuses every credential (T-22, C06)", async () => {
    const api = await stub(() => ({ status: 401 }));
    const started = clock.now();
    const keeper = keeperTo(api.server);
    for (let round = 0; round < 50; round += 1) {
      await expect(keeper.acquire(signal)).rejects.toMatchObject({ code: "CredentialRejected" });
      await passes(30);
    }
    expect(await runs()).toBeLessThanOrEqual(2 + (clock.now() - started) / 5_000);
    await keeper.close(over);
  });

  test("for a profile whose server changes again and again (T-22)", async () => {
    const apis = await Promise.all([stub(), stub()]);
    const started = clock.now();
    const keeper = keeperTo(apis[0].server);
    await keeper.acquire(signal);
    for (let flip = 1; flip <= 400; flip += 1) {
      keeper.update(outlookTo(apis[flip % 2 === 0 ? 0 : 1].server));
      if (flip % 10 === 0) await passes(30);
    }
    expect(await runs()).toBeLessThanOrEqual(2 + (clock.now() - started) / 5_000);
    const later = async (): Promise<string> => {
      await clock.advance(500);
      return keeper.state.kind;
    };
    await expect.poll(later, { timeout: 150_000 }).toBe("connected");
    expect(apis[0].connections + apis[1].connections).toBeLessThanOrEqual(
      2 + (clock.now() - started) / 1_000,
    );
    await keeper.close(over);
  }, 240_000);
});

const over = new FleetError("ClusterProviderClosed", "The test is over");
