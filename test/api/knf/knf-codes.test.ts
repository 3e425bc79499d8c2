import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { knfCodes } from "../../../api/knf/knf-codes.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/codes.md"), "utf8");

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

test("the codes and their names are the agreed ones; new ones may come, none may change or go", async () => {
  const lines = Object.entries(knfCodes).map(([code, { name }]) => `${code} ${name}\n`);
  const path = join(import.meta.dirname, "../../golden/kubectl/codes.txt");
  await expect(lines.toSorted().join("")).toMatchFileSnapshot(path);
});

test("every code is one that the plugin gives", () => {
  const folder = join(import.meta.dirname, "../../../cmd/kubectl");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const source = files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const given = new Set(source.join("").match(/KNF\d{4}/g));
  expect(Object.keys(knfCodes).filter((code) => !given.has(code))).toEqual([]);
});

function withoutTicks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll("`", ""));
}
