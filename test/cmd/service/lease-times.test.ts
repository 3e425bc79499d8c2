import { expect, test } from "vitest";

import { leaseTimesOf } from "../../../cmd/service/lease-times.ts";

function timesOf([duration, deadline, period]: readonly [number, number, number]) {
  return leaseTimesOf({
    leaderElectLeaseDuration: duration,
    leaderElectRenewDeadline: deadline,
    leaderElectRetryPeriod: period,
  });
}

test("the defaults of client-go, and times that just fit, are taken", () => {
  expect(timesOf([15_000, 10_000, 2_000])).toEqual({
    durationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2_000,
  });
  expect(timesOf([1_001, 1_000, 833])).toMatchObject({ durationMs: 1_001 });
  expect(timesOf([60_000, 10_000, 2_000])).toMatchObject({ durationMs: 60_000 });
});

test.each([
  [[10_000, 10_000, 2_000], "--leader-elect-lease-duration=10s has to be more than --leader-elect"],
  [[15_000, 2_400, 2_000], "--leader-elect-renew-deadline=2.4s has to be more than 1.2 times"],
  [[15_000, 10_000, 0], "--leader-elect-retry-period=0s has to be more than 0s"],
  [[15_000, -1, -2], "--leader-elect-retry-period=-0.002s has to be more than 0s"],
  [[1_000, 500, 100], "--leader-elect-lease-duration=1s has to be more than 1s"],
  [[60_001, 10_000, 2_000], "--leader-elect-lease-duration=60.001s may be 60s at most"],
] as const)("times of %j ms are refused", (times, message) => {
  expect(() => timesOf(times)).toThrow(
    expect.objectContaining({ reason: "ConfigInvalid", message: expect.stringContaining(message) }),
  );
});
