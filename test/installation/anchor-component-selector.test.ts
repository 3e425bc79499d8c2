import { describe, expect, test } from "vitest";

import { componentSelector } from "../../installation/anchor.ts";

describe("the selector of an installation", () => {
  test("names the uid of its component", () => {
    const uid = "5e1d0a3c-1111-2222-3333-444455556666";
    expect(componentSelector(uid)).toBe(`knfleet.dev/component-uid=${uid}`);
  });

  test.each(["", " ", "a,b=c", "a b", "!a", "-a", "a".repeat(64), "a\nb"])(
    "is refused for %j, which would select something else",
    (uid) => {
      expect(() => componentSelector(uid)).toThrow("selects nothing");
    },
  );
});
