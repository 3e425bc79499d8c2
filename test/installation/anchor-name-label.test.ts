import { describe, expect, test } from "vitest";

import { nameLabelOf } from "../../installation/anchor.ts";

describe("T-60 the label with the name of a component", () => {
  test.each([["knative-serving"], ["a".repeat(63)], ["a.b-c"]])("is the name %s", (name) => {
    expect(nameLabelOf(name)).toBe(name);
  });

  test.each([["a".repeat(64)], ["a".repeat(227)], [`${"a".repeat(51)}.${"b".repeat(60)}`]])(
    "is a value that a label can have for %s",
    (name) => {
      const value = nameLabelOf(name);
      expect(value).toMatch(/^[a-z0-9][-.a-z0-9]*[a-z0-9]$/);
      expect(value).toHaveLength(63);
      expect(value.slice(0, 53)).toBe(`${name.slice(0, 52)}-`);
    },
  );

  test("is another one for another name with the same beginning", () => {
    const name = "a".repeat(100);
    expect(nameLabelOf(`${name}b`)).not.toBe(nameLabelOf(`${name}c`));
    expect(nameLabelOf(`${name}b`)).toBe(nameLabelOf(`${name}b`));
  });
});
