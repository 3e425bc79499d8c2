import { describe, expect, test } from "vitest";

import {
  conflictingManagersIn,
  describeManagers,
} from "../../../../controller/apply/filters/conflicts.ts";

function cause(message: string, field = ".spec.replicas") {
  return { reason: "FieldManagerConflict", field, message };
}

describe("the managers that a refused apply names", () => {
  test.each([
    ["an update", 'conflict with "kubectl-edit" using v1', "kubectl-edit"],
    ["an apply", 'conflict with "knfleet-hub-b"', "knfleet-hub-b"],
    [
      "an update of a subresource",
      'conflict with "kube-controller-manager" with subresource "scale" using apps/v1',
      "kube-controller-manager (scale)",
    ],
    [
      "an update at a time",
      'conflict with "before first apply" using v1 at 2026-01-01T00:00:00Z',
      "before first apply",
    ],
    ["a name that hides", 'conflict with "a\u202eb" using v1', "a?b"],
  ])("are read from %s", (_what, message, manager) => {
    expect(conflictingManagersIn([cause(message)])).toEqual([
      { manager, fields: ["spec.replicas"] },
    ]);
  });

  test("come sorted, each once and with all its fields", () => {
    const causes = [
      cause('conflict with "b" using v1', ".data.z"),
      cause('conflict with "a" using v1', ".data.y"),
      cause('conflict with "b" using v1', ".data.x"),
    ];
    const managers = [
      { manager: "a", fields: ["data.y"] },
      { manager: "b", fields: ["data.x", "data.z"] },
    ];
    expect(conflictingManagersIn(causes)).toEqual(managers);
    expect(conflictingManagersIn(causes.toReversed())).toEqual(managers);
    expect(describeManagers(managers)).toBe("Contested by a: data.y; b: data.x, data.z");
  });

  test("are none in a conflict of another sort", () => {
    expect(conflictingManagersIn([])).toEqual([]);
    expect(
      conflictingManagersIn([{ reason: "UnexpectedServerResponse", message: "unknown" }]),
    ).toEqual([]);
  });

  test("are shown with three fields and the number of the others", () => {
    const fields = ["a", "b", "c", "d", "e"];
    expect(describeManagers([{ manager: "m", fields }])).toBe("Contested by m: a, b, c and 2 more");
  });
});
