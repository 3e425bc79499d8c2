import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { describe, expect, test } from "vitest";

import { begun, Deadline, Follower, withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";

const never = new AbortController().signal;

test("begun work gives each who asks its result or its error, and an error that nobody asks for is no unhandled one", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const reason = new Error("Refused");
    const failed = begun(Promise.reject(reason));
    await delay(1);
    expect(unhandled).toEqual([]);
    await expect(failed()).rejects.toBe(reason);
    await expect(failed()).rejects.toBe(reason);
    expect(await begun(Promise.resolve(1))()).toBe(1);
  } finally {
    process.off("unhandledRejection", note);
  }
});

describe("withTimeout", () => {
  test.each([{ signal: never }, { signal: undefined }])(
    "aborts with a TimeoutError after its time",
    async ({ signal }) => {
      const limit = withTimeout(systemClock, 20, signal);
      expect(limit.aborted).toBe(false);
      await delay(60);
      expect(limit.reason).toMatchObject({ name: "TimeoutError" });
    },
  );

  test("aborts with its signal, also with one that is aborted already", () => {
    const reason = new Error("Interrupted");
    const caller = new AbortController();
    const limit = withTimeout(systemClock, 60_000, caller.signal);
    caller.abort(reason);
    expect(limit.reason).toBe(reason);
    expect(withTimeout(systemClock, 60_000, caller.signal).reason).toBe(reason);
  });

  test("keeps its time although garbage collection runs, also inside another limit", async () => {
    const limit = withTimeout(systemClock, 5_000, withTimeout(systemClock, 100, never));
    collectGarbage();
    await delay(20);
    collectGarbage();
    await delay(150);
    expect(limit.aborted).toBe(true);
  });
});

describe("Deadline", () => {
  test("still aborts with its signal when the time limit has ended", async () => {
    const caller = new AbortController();
    using deadline = new Deadline(systemClock, 20, caller.signal);
    deadline.clear();
    await delay(60);
    expect(deadline.signal.aborted).toBe(false);
    caller.abort();
    expect(deadline.signal.aborted).toBe(true);
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("There is no gc");
  collect();
}

describe("Follower", () => {
  test("aborts with the first of its signals that aborts, and keeps that reason", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const either = new Follower(one.signal, other.signal);
    expect(either.signal.aborted).toBe(false);
    other.abort("other");
    one.abort("one");
    expect(either.signal.reason).toBe("other");
    expect(new Follower(never, other.signal).signal.reason).toBe("other");
  });

  test("follows none of its signals after its disposal", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const either = new Follower(one.signal, other.signal);
    either[Symbol.dispose]();
    one.abort();
    other.abort();
    expect(either.signal.aborted).toBe(false);
  });
});
