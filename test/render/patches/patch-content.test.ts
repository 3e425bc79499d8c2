import { describe, expect, test } from "vitest";

import { patchContent } from "../../../render/patches/patch-content.ts";

describe("the content of a patch", () => {
  test.each([
    ["JSON", '{"a": [1, null, "x"]}', { a: [1, null, "x"] }],
    ["booleans of YAML 1.1", "{a: yes, b: off, c: 'on'}", { a: true, b: false, c: "on" }],
    ["octal numbers", "{mode: 0644}", { mode: 420 }],
    ["dates as texts", "{at: 2026-01-02, time: 1:30}", { at: "2026-01-02", time: "1:30" }],
    ["merge keys", "x: &x {a: 1}\nz: {<<: *x, b: 2}", { x: { a: 1 }, z: { a: 1, b: 2 } }],
    ["the first of several documents", "a: 1\n---\na: 2", { a: 1 }],
    ["the last of equal keys", "a: 1\na: 2", { a: 2 }],
    ["nothing", "# nothing yet", null],
  ])("is read as YAML 1.1: %s", (_name, content, value) => {
    expect(patchContent(content)).toEqual(value);
  });

  test("is at most 64 KiB long", () => {
    expect(patchContent(contentOfLength(65_536))).toHaveProperty("a");
    expect(() => patchContent(contentOfLength(65_537))).toThrow("content is larger than 64 KiB");
  });

  test("is said to be wrong by line, without its words", () => {
    expect(() => patchContent("a: 1\nb: {password: s3cret")).toThrow(
      /^convert patch content to JSON: yaml: line 2: (?!.*s3cret)/,
    );
  });

  test.each([
    ["aliases", levels((one) => `[*${one}, *${one}]`)],
    ["merge keys", levels((one) => `{x: {<<: *${one}}, y: {<<: *${one}}}`)],
  ])("does not grow without limit by %s", (_name, content) => {
    expect(() => patchContent(content)).toThrow("content holds more than 20000 values");
  });

  test.each([
    ["an alias in its own anchor", "a: &a [*a]"],
    ["an alias without an anchor", "a: *b"],
    ["lists of 30000 levels", "[".repeat(30_000)],
    ["lists of 30000 levels in a line", "- ".repeat(30_000)],
    ["lists of 300 levels by indentation", blocks(300)],
    ["maps of 100 levels", `${"{a: ".repeat(100)}1${"}".repeat(100)}`],
    ["a field __proto__", '{"a": {"__proto__": {"b": 1}}}'],
  ])("is refused: %s", (_name, content) => {
    expect(() => patchContent(content)).toThrow(/^(?:content |convert patch content to JSON: )/);
  });
});

function contentOfLength(length: number): string {
  return `{"a": "${"x".repeat(length - 9)}"}`;
}

function blocks(depth: number): string {
  return Array.from({ length: depth }, (_, at) => `${" ".repeat(at)}a:`).join("\n");
}

function levels(twice: (name: string) => string): string {
  const lines = ["l0: &l0 {a: 1}"];
  for (let at = 1; at < 40; at += 1) lines.push(`l${at}: &l${at} ${twice(`l${at - 1}`)}`);
  return lines.join("\n");
}
