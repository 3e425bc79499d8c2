import { describe, expect, test } from "vitest";

import { inAscii, wantsAscii } from "../../../../cmd/kubectl/output/characters.ts";
import { fitTable, renderTable, type Table } from "../../../../cmd/kubectl/output/table.ts";

const plain = { headers: true, paint: (text: string) => text };

describe("a table for a narrow terminal", () => {
  const table: Table = {
    headers: ["NAME", "MESSAGE", "REASON"],
    mayShorten: ["MESSAGE", "REASON"],
    rows: [["a", "m".repeat(40), { text: "r".repeat(30), tone: "bad" }]],
  };

  test.each([
    { width: 100, message: 40, reason: 30 },
    { width: 70, message: 30, reason: 30 },
    // The second column is cut only when the first is as short as it may be.
    { width: 45, message: 12, reason: 23 },
    { width: 10, message: 12, reason: 12 },
  ])("in $width columns has $message and $reason characters", ({ width, message, reason }) => {
    const lines = renderTable(fitTable(table, width), plain).split("\n");
    const [, row = ""] = lines;
    expect(/m+…?/.exec(row)?.[0]).toHaveLength(message);
    expect(/r+…?/.exec(row)?.[0]).toHaveLength(reason);
    const shortest = "a".length + 3 + 12 + 3 + 12;
    expect(row.length).toBeLessThanOrEqual(Math.max(width, shortest, "NAME".length + 30));
  });
});

describe("symbols", () => {
  test.each([
    [{ LANG: "en_US.UTF-8" }, false],
    [{ LC_ALL: "C", LANG: "en_US.UTF-8" }, true],
    [{ LC_ALL: "", LC_CTYPE: "de_DE.utf8" }, false],
    [{}, true],
    [{ WT_SESSION: "x" }, false],
  ])("with %j are ASCII: %s", (env, ascii) => expect(wantsAscii(env)).toBe(ascii));

  test("of ours are replaced, the text of others is not", () => {
    expect(inAscii("3 × a…, ünïcode")).toBe("3 x a..., ünïcode");
  });
});
