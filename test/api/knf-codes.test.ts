import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { knfCodes } from "../../api/knf/knf-codes.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/codes.md"), "utf8");

test("docs/codes.md lists every code as the catalogue has it, and no other", () => {
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("| `KNF"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
  const documented = rows.map(([code = "", name, meaning, next]) => [
    code,
    { name, meaning, next },
  ]);
  expect(Object.fromEntries(documented)).toEqual(withoutTicks(knfCodes));
});

test("no two codes have one name", () => {
  const names = Object.values(knfCodes).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

function withoutTicks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll("`", ""));
}
