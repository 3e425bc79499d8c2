import { assert, integer, nat, property, string } from "fast-check";
import { describe, expect, test } from "vitest";

import {
  fitColumns,
  cutLine,
  cutText,
  padText,
  widthOf,
  wrapText,
} from "../../../../../cmd/kubectl/commands/top/screen-text.ts";

function bare(text: string): string {
  return text.replaceAll(/\s/gu, "");
}

describe("a text on the screen", () => {
  test.each([
    { text: "abc", width: 3 },
    { text: "日本", width: 4 },
    { text: "e\u0301", width: 1 },
    { text: "✅", width: 2 },
    { text: "a\u200bb", width: 2 },
    { text: "…─", width: 2 },
  ])("$text takes $width places", ({ text, width }) => {
    expect(widthOf(text)).toBe(width);
  });

  test.each([
    { text: "knative-serving", width: 15, cut: "knative-serving" },
    { text: "knative-serving", width: 10, cut: "knative-s…" },
    { text: "日本語", width: 5, cut: "日本…" },
    { text: "日本語", width: 4, cut: "日…" },
    { text: "abc", width: 0, cut: "" },
  ])("$text in $width places is $cut", ({ text, width, cut }) => {
    expect(cutText(text, width, "…")).toBe(cut);
  });

  test("is never wider than its place, whatever it is", () => {
    assert(
      property(string({ unit: "grapheme" }), nat(40), (text, width) => {
        expect(widthOf(cutText(text, width, "…"))).toBeLessThanOrEqual(width);
        const line = [{ text }, { text, marked: true }];
        const shown = cutLine(line, width, "...").map((segment) => segment.text);
        expect(widthOf(shown.join(""))).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("is broken at spaces, and nothing but spaces is lost", () => {
    expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapText("  - one two three four", 20)).toEqual(["  - one two three", "  four"]);
    expect(wrapText("OK   hub   one two three", 21)).toEqual([
      "OK   hub   one two",
      "           three",
    ]);
    expect(wrapText("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
    expect(wrapText("a\n\nb", 10)).toEqual(["a", "", "b"]);
    assert(
      property(string({ unit: "grapheme" }), integer({ min: 2, max: 30 }), (text, width) => {
        const lines = wrapText(text, width);
        expect(bare(lines.join(""))).toBe(bare(text));
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("gets spaces up to a width", () => {
    expect(padText("日", 4)).toBe("日  ");
    expect(padText("long", 2)).toBe("long");
  });
});

describe("a table on a narrow screen", () => {
  const table = {
    headers: ["NAMESPACE", "NAME", "KIND", "CLUSTER", "VERSION", "HUB", "LIVE", "REASON", "SINCE"],
    rows: [
      [
        "a-team-with-a-long-name",
        "knative-serving",
        "ks",
        "a-cluster-with-a-long-name",
        "1.23.0",
        { text: "Ready", tone: "good" },
        { text: "Unreachable", tone: "bad" },
        "RemoteClientCreationFailed",
        "5m",
      ],
    ],
  } as const;
  const headersAt = (width: number) =>
    fitColumns(table, width, "…")
      .header.map(({ text }) => text.trim())
      .join(" ");

  test.each([
    { width: 200, headers: "NAMESPACE NAME KIND CLUSTER VERSION HUB LIVE REASON SINCE" },
    { width: 120, headers: "NAMESPACE NAME KIND CLUSTER HUB LIVE REASON" },
    { width: 100, headers: "NAMESPACE NAME KIND CLUSTER HUB LIVE REASON" },
    { width: 78, headers: "NAME KIND CLUSTER HUB LIVE REASON" },
    { width: 60, headers: "NAME CLUSTER HUB LIVE" },
    { width: 38, headers: "NAME HUB LIVE" },
  ])("of $width has $headers", ({ width, headers }) => {
    expect(headersAt(width)).toBe(headers);
  });

  test("is within its width as long as a column may be cut or left out", () => {
    for (let width = 36; width < 220; width += 1) {
      const { header, rows } = fitColumns(table, width, "…");
      for (const line of [header, ...rows]) {
        expect(widthOf(line.map(({ text }) => text).join(""))).toBeLessThanOrEqual(width);
      }
    }
  });
});
