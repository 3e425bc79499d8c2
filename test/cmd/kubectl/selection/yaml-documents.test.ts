import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { InputError, yamlDocuments } from "../../../../cmd/kubectl/selection/yaml-documents.ts";
import { runsOf } from "../../../support/fuzz.ts";

function valuesOf(text: string): readonly unknown[] {
  return yamlDocuments(text, "file").map(({ value }) => value);
}

describe("the documents of a text", () => {
  test.each([
    { name: "one", text: "a: b", values: [{ a: "b" }] },
    {
      name: "several, empty ones left out",
      text: "---\n---\na: 1\n---\nb: 2\n...\n",
      values: [{ a: 1 }, { b: 2 }],
    },
    { name: "JSON", text: '{"a": [1, null]}', values: [{ a: [1, null] }] },
    { name: "nothing", text: "", values: [] },
    { name: "a comment", text: "# nothing\n", values: [] },
    {
      name: "a list, item by item",
      text: "kind: List\nitems: [{a: 1}, {b: 2}]",
      values: [{ a: 1 }, { b: 2 }],
    },
    {
      name: "bare words as kubectl reads them",
      text: "a: on\nb: no\nc: 'on'\nd: 2024-01-02\ne: 12:30:45\nf: 010",
      values: [{ a: true, b: false, c: "on", d: "2024-01-02", e: "12:30:45", f: 8 }],
    },
    {
      name: "merged anchors",
      text: "a: &x {b: 1}\nc: {<<: *x}",
      values: [{ a: { b: 1 }, c: { b: 1 } }],
    },
  ])("$name", ({ text, values }) => expect(valuesOf(text)).toEqual(values));

  test("are named in problems by file and number, and all problems are told", () => {
    const text = "a: {\n---\nb: 1\n---\nc: [\n";
    const problems = problemsOf(text);
    expect(problems).toEqual([
      expect.stringMatching(/^file, document 1: /),
      expect.stringMatching(/^file, document 3: /),
    ]);
  });

  test.each([
    { name: "a key that is there twice", text: "a: 1\na: 2" },
    { name: "an alias of nothing", text: "a: *b" },
    { name: "an alias of itself", text: "&a [*a]" },
    { name: "nesting without end", text: "[".repeat(100_000) },
    { name: "deep JSON", text: `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}` },
    { name: "more than 16 MiB", text: " ".repeat(16 * 1024 * 1024 + 1) },
    { name: "more than 4 MiB of YAML", text: "---\n".repeat(1024 * 1024 + 1) },
    { name: "a document of more than 1 MiB", text: `a: ${"b".repeat(1024 * 1024)}` },
    {
      name: "aliases that multiply",
      text: `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from(
        { length: 9 },
        (_, index) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(10)}]\n`,
      ).join("")}`,
    },
  ])("with $name are refused", ({ text }) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(/^file: /)]);
  });

  test("have the lines of the file in their problems", () => {
    expect(problemsOf("---\na: 1\n---\nb: 1\nc: d: e\n")).toEqual([
      expect.stringMatching(/^file, document 2: .* at line 5, column \d+$/),
    ]);
  });

  test("are read or refused, whatever the text is", () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          "a: ",
          "- ",
          "\n",
          "  ",
          "{",
          "}",
          "[",
          "]",
          "&a ",
          "*a",
          "|\n",
          "!!set ",
          "? ",
        ),
        fc.constantFrom("---\n", "...\n", "<<: ", '"', "'", "#", "!!binary ", "!x ", "%YAML 1.2\n"),
        fc.string({ maxLength: 5, unit: "binary" }),
      ),
      { maxLength: 40 },
    );
    const property = fc.property(pieces, (parts) => {
      try {
        return Array.isArray(yamlDocuments(parts.join(""), "file"));
      } catch (error) {
        return error instanceof InputError && error.problems.length > 0;
      }
    });
    const result = fc.check(property, { numRuns: runsOf(12_000) });
    expect(fc.defaultReportMessage(result)).toBeUndefined();
  });
});

function problemsOf(text: string): readonly string[] {
  try {
    yamlDocuments(text, "file");
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  return [];
}
