import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { readmeOf } from "../../cmd/build/chart-readme.ts";
import { chartFolder } from "./helm.ts";

const read = (name: string) => readFileSync(join(chartFolder, name), "utf8");

test("the README of the chart is what its schema and values say (npm run chart-readme)", () => {
  expect(read("README.md")).toBe(readmeOf(read("values.schema.json"), read("values.yaml")));
});

test("a value that has no default is told", () => {
  const schema = JSON.stringify({ properties: { a: { properties: { b: { type: "string" } } } } });
  expect(() => readmeOf(schema, "a: {}")).toThrow("values.yaml lacks a.b");
});
