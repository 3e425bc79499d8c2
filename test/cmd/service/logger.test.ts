import { expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { createLogger, type LoggerSettings } from "../../../cmd/service/logger.ts";

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
