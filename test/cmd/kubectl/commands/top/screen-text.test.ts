import { assert, integer, nat, property, string } from "fast-check";
import { describe, expect, test } from "vitest";

import {
  cutLine,
  fitColumns,
  wrapColumns,
} from "../../../../../cmd/kubectl/commands/top/screen-text.ts";
import { fitTable, renderTable } from "../../../../../cmd/kubectl/output/table.ts";
import { textWidth } from "../../../../../cmd/kubectl/output/text-width.ts";

function bare(text: string): string {
  return text.replaceAll(/\s/gu, "");
}

/** The places at which parts of a line begin. */
function starts(line: string, parts: readonly string[]): readonly number[] {
  return parts.map((part) => textWidth(line.slice(0, line.indexOf(part))));
}

describe("a text on the screen", () => {
  test("is never wider than its line, whatever it is", () => {
    assert(
      property(string({ unit: "grapheme" }), nat(40), (text, width) => {
        const line = [{ text }, { text, marked: true }];
        const shown = cutLine(line, width, "...").map((segment) => segment.text);
        expect(textWidth(shown.join(""))).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("is broken at spaces, and nothing but spaces is lost", () => {
    expect(wrapColumns("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapColumns("  - one two three four", 20)).toEqual(["  - one two three", "  four"]);
    expect(wrapColumns("OK   hub   one two three", 21)).toEqual([
      "OK   hub   one two",
      "           three",
    ]);
    expect(wrapColumns("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
    expect(wrapColumns("a\n\nb", 10)).toEqual(["a", "", "b"]);
    assert(
      property(string({ unit: "grapheme" }), integer({ min: 8, max: 40 }), (text, width) => {
        const lines = wrapColumns(text, width);
        expect(bare(lines.join(""))).toBe(bare(text));
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("wide letters do not break a table: the screen and the printed table have the same columns", () => {
    const table = {
      headers: ["NAME", "CLUSTER", "REASON"],
      mayShorten: ["REASON"],
      rows: [
        ["日本語", "東京-1", "接続できません"],
        ["cafe\u0301", "👨‍👩‍👧 family", "✅"],
        ["plain", "eu-1", "Unreachable"],
      ],
    };
    const printed = renderTable(table, { headers: true, paint: (text) => text });
    const { header, rows } = fitColumns(table, 200, "…");
    const screen = [header, ...rows].map((line) => line.map(({ text }) => text).join(""));
    // The table has three spaces between columns, the screen two.
    const [[, ...columns] = [], ...others] = [table.headers, ...table.rows].map((row, at) => [
      row,
      starts(printed.split("\n")[at] ?? "", row),
      starts(screen[at] ?? "", row),
    ]);
    expect(columns).toEqual([
      [0, 9, 21],
      [0, 8, 19],
    ]);
    for (const [, ...same] of others) expect(same).toEqual(columns);
    const cut = renderTable(fitTable(table, 34), { headers: true, paint: (text) => text });
    expect(cut.split("\n").map(textWidth)).toEqual([27, 34, 23, 32, 0]);
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
        expect(textWidth(line.map(({ text }) => text).join(""))).toBeLessThanOrEqual(width);
      }
    }
  });
});
