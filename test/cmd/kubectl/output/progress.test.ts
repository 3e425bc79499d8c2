import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { cleanTerminal } from "../../../../cmd/kubectl/output/clean-terminal.ts";
import {
  openProgress,
  progressText,
  sharedProgress,
} from "../../../../cmd/kubectl/output/progress.ts";

const since = (secondsAgo: number): number => 100_000 - secondsAgo * 1_000;

describe("the line of progress", () => {
  test.each([
    { running: [], text: "37/120" },
    { running: [["eu-1", 2]] as const, text: "37/120" },
    {
      running: [
        ["eu-1", 2],
        ["eu-4", 8.9],
      ] as const,
      text: "37/120, 1 slow: eu-4 (8s)",
    },
    {
      running: [
        ["a", 4],
        ["b", 7],
        ["c", 5],
        ["d", 6],
      ] as const,
      text: "37/120, 4 slow: b (7s), d (6s), c (5s) …",
    },
    { running: [["eu\u001b[2J", 3]] as const, text: "37/120, 1 slow: eu [2J (3s)" },
  ])("is $text", ({ running, text }) => {
    const map = new Map(running.map(([name, seconds]) => [name, since(seconds)]));
    expect(progressText({ done: 37, total: 120, running: map }, 100_000)).toBe(text);
  });
});

test("two readings at the same time are told together", () => {
  const told: unknown[] = [];
  const [clusters, documents] = sharedProgress((done, total, running) =>
    told.push([done, total, [...running.keys()]]),
  );
  documents(0, 4, new Map([["walks", 1]]));
  clusters(1, 2, new Map([["eu-1", 2]]));
  documents(1, 4, new Map([["logs", 3]]));
  clusters(2, 2, new Map());
  expect(told).toEqual([
    [0, 4, ["walks"]],
    [1, 6, ["eu-1", "walks"]],
    [2, 6, ["eu-1", "logs"]],
    [3, 6, ["logs"]],
  ]);
});

function opened(
  isTTY: boolean,
  {
    output = "table",
    columns = 30,
  }: { readonly output?: "table" | "json"; readonly columns?: number } = {},
) {
  const written: string[] = [];
  const stream = { isTTY, columns, write: (text: string) => written.push(text) };
  const terminal = { args: [], env: {}, stdout: stream, stderr: stream, now: () => new Date() };
  return { written, ...openProgress(cleanTerminal(terminal).stderr, { output }) };
}

describe("progress", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  test("on a terminal is one line that is cut to its width, written anew each second and removed", () => {
    const { written, update, end } = opened(true, { columns: 12 });
    update(1, 10, new Map());
    expect(written).toEqual(["\r\u001b[K", "spokes 1/10"]);
    update(10_000, 100_000, new Map());
    expect(written.slice(2)).toEqual(["\r\u001b[K", "spokes 1000"]);
    vi.advanceTimersByTime(1_000);
    expect(written).toHaveLength(6);
    end();
    expect(written.slice(6)).toEqual(["\r\u001b[K"]);
    vi.advanceTimersByTime(60_000);
    expect(written).toHaveLength(7);
  });

  test("elsewhere is a line every ten seconds", () => {
    const { written, update, end } = opened(false);
    update(1, 10, new Map());
    vi.advanceTimersByTime(9_000);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(1_000);
    update(9, 10, new Map());
    vi.advanceTimersByTime(10_000);
    expect(written).toEqual(["spokes 1/10\n", "spokes 9/10\n"]);
    end();
    vi.advanceTimersByTime(60_000);
    expect(written).toHaveLength(2);
  });

  test("is not shown beside a document, for one cluster, or when all is done", () => {
    const json = opened(false, { output: "json" });
    json.update(1, 10, new Map());
    const one = opened(true);
    one.update(0, 1, new Map());
    const done = opened(false);
    done.update(10, 10, new Map());
    vi.advanceTimersByTime(60_000);
    expect([json.written, one.written, done.written]).toEqual([[], [], []]);
    for (const { end } of [json, one, done]) end();
  });
});
