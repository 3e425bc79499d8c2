import { expect, test } from "vitest";

import type { Next } from "../../../controller/queue/delays.ts";
import { WorkQueue } from "../../../controller/queue/queue.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";
import { queueUnderTest } from "./queue-under-test.ts";

const done: Next = { kind: "done" };

test("a key that is added twice has one work", async () => {
  const { queue, keys } = queueUnderTest({ concurrency: 1 });
  queue.add("a", "one");
  queue.add("b", "one");
  queue.add("b", "one");
  expect(queue.depth).toBe(1);
  await settled();
  expect(keys()).toEqual(["a"]);
});

test("a key has one work at a time, and another one when it was added meanwhile", async () => {
  const { queue, keys, last } = queueUnderTest();
  queue.add("a", "one");
  queue.add("a", "one");
  queue.add("a", "one");
  expect(keys()).toEqual(["a"]);
  await last().end(done);
  expect(keys()).toEqual(["a", "a"]);
  await last().end(done);
  expect(keys()).toEqual(["a", "a"]);
});

test("no work begins before the start", () => {
  const { queue, keys } = queueUnderTest();
  const waiting = new WorkQueue({
    work: () => Promise.reject(new Error("Started")),
    onBug: () => expect.unreachable(),
    concurrency: 1,
    laneConcurrency: 1,
    slowMs: 1,
    clock: new FakeClock(),
    random: () => 0,
  });
  waiting.add("a", "one");
  queue.add("a", "one");
  expect(keys()).toEqual(["a"]);
});

test("a queue before its start has no depth, and waiting times count from the start", async () => {
  const clock = new FakeClock();
  const waits: number[] = [];
  const queue = new WorkQueue({
    work: () => new Promise(() => undefined),
    onBug: () => expect.unreachable(),
    concurrency: 1,
    laneConcurrency: 1,
    slowMs: 60_000,
    clock,
    random: () => 0,
    observer: {
      added: () => undefined,
      started: (_, waitedMs) => waits.push(waitedMs),
      ended: () => undefined,
    },
  });
  for (const key of ["a", "b", "c"]) queue.add(key, key);
  await clock.advance(3_600_000);
  expect(queue.depth).toBe(0);
  queue.start();
  expect([queue.depth, waits]).toEqual([2, [0]]);
});

test("lanes take turns", async () => {
  const { queue, keys, last } = queueUnderTest({ concurrency: 1 });
  for (const key of ["a1", "a2", "a3"]) queue.add(key, "a");
  for (const key of ["b1", "b2"]) queue.add(key, "b");
  queue.add("c1", "c");
  for (let i = 0; i < 6; i += 1) await last().end(done);
  expect(keys()).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("a hanging lane takes only its own places", () => {
  const { queue, keys } = queueUnderTest();
  for (const key of ["a1", "a2", "a3", "a4"]) queue.add(key, "hung");
  queue.add("b1", "b");
  expect(keys()).toEqual(["a1", "a2", "b1"]);
});

test("hanging lanes block others no longer than slow work counts", async () => {
  const { clock, queue, keys } = queueUnderTest({ concurrency: 2 });
  queue.add("x1", "x");
  queue.add("y1", "y");
  queue.add("b1", "b");
  await clock.advance(4_999);
  expect(keys()).toEqual(["x1", "y1"]);
  await clock.advance(1);
  expect(keys()).toEqual(["x1", "y1", "b1"]);
});

test("slow work gives its place back once", async () => {
  const { clock, queue, started, keys } = queueUnderTest({ concurrency: 1 });
  queue.add("x1", "x");
  await clock.advance(5_000);
  queue.add("b1", "b");
  await started[0]?.end(done);
  queue.add("c1", "c");
  await settled();
  expect(keys()).toEqual(["x1", "b1"]);
});

test("each failure in a row comes back later, and a success ends the row", async () => {
  const { clock, queue, started, last } = queueUnderTest();
  queue.add("a", "one");
  await last().end({ kind: "backoff" });
  await clock.advance(4);
  expect(started).toHaveLength(1);
  await clock.advance(1);
  expect(started).toHaveLength(2);
  await last().end({ kind: "backoff" });
  await clock.advance(9);
  expect(started).toHaveLength(2);
  await clock.advance(1);
  expect(started).toHaveLength(3);
  await last().end(done);
  queue.add("a", "one");
  await last().end({ kind: "backoff" });
  await clock.advance(5);
  expect(started).toHaveLength(5);
});

test("a back-off with a limit of its own does not grow beyond that", async () => {
  const { clock, queue, started, last } = queueUnderTest();
  queue.add("a", "one");
  for (let failure = 1; failure <= 20; failure += 1) {
    await settled();
    expect(started).toHaveLength(failure);
    await last().end({ kind: "backoff", mostMs: 1_000 });
    await clock.advance(1_000);
  }
});

test("an event ends a back-off, a delayed add does not", async () => {
  const { clock, queue, started, last } = queueUnderTest({ random: () => 0 });
  queue.add("a", "one");
  for (let i = 0; i < 10; i += 1) {
    await last().end({ kind: "backoff" });
    await clock.advance(3_000);
  }
  expect(started).toHaveLength(11);
  await last().end({ kind: "backoff" });
  queue.addAfter("a", "one", 10);
  await clock.advance(100);
  expect(started).toHaveLength(11);
  queue.add("a", "one");
  expect(started).toHaveLength(12);
});

test("of two delayed adds the earlier one counts", async () => {
  const { clock, queue, started } = queueUnderTest();
  queue.addAfter("a", "one", 100);
  queue.addAfter("a", "one", 50);
  queue.addAfter("a", "one", 70);
  await clock.advance(50);
  expect(started).toHaveLength(1);
  expect(clock.pending).toBe(1);
});

test("work that asks for a time comes back then", async () => {
  const { clock, queue, started, last } = queueUnderTest();
  queue.add("a", "one");
  await last().end({ kind: "after", ms: 10_000 });
  await clock.advance(9_999);
  expect(started).toHaveLength(1);
  await clock.advance(1);
  expect(started).toHaveLength(2);
});

test("work that waits for a change does not come back", async () => {
  const { clock, queue, started, last } = queueUnderTest();
  queue.add("a", "one");
  await last().end({ kind: "change" });
  await clock.advance(10_000_000);
  expect(started).toHaveLength(1);
});

test("a key that is forgotten does not come back", async () => {
  const { clock, queue, started, last } = queueUnderTest();
  queue.add("a", "one");
  await last().end({ kind: "after", ms: 10 });
  queue.forget("a");
  await clock.advance(100);
  expect(started).toHaveLength(1);
});

test("a key that is forgotten during its work, and added for another lane, comes back in that lane", async () => {
  const { queue, keys, started } = queueUnderTest({ laneConcurrency: 1 });
  queue.add("a", "old");
  queue.add("b", "old");
  queue.forget("a");
  queue.add("a", "new");
  await started[0]?.end(done);
  // In the old lane "a" would wait for the end of "b".
  expect(keys()).toEqual(["a", "b", "a"]);
  queue.add("c", "new");
  await started[1]?.end(done);
  expect(keys()).toEqual(["a", "b", "a"]);
  await started[2]?.end(done);
  expect(keys()).toEqual(["a", "b", "a", "c"]);
});

test("a bug in the work is reported and the key backs off", async () => {
  const { clock, queue, bugs } = queueUnderTest({
    work: () => Promise.reject(new Error("A bug")),
  });
  queue.add("a", "one");
  await settled();
  expect(bugs).toEqual([new Error("A bug")]);
  await clock.advance(5);
  expect(bugs).toHaveLength(2);
});

test("disposal aborts running work, waits for its end and takes no more keys", async () => {
  const { clock, queue, started, last } = queueUnderTest();
  queue.add("a", "one");
  const { signal } = last();
  queue.addAfter("b", "one", 10);
  await queue[Symbol.asyncDispose]();
  expect(signal.aborted).toBe(true);
  expect(queue.active).toBe(0);
  queue.add("c", "one");
  await clock.advance(100);
  expect(started).toHaveLength(1);
});

test("hasten shortens a back-off, and the row of failures goes on", async () => {
  const { clock, queue, keys, last } = queueUnderTest();
  queue.add("a", "one");
  for (let failures = 0; failures < 12; failures += 1) {
    await last().end({ kind: "backoff" });
    await clock.advance(failures < 11 ? 300_000 : 1_000);
  }
  const before = keys().length;
  queue.addAfter("a", "one", 50);
  await clock.advance(1_000);
  expect(keys()).toHaveLength(before);
  queue.hasten("a", "one", 50);
  await clock.advance(50);
  expect(keys()).toHaveLength(before + 1);
  await last().end({ kind: "backoff" });
  await clock.advance(1_000);
  expect(keys()).toHaveLength(before + 1);
});

test("hasten during work brings the key back soon, also when the work fails", async () => {
  const { clock, queue, keys, last } = queueUnderTest();
  queue.add("a", "one");
  for (let failures = 0; failures < 12; failures += 1) {
    if (failures === 11) queue.hasten("a", "one", 250);
    await last().end({ kind: "backoff" });
    if (failures < 11) await clock.advance(300_000);
  }
  const before = keys().length;
  await clock.advance(240);
  expect(keys()).toHaveLength(before);
  await clock.advance(10);
  expect(keys()).toHaveLength(before + 1);
  await last().end({ kind: "backoff" });
  await clock.advance(1_000);
  expect(keys()).toHaveLength(before + 1);
});
