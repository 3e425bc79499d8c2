import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/upstream-differences.md"), "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:number|-)/.test(line))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe("docs/upstream-differences.md", () => {
  test("gives a reason and tests that exist for every difference", () => {
    expect(rows.length).toBeGreaterThan(10);
    for (const cells of rows) {
      expect(cells).toHaveLength(5);
      expect(cells).not.toContain("");
      const tests = cells.at(-1)?.split(", ") ?? [];
      expect(tests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    }
  });

  test("has a row for every number that the vectors may differ by", () => {
    const table = readFileSync(join(root, "test/vectors/differences.ts"), "utf8");
    const allowed = new Set(
      [...table.matchAll(/defect: "([DN]-\d+)"/g)].map(([, number]) => number),
    );
    const missing = [...allowed].filter(
      (number) => !page.includes(`| ${number}`) && !page.includes(`(${number})`),
    );
    expect(missing).toEqual([]);
  });
});
