import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { recordingsDir } from "../support/needs.ts";
import { filesByRow, rowsIn, sectionRows } from "./section-rows.ts";

const files = await filesByRow();

test.each(sectionRows)("the vector %s has a test that names it", (row) => {
  expect(files.get(row)).not.toEqual([]);
});

test("a number is found in a test's name, and nothing that looks like one", () => {
  expect(rowsIn("is told of once (R07, T-28), see X01 and x02, R077, D09, C14")).toEqual([
    "R07",
    "X01",
    "C14",
  ]);
});

describe("section 8 of the specification", { tags: ["recordings"] }, () => {
  test("has the vectors that are held to, and no others", async () => {
    const text = await readFile(join(recordingsDir, "spec", "cluster-inventory.md"), "utf8");
    const section = text.slice(text.indexOf("\n## 8."), text.indexOf("\n## 9."));
    const numbers = [...section.matchAll(/^\| ([RXCTLD]\d{2}) \|/gm)].map(([, row]) => row);
    expect(numbers).toEqual(sectionRows);
  });
});
