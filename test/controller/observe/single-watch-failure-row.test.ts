import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FailureRow } from "../../../controller/observe/single-watch.ts";
import { apiError } from "./scripted-watches.ts";

const refusal = apiError(403, "forbidden");
const cut = new ConnectionError("refused", "https://spoke.example refused");

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

/** Which failures are news that come after so many seconds each. */
function newsAmong(row: FailureRow, error: Error, seconds: readonly number[]): readonly boolean[] {
  return seconds.map((after) => {
    vi.advanceTimersByTime(after * 1_000);
    row.add(error);
    return row.takeReport();
  });
}

test("is news with the fourth failure, and while it goes on once a minute at most", () => {
  expect(newsAmong(new FailureRow(systemClock), refusal, [0, 1, 2, 4, 8, 16, 30, 30])).toEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((failure) => failure === 4 || failure === 8),
  );
});

test("is none where the watch works for a while in between", () => {
  const row = new FailureRow(systemClock);
  expect(newsAmong(row, cut, Array<number>(20).fill(60))).not.toContain(true);
  expect(newsAmong(row, refusal, Array<number>(20).fill(300))).not.toContain(true);
});

test("is news again after a minute, when the watch failed, worked and fails", () => {
  const row = new FailureRow(systemClock);
  expect(newsAmong(row, refusal, [0, 1, 2, 4])).toContain(true);
  row.end();
  expect(newsAmong(row, refusal, [1, 1, 2, 4, 8, 16])).not.toContain(true);
  expect(newsAmong(row, refusal, [30, 30, 30])).toEqual([true, false, true]);
});
