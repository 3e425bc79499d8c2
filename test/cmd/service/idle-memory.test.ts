import { expect, onTestFinished, test } from "vitest";

import {
  type Collection,
  type HeapView,
  collectionDue,
  keepSlabsSmall,
} from "../../../cmd/service/idle-memory.ts";

const first: Collection = { tookMs: 40, heapBytes: 20e6, usedBytes: 18e6 };
const second: Collection = { ...first, usedBytes: 16e6 };

test.each<{ readonly name: string; readonly due: ReturnType<typeof collectionDue> } & HeapView>([
  {
    name: "idle after a burst",
    utilization: 0.01,
    heapBytes: 60e6,
    collections: [first, first],
    due: "first",
  },
  {
    name: "idle for the first time",
    utilization: 0,
    heapBytes: 20e6,
    collections: [],
    due: "first",
  },
  {
    name: "idle since its first collection",
    utilization: 0,
    heapBytes: 20e6,
    collections: [first],
    due: "next",
  },
  {
    name: "idle after a collection that found what the one before had to leave",
    utilization: 0,
    heapBytes: 20e6,
    collections: [first, second],
    due: "next",
  },
  {
    name: "idle after one that was long",
    utilization: 0,
    heapBytes: 20e6,
    collections: [first, { ...second, tookMs: 900 }],
    due: undefined,
  },
  {
    name: "idle after two that left the same",
    utilization: 0,
    heapBytes: 22e6,
    collections: [second, { ...second, usedBytes: 15.9e6 }],
    due: undefined,
  },
  {
    name: "idle while what is in use grows",
    utilization: 0,
    heapBytes: 24e6,
    collections: [second, first],
    due: undefined,
  },
  { name: "busy", utilization: 0.4, heapBytes: 90e6, collections: [first, second], due: undefined },
])("a process that is $name collects as the $due of a row", ({ due, ...view }) => {
  expect(collectionDue(view)).toBe(due);
});

test("a small buffer that lives keeps no more than 8 KiB", () => {
  const before = Buffer.poolSize;
  onTestFinished(() => void (Buffer.poolSize = before));
  keepSlabsSmall();
  // More than a slab of Node's own size, which is used up first.
  const buffers = Array.from({ length: 100 }, () => Buffer.from("x".repeat(1_000)));
  expect(buffers.at(-1)?.buffer.byteLength).toBe(8 * 1024);
});
