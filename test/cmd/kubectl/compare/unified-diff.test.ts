import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { unifiedDiff } from "../../../../cmd/kubectl/compare/unified-diff.ts";
import { runsOf } from "../../../support/fuzz.ts";

function diffOf(left: string | undefined, right: string | undefined): string {
  return unifiedDiff({ name: "old", text: left }, { name: "new", text: right });
}

const ten = Array.from({ length: 10 }, (_, index) => `${index + 1}\n`).join("");

describe("a unified diff", () => {
  test.each([
    { name: "equal texts", left: "a\nb\n", right: "a\nb\n", diff: "" },
    {
      name: "one changed line with its surroundings",
      left: ten,
      right: ten.replace("5\n", "five\n"),
      diff: "--- old\n+++ new\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
    },
    {
      name: "a new text",
      left: undefined,
      right: "a\nb\n",
      diff: "--- /dev/null\n+++ new\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    },
    {
      name: "a text that is gone",
      left: "a\n",
      right: undefined,
      diff: "--- old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    },
    {
      name: "changes far from each other",
      left: ten,
      right: `0\n${ten.replace("10\n", "")}`,
      diff: "--- old\n+++ new\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,3 @@\n 7\n 8\n 9\n-10\n",
    },
  ])("of $name", ({ left, right, diff }) => expect(diffOf(left, right)).toBe(diff));

  test("turns the left text into the right one, whatever they are", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "c", "", "-x", "+y"), { maxLength: 40 });
    const property = fc.property(texts, texts, (left, right) => {
      const [before, after] = [left, right].map((lines) =>
        lines.map((line) => `${line}\n`).join(""),
      );
      return patched(left, diffOf(before, after)).join("\n") === right.join("\n");
    });
    const result = fc.check(property, { numRuns: runsOf(8_000) });
    expect(fc.defaultReportMessage(result)).toBeUndefined();
  });

  test("of long texts that have nothing in common is found at once", () => {
    const startedAt = performance.now();
    expect(diffOf(manyLines("a"), manyLines("b")).split("\n")).toHaveLength(40_004);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

function manyLines(mark: string): string {
  return Array.from({ length: 20_000 }, (_, index) => `${mark}${index}\n`).join("");
}

/** What `patch` would make of the lines. */
function patched(lines: readonly string[], diff: string): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split("\n").slice(2, -1)) {
    const [, start, count] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (start !== undefined) {
      const upTo = Number(start) - (count === "0" ? 0 : 1);
      result.push(...lines.slice(at, upTo));
      at = upTo;
    } else if (line.startsWith("+")) result.push(line.slice(1));
    else {
      if (line.startsWith(" ")) result.push(line.slice(1));
      if (lines[at] !== line.slice(1)) throw new Error(`${line} is not line ${at + 1}`);
      at += 1;
    }
  }
  return [...result, ...lines.slice(at)];
}
