import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Command } from "commander";
import { describe, expect, test } from "vitest";

import { exitCodes } from "../../../cmd/kubectl/exit-codes.ts";
import { ownReasons } from "../../../cmd/kubectl/own-reasons.ts";
import { createProgram } from "../../../cmd/kubectl/program.ts";

const page = await readFile(join(import.meta.dirname, "../../../docs/cli.md"), "utf8");

/** The rows of the tables below a heading, cells trimmed. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const lines = (section.split("\n## ")[0] ?? "").split("\n");
  return lines
    .filter((line) => line.startsWith("|") && !line.startsWith("| -"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
}

function flagsOf(command: Command): readonly string[] {
  return command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? "");
}

describe("docs/cli.md", () => {
  test("has every flag and no other", () => {
    const output = { write: () => true };
    const terminal = { args: [], env: {}, stdout: output, stderr: output, now: () => new Date() };
    const program = createProgram(terminal, () => Promise.resolve(0));
    const flags = [program, ...program.commands].flatMap(flagsOf);
    const documented = rowsBelow("Flags").flatMap(([cell = ""]) => /--[a-z-]+/.exec(cell) ?? []);
    expect(documented.toSorted()).toEqual([...flags].toSorted());
  });

  test("has every reason of the command line with its meaning, and no other", () => {
    const rows = rowsBelow("HUB and LIVE");
    const reasons = rows.slice(rows.findIndex(([cell]) => cell === "reason") + 1);
    const documented = reasons.map(([name = "", meaning]) => [name.replaceAll("`", ""), meaning]);
    expect(Object.fromEntries(documented)).toEqual(ownReasons);
  });

  test("has every exit code", () => {
    const documented = rowsBelow("Exit codes").flatMap(([code = ""]) => /^\d+$/.exec(code) ?? []);
    expect(documented.map(Number)).toEqual(Object.values(exitCodes));
  });
});
