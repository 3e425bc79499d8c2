import { describe, expect, test } from "vitest";

import { demoOptions, usage, type DemoSurroundings } from "./options.ts";

const desk: DemoSurroundings = {
  environment: { TERM: "xterm" },
  stdinIsTerminal: true,
  stdoutIsTerminal: true,
  columns: 100,
};

describe("the demo's options", () => {
  test.each([
    { name: "on a terminal", args: [], at: desk, atEnd: "leave" },
    { name: "with --once", args: ["--once"], at: desk, atEnd: "stop" },
    {
      name: "with its output in a file",
      args: [],
      at: { ...desk, stdoutIsTerminal: false },
      atEnd: "stop",
    },
    {
      name: "without a keyboard",
      args: [],
      at: { ...desk, stdinIsTerminal: false },
      atEnd: "stop",
    },
    {
      name: "with --keep and without a terminal",
      args: ["--keep"],
      at: { ...desk, stdinIsTerminal: false, stdoutIsTerminal: undefined },
      atEnd: "leave",
    },
    { name: "with --keep on a terminal", args: ["--keep"], at: desk, atEnd: "leave" },
  ])("$name: at the end $atEnd", ({ args, at, atEnd }) => {
    expect(demoOptions(args, at)).toMatchObject({ kind: "run", options: { atEnd } });
  });

  test.each([
    { name: "a terminal", at: desk, colors: true, terminal: true },
    {
      name: "NO_COLOR",
      at: { ...desk, environment: { NO_COLOR: "1" } },
      colors: false,
      terminal: true,
    },
    {
      name: "an empty NO_COLOR",
      at: { ...desk, environment: { NO_COLOR: "" } },
      colors: true,
      terminal: true,
    },
    {
      name: "a dumb terminal",
      at: { ...desk, environment: { TERM: "dumb" } },
      colors: false,
      terminal: false,
    },
    { name: "a pipe", at: { ...desk, stdoutIsTerminal: false }, colors: false, terminal: false },
    {
      name: "a pipe of CI",
      at: { ...desk, stdoutIsTerminal: undefined, environment: { CI: "true" } },
      colors: false,
      terminal: false,
    },
  ])("$name has colours: $colors, rewritten lines: $terminal", ({ at, colors, terminal }) => {
    expect(demoOptions([], at)).toMatchObject({ options: { colors, terminal } });
  });

  test.each([
    [undefined, 80],
    [80, 80],
    [20, 40],
    [300, 120],
  ])("a terminal of %s columns is written to %i", (columns, width) => {
    expect(demoOptions([], { ...desk, columns })).toMatchObject({ options: { width } });
  });

  test.each([["--help"], ["-h"]])("%s explains itself", (arg) => {
    expect(demoOptions([arg], desk)).toEqual({ kind: "help" });
  });

  test("an unknown argument is refused by name", () => {
    expect(demoOptions(["--onse"], desk)).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("--onse"),
    });
  });

  test("--once and --keep together are refused", () => {
    expect(demoOptions(["--keep", "--once"], desk)).toMatchObject({ kind: "refused" });
  });

  test("the usage fits 80 columns", () => {
    expect(usage.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
});
