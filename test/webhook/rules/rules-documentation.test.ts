import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { componentRules, componentWarnings } from "../../../webhook/rules/component-rules.ts";
import { setRules, setWarnings } from "../../../webhook/rules/sets/set-rules.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../../docs/webhook.md"), "utf8");

/** The first cells of the rows of the table below a heading, with the second. */
function rowsOf(heading: string): ReadonlyMap<string, string> {
  const [, after = ""] = page.split(`\n## ${heading}\n`);
  const [section = ""] = after.split(/\n##/);
  const rows = [...section.matchAll(/^\| `([^`]+)` +\| ([^|]+?) +\|/gm)];
  return new Map(rows.map(([, name = "", second = ""]) => [name, second]));
}

test("docs/webhook.md lists every rule with its code, and no other", () => {
  const codes = Object.entries(componentRules).map(([name, { code }]) => [name, String(code)]);
  expect(Object.fromEntries(rowsOf("Rules for components"))).toEqual({
    size: "422",
    deleting: "403",
    ...Object.fromEntries(codes),
  });
});

test("docs/webhook.md lists every warning, and no other", () => {
  expect([...rowsOf("Warnings for components").keys()]).toEqual(Object.keys(componentWarnings));
});

test("docs/webhook.md lists every rule for sets with its code, and no other", () => {
  const codes = Object.entries(setRules).map(([name, { code }]) => [name, String(code)]);
  expect(Object.fromEntries(rowsOf("Rules for sets"))).toEqual({
    // Those of the review itself.
    size: "422",
    shape: "422",
    deleting: "403",
    right: "403",
    "right-unknown": "500",
    approval: "422",
    results: "422",
    ...Object.fromEntries(codes),
  });
});

test("docs/webhook.md lists every warning for sets, and no other", () => {
  const names = [...Object.keys(setWarnings), "not-rendered"];
  expect([...rowsOf("Warnings for sets").keys()]).toEqual(names);
});

test("docs/webhook.md says that nothing is defaulted", () => {
  expect(page).toContain("**Nothing is defaulted**");
});
