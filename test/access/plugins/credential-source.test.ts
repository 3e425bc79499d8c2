import { beforeEach, describe, expect, test } from "vitest";

import { RenewingCredentials } from "../../../access/plugins/credential-source.ts";
import { type Credential, Secret } from "../../../access/plugins/credential.ts";

const signal = new AbortController().signal;
const minute = 60_000;

let now: number;
/** How far the wall clock is away from where it was, in ms. */
let stepMs: number;
let runs: number;
let outcome: () => Promise<Credential>;
let source: RenewingCredentials;
let dropped: (string | undefined)[];

beforeEach(() => {
  now = 1_000_000;
  stepMs = 0;
  runs = 0;
  dropped = [];
  outcome = () => Promise.resolve(token());
  source = new RenewingCredentials({
    obtain: () => {
      runs += 1;
      return outcome();
    },
    clock: { now: () => now, date: () => new Date(now + stepMs) },
    random: () => 0.5,
    onDropped: ({ authorization }) => void dropped.push(authorization?.reveal()),
  });
});

function token(lifeMs?: number): Credential {
  const authorization = new Secret(`Bearer T${runs}`);
  return lifeMs === undefined ? { authorization } : { authorization, expiresAtMs: now + lifeMs };
}

async function current(): Promise<string | undefined> {
  return (await source.current(signal)).authorization?.reveal();
}

function failing(): Promise<Credential> {
  return Promise.reject(new Error(`Failure ${runs}`));
}

describe("a credential", () => {
  test("is obtained once for all who wait (X32)", async () => {
    const all = await Promise.all(Array.from({ length: 50 }, current));
    expect(new Set(all)).toEqual(new Set(["Bearer T1"]));
    expect(runs).toBe(1);
  });

  test("is used until shortly before it ends (C02)", async () => {
    outcome = () => Promise.resolve(token(60 * minute));
    await current();
    now += 40 * minute;
    expect(await current()).toBe("Bearer T1");
    expect(runs).toBe(1);
    now += 19.5 * minute;
    expect(await current()).toBe("Bearer T2");
  });

  test("is obtained once for two requests (C01)", async () => {
    outcome = () => Promise.resolve(token(60 * minute));
    expect([await current(), await current()]).toEqual(["Bearer T1", "Bearer T1"]);
    expect(runs).toBe(1);
  });

  test("is renewed in the background at four fifths of its life", async () => {
    outcome = () => Promise.resolve(token(60 * minute));
    await current();
    now += 49 * minute;
    expect(await current()).toBe("Bearer T1");
    await Promise.resolve();
    expect(runs).toBe(2);
    await expect.poll(current).toBe("Bearer T2");
  });

  test.each([
    { random: 0, at: 43.2 },
    { random: 0.999, at: 52.7 },
  ])("is not renewed by all at the same moment: at $at of 60 minutes", async ({ random, at }) => {
    let times = 0;
    const jittered = new RenewingCredentials({
      obtain: () => {
        times += 1;
        return Promise.resolve(token(60 * minute));
      },
      clock: { now: () => now, date: () => new Date(now) },
      random: () => random,
    });
    await jittered.current(signal);
    now += (at - 0.1) * minute;
    await jittered.current(signal);
    expect(times).toBe(1);
    now += 0.2 * minute;
    await jittered.current(signal);
    expect(times).toBe(2);
  });

  test("stays in use while its renewal fails (C09, X10)", async () => {
    outcome = () => Promise.resolve(token(60 * minute));
    await current();
    outcome = failing;
    now += 50 * minute;
    expect([await current(), await current(), await current()]).toEqual([
      "Bearer T1",
      "Bearer T1",
      "Bearer T1",
    ]);
    expect(runs).toBe(2);
  });

  test("without an expiry is renewed every quarter of an hour (C04)", async () => {
    await current();
    now += 14 * minute;
    await current();
    expect(runs).toBe(1);
    now += 2 * minute;
    await current();
    expect(runs).toBe(2);
  });

  test("that is about to end serves a second of requests (C03)", async () => {
    outcome = () => Promise.resolve(token(0));
    await Promise.all([current(), current()]);
    await current();
    expect(runs).toBe(1);
    now += 1_100;
    await current();
    expect(runs).toBe(2);
  });
});

describe("a rejected credential", () => {
  test("is replaced once for all who had it (C07)", async () => {
    const old = await source.current(signal);
    for (let times = 0; times < 20; times += 1) source.reject(old);
    await Promise.all(Array.from({ length: 20 }, current));
    expect(runs).toBe(2);
  });

  test("whose replacement is rejected too is held back with growing pauses (C06)", async () => {
    source.reject(await source.current(signal));
    source.reject(await source.current(signal));
    await expect(current()).rejects.toMatchObject({ code: "CredentialRejected" });
    expect(runs).toBe(2);
    now += 1_500;
    source.reject(await source.current(signal));
    expect(runs).toBe(3);
    now += 1_500;
    await expect(current()).rejects.toMatchObject({ code: "CredentialRejected" });
    now += 1_500;
    expect(await current()).toBe("Bearer T4");
  });
});

test("output that was wrong is asked for again later (X07)", async () => {
  outcome = failing;
  await expect(current()).rejects.toThrow("Failure 1");
  outcome = () => Promise.resolve(token());
  now += minute;
  expect(await current()).toBe("Bearer T2");
});

test("failures are remembered with growing pauses (X34)", async () => {
  outcome = failing;
  await expect(current()).rejects.toThrow("Failure 1");
  await expect(current()).rejects.toThrow("Failure 1");
  now += 1_500;
  await expect(current()).rejects.toThrow("Failure 2");
  now += 1_500;
  await expect(current()).rejects.toThrow("Failure 2");
  now += 1_500;
  outcome = () => Promise.resolve(token());
  expect(await current()).toBe("Bearer T3");
});

test("who stops waiting does not stop the others", async () => {
  const stop = new AbortController();
  const gate = Promise.withResolvers<Credential>();
  outcome = () => gate.promise;
  const impatient = source.current(stop.signal);
  const patient = current();
  stop.abort(new Error("Impatient"));
  await expect(impatient).rejects.toThrow("Impatient");
  gate.resolve(token());
  expect(await patient).toBe("Bearer T1");
});

test("what is refused, and what is held at the end, is told", async () => {
  const first = await source.current(signal);
  source.reject(first);
  source.reject(first);
  expect(dropped).toEqual(["Bearer T1"]);
  await source.current(signal);
  source[Symbol.dispose]();
  expect(dropped).toEqual(["Bearer T1", "Bearer T2"]);
});

test("a plugin that fails all the time is run with pauses that grow to five minutes (T-22)", async () => {
  outcome = failing;
  const at: number[] = [];
  const began = now;
  while (at.length < 13) {
    const before = runs;
    await expect(current()).rejects.toThrow(/Failure/);
    if (runs > before) at.push(now - began);
    now += 500;
  }
  const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses);
  // A little more than five minutes: 12.5 % of jitter.
  expect(pauses.at(-1)).toBe(337_500);
});

describe("a wall clock that is set back by an hour", () => {
  test("makes no pause after a failure longer", async () => {
    outcome = failing;
    await expect(current()).rejects.toThrow("Failure 1");
    stepMs = -60 * minute;
    outcome = () => Promise.resolve(token());
    now += 1_500;
    expect(await current()).toBe("Bearer T2");
  });

  test("makes no rejection one of a row", async () => {
    source.reject(await source.current(signal));
    stepMs = -60 * minute;
    now += 10 * minute;
    source.reject(await source.current(signal));
    expect(await current()).toBe("Bearer T3");
  });

  test.each([undefined, 10 * minute])("renews what lives for %j ms in time", async (lifeMs) => {
    outcome = () => Promise.resolve(token(lifeMs));
    await current();
    stepMs = -60 * minute;
    now += 18 * minute;
    await current();
    await expect.poll(current).toBe("Bearer T2");
  });
});
