import { describe, expect, test } from "vitest";

import { renderTable, type Table } from "../../../../cmd/kubectl/output/table.ts";
import { painter } from "../../../../cmd/kubectl/output/terminal.ts";

const table: Table = {
  headers: ["NAME", "LIVE", "MESSAGE"],
  rows: [
    ["a", { text: "Ready", tone: "good" }, "<none>"],
    ["a-long-name", { text: "2/9 not available", tone: "bad" }, "x"],
  ],
};

describe("a table", () => {
  test("has three spaces between columns and none at the end", () => {
    expect(renderTable(table, { headers: true, paint: painter(false) })).toBe(
      [
        "NAME          LIVE                MESSAGE",
        "a             Ready               <none>",
        "a-long-name   2/9 not available   x",
        "",
      ].join("\n"),
    );
  });

  test("can do without headers", () => {
    expect(renderTable(table, { headers: false, paint: painter(false) })).not.toContain("NAME ");
  });

  test("keeps its columns when painted", () => {
    const painted = renderTable(table, { headers: true, paint: painter(true) });
    // oxlint-disable-next-line no-control-regex -- colour is what this test takes away
    const plain = painted.replaceAll(/\u001b\[\d+m/g, "");
    expect(plain).toBe(renderTable(table, { headers: true, paint: painter(false) }));
    expect(painted).not.toBe(plain);
  });

  test("T-86 keeps control characters of foreign text off the terminal", () => {
    const hostile: Table = { headers: ["A"], rows: [["x\u001b[2J\r\n\u009b1my\u202ez"]] };
    expect(renderTable(hostile, { headers: true, paint: painter(false) })).toBe("A\nx [2J 1my z\n");
  });
});
