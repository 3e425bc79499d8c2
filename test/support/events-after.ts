import type { ComponentStatus } from "../../api/component.ts";
import { transitionEvents } from "../../controller/status/component-events.ts";
import { statusOf } from "../../controller/status/component-status.ts";
import type { Outcome } from "../../controller/status/outcome.ts";
import { serving } from "./component.ts";

const now = new Date("2026-02-03T04:05:06Z");

/** `Type Reason` of the Events that the last of some outcomes in a row is worth. */
export function eventsAfter(...outcomes: readonly Outcome[]): readonly string[] {
  let before: ComponentStatus | undefined;
  let events: readonly string[] = [];
  for (const outcome of outcomes) {
    const component = before === undefined ? serving() : serving({ status: before });
    const after = statusOf(component, outcome, now);
    events = transitionEvents(before, after, outcome).map(
      ({ type, reason }) => `${type} ${reason}`,
    );
    before = after;
  }
  return events;
}
