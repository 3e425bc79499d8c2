import { expect, test } from "vitest";

import { EventCorrelator } from "../../controller/event-correlator.ts";

function admitted(
  correlator: EventCorrelator,
  messages: readonly string[],
  { uid = "a", now = 0 } = {},
): readonly string[] {
  return messages.flatMap((message) => {
    const event = { type: "Warning", reason: "ApplyFailed", message } as const;
    return correlator.admit(uid, event, now)?.message ?? [];
  });
}

const numbers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `message ${index}`);

test("ten messages with one reason stand alone, more within ten minutes are combined", () => {
  const correlator = new EventCorrelator();
  expect(admitted(correlator, numbers(10))).toEqual(numbers(10));
  expect(admitted(correlator, ["more", "message 3"])).toEqual([
    "(combined from similar events): more",
    "message 3",
  ]);
  expect(admitted(correlator, ["more"], { now: 600_000 })).toEqual(["more"]);
});

test("a component gets 25 Events at once, and then one every five minutes", () => {
  const correlator = new EventCorrelator();
  const flood = Array.from({ length: 40 }, () => "again");
  expect(admitted(correlator, flood)).toHaveLength(25);
  expect(admitted(correlator, flood, { now: 299_000 })).toHaveLength(0);
  expect(admitted(correlator, flood, { now: 300_000 })).toHaveLength(1);
  expect(admitted(correlator, flood, { uid: "b", now: 300_000 })).toHaveLength(25);
});
