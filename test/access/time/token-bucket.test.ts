import { beforeEach, expect, test } from "vitest";

import { TokenBucket } from "../../../access/time/token-bucket.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const options = { burst: 3, intervalMs: 1_000 };

let clock: FakeClock;

beforeEach(() => void (clock = new FakeClock()));

/** Takes tokens as soon as each is there. Returns the times at which they were taken. */
async function timesOf(bucket: TokenBucket, tokens: number): Promise<number[]> {
  const times: number[] = [];
  while (times.length < tokens) {
    await clock.advance(bucket.untilMs(clock.now()));
    bucket.take(clock.now());
    times.push(clock.now());
  }
  return times;
}

test("a full bucket gives a burst, and then a token in each interval", async () => {
  expect(await timesOf(new TokenBucket(options), 6)).toEqual([0, 0, 0, 1_000, 2_000, 3_000]);
});

test("a bucket fills while nothing is taken, and not above its burst", async () => {
  const bucket = new TokenBucket(options);
  await timesOf(bucket, 3);
  expect(bucket.fullAt).toBe(3_000);
  await clock.advance(60_000);
  expect(await timesOf(bucket, 4)).toEqual([60_000, 60_000, 60_000, 61_000]);
});

test("a bucket tells when it has several tokens", async () => {
  const bucket = new TokenBucket(options);
  await timesOf(bucket, 3);
  await clock.advance(500);
  expect([1, 2, 3].map((tokens) => bucket.untilMs(clock.now(), tokens))).toEqual([
    500, 1_500, 2_500,
  ]);
});

test("a token that is taken from an empty bucket is no debt", async () => {
  const bucket = new TokenBucket(options);
  await timesOf(bucket, 3);
  await clock.advance(900);
  bucket.take(clock.now());
  expect(bucket.untilMs(clock.now())).toBe(1_000);
});

test("a bucket may begin empty", async () => {
  expect(await timesOf(new TokenBucket(options, 3_000), 3)).toEqual([1_000, 2_000, 3_000]);
});
