import { expect, test } from "vitest";

import { Window } from "../../../access/http/window.ts";

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

test("a window is halved by 429, never below four, and grows again by success", async () => {
  const window = new Window(32);
  window.shrink();
  expect(await roomOf(window)).toBe(16);
  for (let times = 0; times < 9; times += 1) window.shrink();
  expect(await roomOf(window)).toBe(4);
  for (let times = 0; times < 100; times += 1) window.grow();
  expect(await roomOf(window)).toBe(32);
});
