import { beforeEach, expect, test } from "vitest";

import { TimedWrite } from "../../../controller/reconcile/timed-write.ts";
import { FakeClock } from "../../support/fake-clock.ts";

let clock: FakeClock;
let written: number[];

beforeEach(() => {
  clock = new FakeClock();
  written = [];
});

async function write(): Promise<void> {
  await Promise.resolve();
  written.push(clock.now());
}

test("an attempt that begins soon prevents the greeting", async () => {
  const early = new TimedWrite();
  early.begin(clock, 150, write);
  early[Symbol.dispose]();
  await early.written();
  await clock.advance(1_000);
  expect(written).toEqual([]);
  const late = new TimedWrite();
  late.begin(clock, 150, write);
  await clock.advance(150);
  await late.written();
  expect(written).toEqual([1_150]);
});

test("an earlier time replaces a later one, and a later one does not", async () => {
  const timed = new TimedWrite();
  for (const ms of [2_000, 500, 500, 1_000]) timed.begin(clock, ms, write);
  await clock.advance(5_000);
  expect(written).toEqual([500]);
  timed.begin(clock, 100, write);
  await clock.advance(100);
  expect(written).toEqual([500, 5_100]);
});

test("a write that was not allowed may be begun again", async () => {
  const timed = new TimedWrite();
  expect(timed.wasBegun).toBe(false);
  timed.begin(clock, 150, () => undefined);
  expect(timed.wasBegun).toBe(true);
  await clock.advance(150);
  expect(timed.wasBegun).toBe(false);
  timed.begin(clock, 150, write);
  await clock.advance(150);
  expect([timed.wasBegun, written]).toEqual([true, [300]]);
});

test("a running write is waited for", async () => {
  const timed = new TimedWrite();
  const { promise, resolve } = Promise.withResolvers<void>();
  timed.begin(clock, 0, () => promise);
  await clock.advance(1);
  let isOver = false;
  const over = timed.written().then(() => (isOver = true));
  await clock.advance(1_000);
  expect(isOver).toBe(false);
  resolve();
  await over;
  expect(isOver).toBe(true);
});
