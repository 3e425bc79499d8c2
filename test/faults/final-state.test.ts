import { expect, test } from "vitest";

import { differencesBetween } from "./final-state.ts";

const job = "batch|Job|knative-serving|storage-version-migration-serving-1.23.0";
const map = "|ConfigMap|knative-serving|config-network";
const wanted = { [job]: { spec: { backoffLimit: 10 } }, [map]: { data: { a: "b" } } };

test("a Job that is gone is a difference, but where the case says that it may go (C23)", () => {
  const { [job]: _, ...found } = wanted;
  expect(differencesBetween(wanted, found, {})).toHaveLength(1);
  expect(differencesBetween(wanted, found, { mayLoseJobs: true })).toEqual([]);
});

test("what else is gone, and a Job that is another one, are differences in every case", () => {
  const leave = { mayLoseJobs: true } as const;
  const other = { [job]: { spec: { backoffLimit: 1 } }, [map]: wanted[map] };
  expect(differencesBetween(wanted, other, leave)).toHaveLength(1);
  expect(differencesBetween(wanted, { [job]: wanted[job] }, leave)).toHaveLength(1);
  expect(differencesBetween({}, wanted, leave)).toHaveLength(2);
});
