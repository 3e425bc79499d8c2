import { expect, test } from "vitest";

import type { EventItem } from "../../../../cmd/kubectl/fleet/events.ts";
import { eventLines } from "../../../../cmd/kubectl/page/events-view.ts";

interface Given {
  readonly time: string;
  readonly reason?: string;
  readonly message?: string;
  readonly name?: string;
  readonly count?: number;
  readonly cluster?: string | null;
}

function eventOf({ name = "activator", cluster = null, count = 1, ...others }: Given): EventItem {
  const about = { kind: "Pod", namespace: "knative-serving", name, uid: null };
  const text = { reason: "BackOff", message: "Back-off pulling image" };
  return { type: "Warning", from: null, ...text, ...others, count, cluster, about };
}

const shown = (events: readonly EventItem[]) =>
  eventLines(events).map(({ event, times, others }) => [event.time, times, others]);

test("Events of the hub come before those of the cluster, in each the newest first", () => {
  const events = [
    eventOf({ time: "1", reason: "A" }),
    eventOf({ time: "2", reason: "B", cluster: "fleet/eu-1" }),
    eventOf({ time: "3", reason: "C" }),
    eventOf({ time: "4", reason: "D", cluster: "fleet/eu-1" }),
  ];
  expect(shown(events).map(([time]) => time)).toEqual(["3", "1", "4", "2"]);
});

test("equal Events are one line, with the newest time, all counts and the other objects", () => {
  const events = [
    eventOf({ time: "1", count: 4 }),
    eventOf({ time: "2", name: "webhook" }),
    eventOf({ time: "3", name: "webhook", count: 2 }),
  ];
  expect(shown(events)).toEqual([["3", 7, 1]]);
});

test.each<Partial<Given>>([
  { reason: "Failed" },
  { message: "Another message" },
  { cluster: "fleet/eu-1" },
])("Events with another %j are lines of their own", (other) => {
  expect(shown([eventOf({ time: "1" }), eventOf({ time: "2", ...other })])).toHaveLength(2);
});
