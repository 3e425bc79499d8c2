import { expect, test } from "vitest";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { exitCodes } from "../../../cmd/kubectl/errors.ts";
import { exitCodeMeanings } from "../../../cmd/kubectl/exit-codes.ts";
import { runText } from "./run-text.ts";

test("every exit code has a meaning", () => {
  expect(Object.keys(exitCodeMeanings).map(Number)).toEqual(Object.values(exitCodes));
});

test("help has the exit codes of the command, and those of all where it has none of its own", async () => {
  const { stdout } = await runText(["diff", "--help"]);
  const [, codes] = stdout.split("Exit codes:\n");
  const own = commandTable().find(({ name }) => name === "diff")?.exits;
  expect(codes).toContain(`  1     ${own?.[1]}\n`);
  expect(codes).toContain(`  2     ${exitCodeMeanings[2]}\n`);
  expect(codes).not.toContain(exitCodeMeanings[1]);
});
