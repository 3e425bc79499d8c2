import { describe, expect, test } from "vitest";

import { ageOf, humanDuration } from "../../../../cmd/kubectl/output/duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe("a span is written as kubectl writes ages", () => {
  test.each([
    [-5 * second, "<invalid>"],
    [-1 * second, "0s"],
    [0, "0s"],
    [999, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [5 * minute + 30 * second, "5m30s"],
    [10 * minute + 30 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [8 * hour + 59 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [3 * day + 4 * hour, "3d4h"],
    [8 * day + 4 * hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [800 * day, "2y70d"],
    [9 * 365 * day + 50 * day, "9y"],
  ])("%d ms is %s", (spanMs, text) => expect(humanDuration(spanMs)).toBe(text));
});

describe("an age", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  test.each([
    ["2026-11-21T11:54:30Z", "5m30s"],
    [null, "<unknown>"],
    [undefined, "<unknown>"],
    ["yesterday", "<unknown>"],
  ])("of %s is %s", (since, text) => expect(ageOf(since, now)).toBe(text));
});
