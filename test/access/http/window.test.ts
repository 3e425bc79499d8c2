import { expect, test } from "vitest";

import { Window } from "../../../access/http/window.ts";

const signal = new AbortController().signal;

/** How many can enter a window at once. */
async function roomOf(window: Window): Promise<number> {
  const places: Disposable[] = [];
  for (;;) {
    const place = await window.enter(AbortSignal.timeout(20)).catch(() => undefined);
    if (place === undefined) break;
    places.push(place);
  }
  for (const place of places) place[Symbol.dispose]();
  return places.length;
}

test("a window admits as many as it is wide, in order of arrival", async () => {
  const window = new Window(4);
  expect(await roomOf(window)).toBe(4);
  const places = await Promise.all(Array.from({ length: 4 }, () => window.enter(signal)));
  const order: number[] = [];
  const waiting = [1, 2].map(async (number) => {
    using _place = await window.enter(signal);
    order.push(number);
  });
  for (const place of places) place[Symbol.dispose]();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2]);
});

test("a window is halved by 429, never below four, and grows again by success", async () => {
  const window = new Window(32);
  window.shrink();
  expect(await roomOf(window)).toBe(16);
  for (let times = 0; times < 9; times += 1) window.shrink();
  expect(await roomOf(window)).toBe(4);
  for (let times = 0; times < 100; times += 1) window.grow();
  expect(await roomOf(window)).toBe(32);
});

test("a place that is given back twice is free once", async () => {
  const window = new Window(4);
  const place = await window.enter(signal);
  place[Symbol.dispose]();
  place[Symbol.dispose]();
  expect(await roomOf(window)).toBe(4);
});

test("who stops waiting takes no place", async () => {
  const window = new Window(4);
  const places = await Promise.all(Array.from({ length: 4 }, () => window.enter(signal)));
  const stop = new AbortController();
  const waiting = window.enter(stop.signal);
  stop.abort(new Error("Stopped"));
  await expect(waiting).rejects.toThrow("Stopped");
  for (const place of places) place[Symbol.dispose]();
  expect(await roomOf(window)).toBe(4);
});
