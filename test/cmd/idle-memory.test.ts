import { expect, test } from "vitest";

import { isCollectionDue } from "../../cmd/idle-memory.ts";

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
