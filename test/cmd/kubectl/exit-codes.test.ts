import { expect, test } from "vitest";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { exitCodes } from "../../../cmd/kubectl/errors.ts";
import { exitCodeMeanings, exitCodesOf } from "../../../cmd/kubectl/exit-codes.ts";
import { runText } from "./run-text.ts";

test("every exit code has a meaning", () => {
  expect(Object.keys(exitCodeMeanings).map(Number)).toEqual(Object.values(exitCodes));
});

test("exit codes of their own have only commands that there are", () => {
  const names = commandTable().map(({ name }) => name);
  expect(Object.keys(exitCodesOf).filter((name) => !names.includes(name))).toEqual([]);
});

test("help has the exit codes of the command, and those of all where it has none of its own", async () => {
  const { stdout } = await runText(["diff", "--help"]);
  const [, codes] = stdout.split("Exit codes:\n");
  const own = exitCodesOf["diff"];
  expect(codes).toContain(`  1     ${own?.[1]}\n`);
  expect(codes).toContain(`  2     ${exitCodeMeanings[2]}\n`);
  expect(codes).not.toContain(exitCodeMeanings[1]);
});
