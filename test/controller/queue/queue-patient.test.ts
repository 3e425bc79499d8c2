import { describe, expect, test } from "vitest";

import type { Next } from "../../../controller/queue/delays.ts";
import type { QueueOptions } from "../../../controller/queue/queue.ts";
import { queueUnderTest } from "./queue-under-test.ts";

describe("C11: a failure that is not to be tried again before a time", () => {
  const patient: Next = { kind: "backoff", mostMs: 10_000, leastMs: 60_000 };

  async function failedOnce(options: Partial<QueueOptions> = {}) {
    const made = queueUnderTest(options);
    made.queue.add("a", "one");
    await made.last().end(patient);
    return made;
  }

  test("comes back then, and once", async () => {
    const { clock, started } = await failedOnce();
    await clock.advance(59_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
  });

  test("does not come back at the same moment as others", async () => {
    const { clock, started } = await failedOnce({ random: () => 0.5 });
    await clock.advance(67_499);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
  });

  test("does not come back before because something happened on its cluster", async () => {
    const { clock, queue, started, last } = await failedOnce();
    queue.hasten("a", "one", 50);
    await clock.advance(59_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
    queue.hasten("a", "one", 50);
    await last().end(patient);
    await clock.advance(59_999);
    expect(started).toHaveLength(2);
    await clock.advance(1);
    expect(started).toHaveLength(3);
    await last().end({ kind: "backoff", mostMs: 1_000 });
    await clock.advance(1_000);
    expect(started).toHaveLength(4);
  });

  test("does not come back before because something happened while it was worked on", async () => {
    const { clock, queue, started, last } = queueUnderTest();
    queue.add("a", "one");
    queue.hasten("a", "one", 50);
    await clock.advance(1_000);
    await last().end(patient);
    queue.hasten("a", "one", 50);
    await clock.advance(59_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
    await last().end({ kind: "done" });
    await clock.advance(120_000);
    expect(started).toHaveLength(2);
  });

  test("is looked at anew at once where nobody asked for patience, and something happened while it was worked on", async () => {
    const { clock, queue, started, last } = queueUnderTest();
    queue.add("a", "one");
    queue.hasten("a", "one", 50);
    await clock.advance(1_000);
    await last().end({ kind: "backoff" });
    expect(started).toHaveLength(2);
  });

  test("comes back then as well when its work was done but for what has to wait", async () => {
    const { clock, queue, started, last } = queueUnderTest();
    queue.add("a", "one");
    await last().end({ kind: "after", ms: 10_000, leastMs: 60_000 });
    queue.hasten("a", "one", 50);
    await clock.advance(59_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
  });

  test("comes back at once when somebody changed it, and then at once after what happens", async () => {
    const { clock, queue, started, last } = await failedOnce();
    queue.add("a", "one");
    expect(started).toHaveLength(2);
    queue.hasten("a", "one", 50);
    await last().end({ kind: "done" });
    await clock.advance(50);
    expect(started).toHaveLength(3);
  });
});
