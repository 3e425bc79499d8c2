import { expect, onTestFinished, test } from "vitest";

import { isCollectionDue, keepSlabsSmall } from "../../cmd/idle-memory.ts";

test.each([
  {
    name: "idle after a burst",
    utilization: 0.01,
    heapBytes: 60e6,
    leastBytes: 20e6,
    due: true,
  },
  {
    name: "idle for the first time",
    utilization: 0,
    heapBytes: 20e6,
    leastBytes: 0,
    due: true,
  },
  {
    name: "idle with little new",
    utilization: 0,
    heapBytes: 22e6,
    leastBytes: 20e6,
    due: false,
  },
  { name: "busy", utilization: 0.4, heapBytes: 90e6, leastBytes: 20e6, due: false },
])("a process that is $name collects: $due", ({ due, ...view }) => {
  expect(isCollectionDue(view)).toBe(due);
});

test("a small buffer that lives keeps no more than 8 KiB", () => {
  const before = Buffer.poolSize;
  onTestFinished(() => void (Buffer.poolSize = before));
  keepSlabsSmall();
  // More than a slab of Node's own size, which is used up first.
  const buffers = Array.from({ length: 100 }, () => Buffer.from("x".repeat(1_000)));
  expect(buffers.at(-1)?.buffer.byteLength).toBe(8 * 1024);
});
