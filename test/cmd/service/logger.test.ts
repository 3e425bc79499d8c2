import { describe, expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { createLogger, type LoggerSettings } from "../../../cmd/service/logger.ts";
import { lieIn, lyingText } from "../../support/lying-text.ts";

function logged(
  settings: Partial<LoggerSettings>,
  write: (log: ReturnType<typeof createLogger>) => void,
) {
  const lines: string[] = [];
  const sink = { write: (line: string) => lines.push(line) };
  write(createLogger({ level: "info", format: "json", ...settings }, sink));
  return lines;
}

const cause = new Error("stderr of a plugin: \u200B\u001B[31msecret-looking\u0007text");
const error = new FleetError("AccessProviderFailed", "The plugin failed", {
  code: "PluginFailed",
  cause,
});

test("a line is one JSON object with time, level, fields and sentence", () => {
  const [line = ""] = logged({}, (log) => log.info({ component: "a" }, "Applied manifests"));
  expect(JSON.parse(line)).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    component: "a",
    msg: "Applied manifests",
  });
});

test("a line for people is short", () => {
  const [line] = logged({ format: "text" }, (log) =>
    log.info({ component: "Kind a/b", applied: 3 }, "Applied manifests"),
  );
  expect(line).toMatch(/^[\d:.]{12} info {2}Applied manifests component="Kind a\/b" applied=3\n$/);
});

test("an error is told without what stands behind it", () => {
  const [line = ""] = logged({}, (log) => log.error({ err: error }, "Reconcile failed"));
  expect(JSON.parse(line)).toMatchObject({
    err: {
      type: "FleetError",
      reason: "AccessProviderFailed",
      code: "PluginFailed",
      message: "[PluginFailed] The plugin failed",
    },
  });
  expect(line).not.toContain("stderr");
});

test("at debug an error comes with its causes, without control characters", () => {
  const [line = ""] = logged({ level: "debug" }, (log) => log.error({ err: error }, "Failed"));
  expect(JSON.parse(line)).toMatchObject({
    err: { causes: ["Error: stderr of a plugin:  [31msecret-looking text"] },
  });
});

test("a programming error comes with its place", () => {
  const [line = ""] = logged({}, (log) => log.error({ err: new TypeError("x") }, "Failed"));
  expect(JSON.parse(line)).toMatchObject({
    err: { stack: expect.stringContaining("logger.test") },
  });
});

test("lines below the level are not written", () => {
  expect(logged({ level: "warn" }, (log) => log.info({}, "No"))).toEqual([]);
});

describe.each(["json", "text"] as const)("as %s, what others said", (format) => {
  const manyLies = Array.from({ length: 40 }, () => "\u{e0001}".repeat(120));
  const liar = new FleetError("ApplyFailed", `The server said ${lyingText}`);

  test.each<[what: string, write: (log: ReturnType<typeof createLogger>) => void]>([
    ["in a field", (log) => log.info({ spoke: lyingText }, "Told")],
    ["in an error", (log) => log.info({ err: liar }, "Told")],
    ["in a cause", (log) => log.info({ err: new Error("x", { cause: liar }) }, "Told")],
    ["in the sentence", (log) => log.info({}, `Told ${lyingText}`)],
    ["in the fields of all lines", (log) => log.child({ spoke: lyingText }).info({}, "Told")],
    ["in a list", (log) => log.info({ names: [lyingText, { deep: [lyingText] }] }, "Told")],
    ["in the name of a field", (log) => log.info({ [lyingText]: 1 }, "Told")],
    [
      "ten thousand times",
      (log) => log.info({ names: Array.from({ length: 10_000 }, () => "name\u202e") }, "Told"),
    ],
    [
      "only in what is written as escapes",
      (log) => log.info({}, `Told ${"\u0090".repeat(32_000)}`),
    ],
    ["in letters of several bytes", (log) => log.info({ a: "名".repeat(32_000) }, "Told")],
    ["in many short fields", (log) => log.info(Object.assign({}, manyLies), "Told")],
  ])("steers no terminal and ends: %s", (_, write) => {
    const [line = "", ...others] = logged({ format, level: "debug" }, write);
    expect(others).toEqual([]);
    expect(lieIn(line)).toEqual([]);
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(64 * 1024);
    expect(line.split("\n")).toEqual([expect.stringContaining("Told"), ""]);
  });

  test("is there as it was, where it is harmless or can be written otherwise", () => {
    const [line = ""] = logged({ format }, (log) => log.info({ a: "é\u202e\u0085" }, "Für b"));
    expect(line).toContain("Für b");
    expect(line).toContain(String.raw`é\u202e\u0085`);
  });
});

test("a line with lies is JSON, with what was there", () => {
  const [line = ""] = logged({}, (log) => log.info({ a: "é\u202e\u0085" }, "Told"));
  expect(JSON.parse(line)).toMatchObject({ a: "é\u202e\u0085" });
  const [long = ""] = logged({}, (log) => log.info({ a: 1, spoke: lyingText }, "Told"));
  expect(JSON.parse(long)).toMatchObject({ level: "info", a: 1, msg: "Told" });
  const names = Array.from({ length: 10_000 }, () => "name");
  const [longer = ""] = logged({}, (log) => log.info({ names }, "Told"));
  expect(JSON.parse(longer)).toMatchObject({ level: "info", cut: expect.any(Number), msg: "Told" });
});

test("a line with too many objects has its other fields, and as many objects as there is room for", () => {
  const left = Array.from({ length: 1_000 }, (_, at) => `v1 ConfigMap ${"n".repeat(63)}/${at}`);
  const err = new FleetError("ApplyFailed", `The server said ${"x".repeat(100_000)}`);
  const [line = ""] = logged({}, (log) =>
    log.child({ namespace: "a", name: "b" }).warn({ cluster: "fleet/a", left, err }, "Left behind"),
  );
  expect(JSON.parse(line)).toMatchObject({
    level: "warn",
    cut: expect.any(Number),
    namespace: "a",
    name: "b",
    cluster: "fleet/a",
    left: [...left.slice(0, 512), "… 488 more"],
    err: { reason: "ApplyFailed", message: expect.stringMatching(/^The server said x{1000,}…$/) },
    msg: "Left behind",
  });
});

test("a line for which there is room is whole", () => {
  const names = Array.from({ length: 5_000 }, () => "name");
  const [line = ""] = logged({}, (log) => log.info({ names }, "Told"));
  expect(JSON.parse(line)).toMatchObject({ names, msg: "Told" });
  expect(line).not.toContain("cut");
});

test("a line whose lists are in lists has its sentence and its short fields", () => {
  const deep = (depth: number): unknown =>
    depth === 0 ? "x".repeat(64) : Array.from({ length: 5 }, () => deep(depth - 1));
  const [line = ""] = logged({}, (log) => log.info({ lists: deep(6), cluster: "a" }, "Told"));
  const short = { lists: ["… 5 more"], cluster: "a" };
  expect(JSON.parse(line)).toMatchObject({ cut: expect.any(Number), ...short, msg: "Told" });
});
