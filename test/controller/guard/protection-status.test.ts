import { describe, expect, test } from "vitest";

import { type ProtectionReason, protectionReasons } from "../../../api/reasons.ts";
import { transitionEvents } from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";
import { everyProtection } from "./every-protection.ts";

const now = new Date("2026-02-03T04:05:06Z");

function applied(protection: Outcome["protection"]): Outcome {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: true, message: "" },
    protection,
  };
}

const because = (reason: ProtectionReason) => ({ reason, message: `because of ${reason}` });

function conditionsAfter(...outcomes: readonly Outcome[]): Readonly<Record<string, string>> {
  let component = serving();
  for (const outcome of outcomes) {
    component = serving({ status: statusOf(component, outcome, now) });
  }
  const conditions = component.status?.conditions ?? [];
  return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
}

describe("the condition AnchorProtected", () => {
  test.each(everyProtection)("says %s, and Ready does not depend on it", (reason) => {
    const { AnchorProtected, Ready } = conditionsAfter(applied(because(reason)));
    expect(AnchorProtected).toBe(protectionReasons[reason]);
    expect(Ready).toBe("True");
  });

  test("stays as it is while nothing is known, and goes when anchors are not protected", () => {
    const first = applied(because("Enforced"));
    expect(conditionsAfter(first, applied(undefined))).toHaveProperty("AnchorProtected", "True");
    expect(conditionsAfter(first, applied("off"))).not.toHaveProperty("AnchorProtected");
    expect(conditionsAfter(applied("off"))).not.toHaveProperty("AnchorProtected");
  });

  test("has an Event with its own reason when it turns False, also beside another failure", () => {
    const before = statusOf(serving(), applied(because("Enforced")), now);
    const after = statusOf(serving({ status: before }), applied(because("BindingMissing")), now);
    const events = transitionEvents(before, after, applied(because("BindingMissing")));
    expect(events).toEqual([
      { type: "Warning", reason: "BindingMissing", message: "because of BindingMissing" },
    ]);
    expect(transitionEvents(after, after, applied(because("BindingMissing")))).toEqual([]);
  });
});
