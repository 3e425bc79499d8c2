import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { commentedValuesOf, readmeOf } from "../../cmd/build/chart-readme.ts";
import { chartFolder } from "./helm.ts";

const read = (name: string) => readFileSync(join(chartFolder, name), "utf8");

test("the README of the chart is what its schema and values say (npm run chart-readme)", () => {
  expect(read("README.md")).toBe(readmeOf(read("values.schema.json"), read("values.yaml")));
});

test("helm show values has a comment for each value (npm run chart-readme)", () => {
  const values = read("values.yaml");
  expect(values).toBe(commentedValuesOf(read("values.schema.json"), values));
  const lines = values.split("\n");
  const bare = lines.filter(
    (line, at) => /^ *\w+:/.test(line) && !/^ *#/.test(lines[at - 1] ?? ""),
  );
  const inner = ["requests", "limits", "cpu", "memory", "grafana_dashboard", "type", "drop"];
  const pod = ["runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "seccompProfile"];
  const container = ["allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities"];
  // What is within an object of Kubernetes, which has a comment as a whole.
  const known = new Set([...inner, ...pod, ...container]);
  const names = bare.map((line) => line.trim().split(":")[0] ?? "");
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test("a comment is folded, and takes the place of an older one", () => {
  const schema = JSON.stringify({ properties: { a: { description: "word ".repeat(30).trim() } } });
  const text = commentedValuesOf(schema, "# head\n\n# old\na: 1\n");
  const line = `# ${"word ".repeat(22)}word`;
  expect(text).toBe(`# head\n\n${line}\n# ${"word ".repeat(6)}word\na: 1\n`);
});

test("a value that has no default is told", () => {
  const schema = JSON.stringify({ properties: { a: { properties: { b: { type: "string" } } } } });
  expect(() => readmeOf(schema, "a: {}")).toThrow("values.yaml lacks a.b");
});
