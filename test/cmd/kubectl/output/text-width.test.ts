import { assert, nat, property, string } from "fast-check";
import { expect, test } from "vitest";

import {
  cutText,
  padText,
  textWidth,
  wrapText,
} from "../../../../cmd/kubectl/output/text-width.ts";

test.each([
  { text: "abc", width: 3 },
  { text: "日本", width: 4 },
  { text: "e\u0301", width: 1 },
  { text: "✅", width: 2 },
  { text: "👨‍👩‍👧", width: 2 },
  { text: "a\u200bb", width: 2 },
  { text: "…─", width: 2 },
])("$text takes $width places", ({ text, width }) => {
  expect(textWidth(text)).toBe(width);
});

test.each([
  { text: "knative-serving", width: 15, cut: "knative-serving" },
  { text: "knative-serving", width: 10, cut: "knative-s…" },
  { text: "日本語", width: 5, cut: "日本…" },
  { text: "日本語", width: 4, cut: "日…" },
  { text: "e\u0301e\u0301e\u0301", width: 2, cut: "e\u0301…" },
  { text: "👨‍👩‍👧👨‍👩‍👧", width: 3, cut: "👨‍👩‍👧…" },
  { text: "abc", width: 0, cut: "" },
])("$text in $width places is $cut", ({ text, width, cut }) => {
  expect(cutText(text, width, "…")).toBe(cut);
});

test("a text that is cut is never wider than its place, whatever it is", () => {
  assert(
    property(string({ unit: "grapheme" }), nat(40), (text, width) => {
      expect(textWidth(cutText(text, width, "…"))).toBeLessThanOrEqual(width);
      expect(textWidth(cutText(text, width, "..."))).toBeLessThanOrEqual(width);
    }),
  );
});

test("a text gets spaces up to a width", () => {
  expect(padText("日", 4)).toBe("日  ");
  expect(padText("long", 2)).toBe("long");
});

test("wide letters are wrapped by their places", () => {
  expect(wrapText("日本 語日 本語", 8, 2)).toEqual(["日本", "  語日", "  本語"]);
  expect(wrapText("日本語日本語", 5)).toEqual(["日本語日本語"]);
  expect(wrapText("日本語日本語", 5, 0, true)).toEqual(["日本", "語日", "本語"]);
  // A letter and its accent are one place.
  expect(wrapText("e\u0301te\u0301 a\u0300 deux", 5)).toEqual(["e\u0301te\u0301 a\u0300", "deux"]);
});
