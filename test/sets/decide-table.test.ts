import { describe, expect, test } from "vitest";

import { blockedCases } from "./cases/blocked.ts";
import { decided } from "./cases/decided.ts";
import { gateCases } from "./cases/gates.ts";
import { knownFaultCases } from "./cases/known-faults.ts";
import { limitCases } from "./cases/limits.ts";
import { memberCases } from "./cases/members.ts";
import { removalCases } from "./cases/removals.ts";
import { rollbackCases } from "./cases/rollbacks.ts";
import { stateCases } from "./cases/states.ts";
import { steeringCases } from "./cases/steering.ts";

const tables = {
  "known faults": knownFaultCases,
  states: stateCases,
  blocked: blockedCases,
  limits: limitCases,
  gates: gateCases,
  members: memberCases,
  steering: steeringCases,
  removals: removalCases,
  rollbacks: rollbackCases,
};

describe.each(Object.entries(tables))("%s", (_, rows) => {
  test.each(rows)("$name", (row) => {
    expect(decided(row)).toMatchObject(row.expect);
  });
});

test("the table has at least 120 rows, and no row twice", () => {
  const rows = Object.values(tables).flat();
  expect(rows.length).toBeGreaterThanOrEqual(120);
  for (const texts of [
    rows.map(({ name }) => name),
    rows.map((row) => JSON.stringify({ ...row, name: "" })),
  ]) {
    expect(new Set(texts).size).toBe(rows.length);
  }
});
