import { describe, expect, test } from "vitest";

import { delay, every, pause } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";

const never = new AbortController().signal;

describe("delay", () => {
  test("resolves after its time", async () => {
    const clock = new FakeClock();
    let isOver = false;
    void delay(clock, 1_000, never).then(() => (isOver = true));
    await clock.advance(999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(isOver).toBe(true);
  });

  test("rejects with the reason of its signal, also with one that is aborted already", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const reason = new Error("Interrupted");
    const waiting = delay(clock, 1_000, stop.signal);
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(delay(clock, 1_000, stop.signal)).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
  });
});

test("a pause ends early, without an error, when its signal aborts", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const waiting = pause(clock, 1_000, stop.signal);
  stop.abort();
  await expect(waiting).resolves.toBeUndefined();
  expect(clock.pending).toBe(0);
});

describe("every", () => {
  test("calls back at each interval until it is disposed", async () => {
    const clock = new FakeClock();
    let calls = 0;
    const checks = every(clock, 1_000, () => (calls += 1));
    await clock.advance(3_500);
    expect(calls).toBe(3);
    checks[Symbol.dispose]();
    await clock.advance(10_000);
    expect(calls).toBe(3);
    expect(clock.pending).toBe(0);
  });

  test("does not call back again when it is disposed by its own callback", async () => {
    const clock = new FakeClock();
    let calls = 0;
    const checks = every(clock, 1_000, () => {
      calls += 1;
      checks[Symbol.dispose]();
    });
    await clock.advance(5_000);
    expect(calls).toBe(1);
    expect(clock.pending).toBe(0);
  });
});

describe("the clock of this machine", () => {
  test("does not call back for a timer that was disposed", async () => {
    let calls = 0;
    systemClock.after(5, () => (calls += 1))[Symbol.dispose]();
    const { promise, resolve } = Promise.withResolvers<void>();
    systemClock.after(10, resolve);
    await promise;
    await settled();
    expect(calls).toBe(0);
  });

  test("knows the date and a time that goes on", () => {
    const before = systemClock.now();
    expect(Math.abs(systemClock.date().getTime() - Date.now())).toBeLessThan(60_000);
    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
  });
});
