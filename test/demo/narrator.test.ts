import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { failureLines, reasonsOf, StepFailed } from "./failure.ts";
import { createNarrator, type Narrator } from "./narrator.ts";
import type { DemoOptions } from "./options.ts";
import { Progress } from "./progress.ts";

const open = new AbortController().signal;

interface Told {
  readonly narrator: Narrator;
  readonly text: () => string;
  readonly pass: (ms: number) => void;
}

function tell(options: Partial<DemoOptions> = {}): Told {
  let clock = 0;
  let text = "";
  const narrator = createNarrator({
    options: {
      colors: options.colors ?? false,
      terminal: options.terminal ?? false,
      width: options.width ?? 80,
    },
    steps: 3,
    write: (part) => void (text += part),
    now: () => clock,
  });
  return { narrator, text: () => text, pass: (ms) => void (clock += ms) };
}

function follow(terminal: boolean): { progress: Progress; text: () => string } {
  let text = "";
  const write = (part: string): void => void (text += part);
  return {
    progress: new Progress({ write, now: () => Date.now(), terminal, width: 30 }),
    text: () => text,
  };
}

describe("a step", () => {
  test("has a number, a title, its time and the time so far", async () => {
    const { narrator, text, pass } = tell();
    await narrator.step("Get the binaries", open, async () => pass(61_000));
    await narrator.step("Start the fleet", open, async () => pass(8200));
    expect(text()).toBe(
      [
        "",
        "== 1/3  Get the binaries",
        "  done in 1 min 01 s, 1 min 01 s so far",
        "",
        "== 2/3  Start the fleet",
        "  done in 8.2 s, 1 min 09 s so far",
        "",
      ].join("\n"),
    );
  });

  test("gives back what it made", async () => {
    const { narrator } = tell();
    await expect(narrator.step("Make a number", open, async () => 7)).resolves.toBe(7);
  });

  test("that fails names itself and keeps the cause", async () => {
    const { narrator } = tell();
    const cause = new Error("No Go");
    const failing = narrator.step("Get the binaries", open, () => Promise.reject(cause));
    await expect(failing).rejects.toMatchObject({ step: 1, title: "Get the binaries", cause });
  });

  test("that is interrupted is no failure", async () => {
    const { narrator } = tell();
    const stop = new AbortController();
    const interrupted = narrator.step("Wait", stop.signal, async () => {
      stop.abort("SIGINT");
      throw new Error("kubectl was killed");
    });
    await expect(interrupted).rejects.toBe("SIGINT");
  });

  test("does not begin after an interruption", async () => {
    const { narrator, text } = tell();
    await expect(narrator.step("Wait", AbortSignal.abort("SIGINT"), async () => 1)).rejects.toBe(
      "SIGINT",
    );
    expect(text()).toBe("");
    expect(narrator.begun).toBe(0);
  });
});

describe("the narrator", () => {
  test("shows commands as they can be typed, with their output below", () => {
    const { narrator, text } = tell();
    narrator.command(["kubectl", "get", "namespace", "knative serving"]);
    narrator.output("NAME\nknative serving\n\n");
    expect(text()).toBe(
      ["  $ kubectl get namespace 'knative serving'", "  NAME", "  knative serving", ""].join("\n"),
    );
  });

  test("folds output on a terminal", () => {
    const { narrator, text } = tell({ width: 40, terminal: true });
    narrator.output(`${"word ".repeat(20)}\n`);
    const lines = text().split("\n");
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
  });

  test("never writes wider than the terminal, except for output", () => {
    const { narrator, text } = tell({ width: 40 });
    narrator.say("A hub and two spokes run on this machine as ordinary processes.");
    narrator.warn("The release files could not be had, so the sample release is used instead.");
    narrator.command(
      "kubectl wait --for=condition=Ready knativeserving/knative-serving".split(" "),
    );
    expect(
      text()
        .split("\n")
        .filter((line) => line.length > 40),
    ).toEqual([]);
  });

  test.each([
    [true, true],
    [false, false],
  ])("with colours %s has escape sequences: %s", async (colors, escapes) => {
    const { narrator, text } = tell({ colors });
    await narrator.step("One", open, async () => narrator.warn("Mind"));
    narrator.command(["kubectl"]);
    expect(text().includes("\u001B[")).toBe(escapes);
  });
});

describe("progress", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("in a file writes news at most every 3 s, and a sign of life every 15 s", () => {
    const { progress, text } = follow(false);
    progress.update("building etcd (0 s)");
    progress.update("building etcd (1 s)");
    vi.advanceTimersByTime(16_000);
    progress.update("building kwok");
    progress.update("linking kwok");
    vi.advanceTimersByTime(3000);
    progress[Symbol.dispose]();
    vi.advanceTimersByTime(60_000);
    expect(text()).toBe(
      [
        "  [0:00] building etcd (0 s)",
        "  [0:15] building etcd (1 s)",
        "  [0:18] linking kwok",
        "",
      ].join("\n"),
    );
  });

  test("on a terminal rewrites one line within the width and leaves nothing behind", () => {
    const { progress, text } = follow(true);
    progress.update("building kube-controller-manager");
    vi.advanceTimersByTime(2000);
    progress[Symbol.dispose]();
    const drawn = text().split("\r\u001B[K");
    expect(drawn).toEqual([
      "",
      "  [0:00] building kube-contr…",
      "  [0:01] building kube-contr…",
      "  [0:02] building kube-contr…",
      "",
    ]);
    expect(drawn.every((line) => line.length < 30)).toBe(true);
  });

  test("keeps a note above the rewritten line", () => {
    const { progress, text } = follow(true);
    progress.update("waiting");
    progress.note("  a table");
    expect(text()).toBe(
      "\r\u001B[K  [0:00] waiting\r\u001B[K  a table\n\r\u001B[K  [0:00] waiting",
    );
    progress[Symbol.dispose]();
  });
});

describe("a failure", () => {
  test("says which step, why with all causes, and where the logs are", () => {
    const cause = new Error("The API server of spoke-1 died", { cause: new Error("port taken") });
    expect(failureLines(new StepFailed(3, "Start the fleet", cause), "/tmp/logs")).toEqual([
      "FAILED in step 3: Start the fleet",
      "  why: The API server of spoke-1 died",
      "       port taken",
      "  logs: /tmp/logs",
    ]);
  });

  test("before anything was started names no logs", () => {
    expect(failureLines(new Error("odd"), undefined)).toEqual(["FAILED", "  why: odd"]);
  });

  test("does not repeat what a wrapper says already, and ends for a cyclic cause", () => {
    const inner = new Error("refused");
    const outer = new Error("could not connect: refused", { cause: inner });
    inner.cause = outer;
    expect(reasonsOf(outer)).toEqual(["could not connect: refused"]);
  });
});
