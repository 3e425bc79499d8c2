import { expect, test } from "vitest";

import { Pace } from "../../../access/time/pace.ts";

test("a burst costs no wait, and what is done beyond it has to be paid for", () => {
  const pace = new Pace({ burst: 10, perSecond: 2 });
  expect([pace.take(0, 4), pace.take(0, 6), pace.take(0, 1), pace.take(0, 3)]).toEqual([
    0, 0, 500, 2_000,
  ]);
  expect(pace.take(2_000, 1)).toBe(500);
});

test("a rest gives back the burst, and no more", () => {
  const pace = new Pace({ burst: 10, perSecond: 2 });
  expect(pace.take(0, 10)).toBe(0);
  expect(pace.take(60_000, 10)).toBe(0);
  expect(pace.take(60_000, 1)).toBe(500);
});
