import { expect, test } from "vitest";

import { painter, wantsColour } from "../../../../cmd/kubectl/output/terminal.ts";

test.each([
  { mode: "always", env: { NO_COLOR: "1" }, terminal: false, colour: true },
  { mode: "never", env: { FORCE_COLOR: "1" }, terminal: true, colour: false },
  { mode: "auto", env: {}, terminal: true, colour: true },
  { mode: "auto", env: {}, terminal: false, colour: false },
  { mode: "auto", env: { NO_COLOR: "" }, terminal: true, colour: true },
  { mode: "auto", env: { NO_COLOR: "1", FORCE_COLOR: "1" }, terminal: true, colour: false },
  { mode: "auto", env: { CLICOLOR_FORCE: "1" }, terminal: false, colour: true },
  { mode: "auto", env: { FORCE_COLOR: "0" }, terminal: false, colour: false },
  { mode: "auto", env: { TERM: "dumb" }, terminal: true, colour: false },
] as const)("$mode with $env, terminal $terminal: $colour", ({ mode, env, terminal, colour }) => {
  expect(wantsColour(mode, env, terminal)).toBe(colour);
});

test("without colour a text is unchanged", () => {
  expect(painter(false)("Ready", "good")).toBe("Ready");
  expect(painter(true)("Ready", "good")).toBe("\u001b[32mReady\u001b[39m");
});
