import { describe, expect, test } from "vitest";

import { commandLines, shellWord } from "./command-line.ts";
import { clockText, elapsedText } from "./elapsed.ts";
import { fitted, wrapped } from "./paragraph.ts";

describe("durations", () => {
  test.each([
    [0, "0.0 s"],
    [412, "0.4 s"],
    [59_940, "59.9 s"],
    [59_960, "1 min 00 s"],
    [187_000, "3 min 07 s"],
    [3_720_000, "1 h 02 min"],
  ])("%i ms reads %j", (ms, text) => expect(elapsedText(ms)).toBe(text));

  test.each([
    [0, "0:00"],
    [42_900, "0:42"],
    [725_000, "12:05"],
  ])("%i ms on the clock is %j", (ms, text) => expect(clockText(ms)).toBe(text));
});

describe("paragraphs", () => {
  test("break at white space and never pass the width", () => {
    const lines = wrapped("A hub and two spokes\n  run on this machine as processes", 20);
    expect(lines).toEqual(["A hub and two spokes", "run on this machine", "as processes"]);
  });

  test("keep a word that is wider than the line", () => {
    expect(wrapped("see /a/very/long/path now", 10)).toEqual(["see", "/a/very/long/path", "now"]);
  });

  test("of nothing have no lines", () => expect(wrapped("  ", 10)).toEqual([]));

  test.each([
    ["short", 10, "short"],
    ["exactly 10", 10, "exactly 10"],
    ["longer than 10", 10, "longer th…"],
  ])("%j fitted to %i is %j", (line, width, expected) => {
    expect(fitted(line, width)).toBe(expected);
  });
});

describe("commands", () => {
  test.each([
    ["--for=condition=Ready", "--for=condition=Ready"],
    ["a b", "'a b'"],
    ["it's", String.raw`'it'\''s'`],
    ["{.status}", "'{.status}'"],
    ["", "''"],
  ])("the word %j is typed as %s", (word, typed) => expect(shellWord(word)).toBe(typed));

  test("that fit stay on one line", () => {
    expect(commandLines(["kubectl", "get", "ns"], 40)).toEqual(["kubectl get ns"]);
  });

  test("keep a flag and its value on one line", () => {
    expect(commandLines("kubectl get pods -n knative".split(" "), 24)).toEqual([
      String.raw`kubectl get pods \ `.trimEnd(),
      "  -n knative",
    ]);
  });

  test("that do not fit continue on the next line, and no line passes the width", () => {
    const words = "kubectl --context spoke-1 get deployments -n knative-serving".split(" ");
    const lines = commandLines(words, 40);
    expect(lines).toEqual([
      String.raw`kubectl --context spoke-1 get \ `.trimEnd(),
      String.raw`  deployments -n knative-serving`,
    ]);
    expect(lines.every((line) => line.length <= 40)).toBe(true);
  });
});
