import { expect, test } from "vitest";

import { quantityOf } from "../../../webhook/rules/containers.ts";

test.each([
  ["250m", 0.25],
  ["1", 1],
  [3, 3],
  ["1Gi", 1024 ** 3],
  ["1.5k", 1_500],
  ["-2", -2],
  ["1e3", 1_000],
  ["2E", 2e18],
  ["1n", 1e-9],
  [".5", 0.5],
])("%j is %d", (quantity, amount) => {
  expect(quantityOf(quantity)).toBeCloseTo(amount, 9);
});

test.each([
  ["Gi"],
  [""],
  ["1.2.3"],
  ["1x"],
  [true],
  ["1constructor"],
  ["1e3x"],
  ["1e1000"],
  ["9".repeat(65)],
])("%j is no quantity", (quantity) => {
  expect(quantityOf(quantity)).toBeUndefined();
});
