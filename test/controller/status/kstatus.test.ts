import { describe, expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { processReasons, type Reason, reasons } from "../../../api/reasons.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { statesByReason } from "../../../sets/component-condition.ts";
import { serving } from "../../support/component.ts";

const now = new Date("2026-02-03T04:05:06Z");
const steps = { eligible: true, resolved: true };

function failed(reason: Reason): Outcome {
  return { kind: "failed", steps, error: new FleetError(reason, `${reason} it is`) };
}

function applied(message: string): Outcome {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [] },
    readiness: { available: message === "", message },
  };
}

/** `Stalled: message` after some outcomes in a row; empty without a condition of kstatus. */
function told(outcomes: readonly Outcome[], metadata = {}): string {
  let status = {};
  for (const outcome of outcomes) {
    const component = serving({ status, metadata });
    status = statusOf(component, outcome, now);
  }
  const { conditions = [] } = serving({ status }).status ?? {};
  return conditions
    .filter(({ type }) => type === "Stalled" || type === "Reconciling")
    .map(({ type, status: value, message }) => `${type} ${value}: ${message}`)
    .join(", ");
}

const working: Outcome = { kind: "working", steps };
const late = "1 of 9 not available: webhook (0 of 1 pods available, ProgressDeadlineExceeded)";
const slow = "1 of 9 not available: webhook (0 of 1 pods available)";

describe("what kstatus reads of a component", () => {
  test.each(
    Object.keys(reasons).filter(
      (reason): reason is keyof typeof statesByReason =>
        reason in statesByReason && !processReasons.some((one) => one === reason),
    ),
  )("after %s is the state of its cluster in a set: failed, or still at work", (reason) => {
    const means = statesByReason[reason];
    const isLasting = means === "Failed" || means === "Blocked";
    expect(told([failed(reason)])).toMatch(isLasting ? /^Stalled True/ : /^Reconciling True/);
  });

  test("is a failure for Deployments past their deadline, and work for those that are slow", () => {
    expect(told([applied(late)])).toBe(`Stalled True: ${late}`);
    const stuck =
      "1 of 9 not available: StatefulSet a (0 of 1 pods available, no progress for 10 minutes)";
    expect(told([applied(stuck)])).toBe(`Stalled True: ${stuck}`);
    expect(told([applied(slow)])).toBe(`Reconciling True: ${slow}`);
    const doubt = { status: "False", reason: "NotReady", message: late } as const;
    expect(told([applied(""), { kind: "seen", doubt }])).toBe(`Stalled True: ${late}`);
  });

  test("is work again as soon as another attempt has begun", () => {
    const progress = { done: 1, total: 150, waiting: [], failed: 0 };
    const begun = told([failed("ManifestInvalid"), { kind: "working", steps, progress }]);
    expect(begun).toMatch(/^Reconciling True/);
    // The condition of the attempt before is still there, and another failure hides it.
    expect(told([failed("ManifestInvalid"), failed("SpokeUnreachable")])).toMatch(/^Reconciling/);
  });

  test("is nothing of a component that is Ready or is being deleted", () => {
    expect(told([working, applied("")])).toBe("");
    const deletionTimestamp = "2026-02-03T04:00:00Z";
    expect(told([failed("ManifestInvalid")], { deletionTimestamp })).toBe("");
  });

  test("is told for a pulled component by what its spoke tells", () => {
    const conditions = [
      {
        type: "InstallSucceeded",
        status: "False",
        reason: "Error",
        message: "Install failed with message: spec.version is no version",
      },
    ] as const;
    expect(told([{ kind: "reported", conditions }])).toMatch(/^Stalled True/);
  });

  test("is told by the reason that its spoke tells, whatever the message says", () => {
    const message = "Manifest https://example.com/a.yaml is not valid YAML";
    const failure = {
      type: "InstallSucceeded",
      status: "False",
      reason: "Error",
      message: `Install failed with message: ${message}`,
    } as const;
    const stalled = {
      type: "Stalled",
      status: "True",
      reason: "ManifestInvalid",
      message,
    } as const;
    expect(told([{ kind: "reported", conditions: [failure] }])).toMatch(/^Reconciling True/);
    expect(told([{ kind: "reported", conditions: [failure, stalled] }])).toMatch(/^Stalled True/);
  });

  test("keeps its time while it says the same", () => {
    const first = statusOf(serving(), failed("ManifestInvalid"), now);
    const again = statusOf(
      serving({ status: first }),
      failed("ManifestInvalid"),
      new Date("2026-02-03T05:00:00Z"),
    );
    expect(again).toEqual(first);
  });
});

/** Since when the component is worked on, an hour after a failure of its first generation. */
function sinceAfter(generation: number): string | undefined {
  const later = new Date(now.getTime() + 3_600_000);
  const first = { status: {}, metadata: { generation: 1 } };
  const status = statusOf(serving(first), failed("ApplyFailed"), now);
  const component = serving({ status, metadata: { generation } });
  const { conditions } = statusOf(component, applied("webhook is not available"), later);
  return conditions?.find(({ type }) => type === "Reconciling")?.lastTransitionTime;
}

test("Reconciling tells since when the work on this spec goes on, also after a long failure of another one", () => {
  expect(sinceAfter(1)).toBe("2026-02-03T04:05:06Z");
  expect(sinceAfter(2)).toBe("2026-02-03T05:05:06Z");
});
