import { expect, test } from "vitest";

import { Semaphore } from "../../../access/time/semaphore.ts";
import { settled } from "../../support/fake-clock.ts";

const signal = new AbortController().signal;

/** How many can enter a semaphore at once. */
async function roomOf(semaphore: Semaphore): Promise<number> {
  const stop = new AbortController();
  const places: Disposable[] = [];
  while (!semaphore.hasWaiting) {
    void semaphore.enter(stop.signal).then(
      (place) => places.push(place),
      () => undefined,
    );
  }
  stop.abort();
  await settled();
  for (const place of places) place[Symbol.dispose]();
  return places.length;
}

test("a semaphore admits as many as it is wide, in order of arrival", async () => {
  const semaphore = new Semaphore(4);
  expect(await roomOf(semaphore)).toBe(4);
  const places = await Promise.all(Array.from({ length: 4 }, () => semaphore.enter(signal)));
  const order: number[] = [];
  const waiting = [1, 2].map(async (number) => {
    using _place = await semaphore.enter(signal);
    order.push(number);
  });
  for (const place of places) place[Symbol.dispose]();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2]);
});

test("a place that is given back twice is free once", async () => {
  const semaphore = new Semaphore(4);
  const place = await semaphore.enter(signal);
  place[Symbol.dispose]();
  place[Symbol.dispose]();
  expect(await roomOf(semaphore)).toBe(4);
});

test("who stops waiting takes no place", async () => {
  const semaphore = new Semaphore(4);
  const places = await Promise.all(Array.from({ length: 4 }, () => semaphore.enter(signal)));
  const stop = new AbortController();
  const waiting = semaphore.enter(stop.signal);
  stop.abort(new Error("Stopped"));
  await expect(waiting).rejects.toThrow("Stopped");
  for (const place of places) place[Symbol.dispose]();
  expect(await roomOf(semaphore)).toBe(4);
});

test("a semaphore with another size admits who waits, and takes no place away", async () => {
  const semaphore = new Semaphore(1);
  using _first = await semaphore.enter(signal);
  const waiting = [semaphore.enter(signal), semaphore.enter(signal)];
  semaphore.resize(3);
  await Promise.all(waiting);
  semaphore.resize(2);
  expect(semaphore.used).toBe(3);
});

test("who weighs more waits for more, and is not overtaken", async () => {
  const semaphore = new Semaphore(4);
  const order: string[] = [];
  const first = await semaphore.take(2, signal);
  const waiting = [3, 1].map(async (weight) => {
    await semaphore.take(weight, signal);
    order.push(`weight ${weight}`);
  });
  await settled();
  expect(order).toEqual([]);
  first[Symbol.dispose]();
  await Promise.all(waiting);
  expect(order).toEqual(["weight 3", "weight 1"]);
});
