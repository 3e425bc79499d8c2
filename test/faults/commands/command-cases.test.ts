import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { commandCases, notTried } from "./command-cases.ts";
import { commandOptionsOf } from "./command-faults.ts";

const page = join(import.meta.dirname, "../../../docs/security.md");

/** The commands of the table "What the commands write": a cell may name several, with their common first word left out. */
async function documented(): Promise<readonly string[]> {
  const [, section = ""] = (await readFile(page, "utf8")).split("\n## What the commands write\n");
  const [rows = ""] = section.split("\n## ");
  return Array.from(rows.matchAll(/^\| (`.+?) +\|/gm), ([, cell = ""]) => cell).flatMap((cell) => {
    const names = Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
    const [verb = ""] = (names[0] ?? "").split(" ");
    return names.map((name) =>
      verb === "rollout" && !name.startsWith(verb) ? `${verb} ${name}` : name,
    );
  });
}

test("every command that writes is tried, or named with the reason why not", async () => {
  const tried = new Set(commandCases.map(({ command }) => command));
  const names = (await documented()).filter((name) => name !== "kubectl knfleet");
  expect(names.toSorted()).toEqual([...tried, ...Object.keys(notTried)].toSorted());
});

test("the command line takes the names of commands, and no others", () => {
  expect(commandOptionsOf(["--only", "register,rollout pause", "--match", "killed"])).toEqual({
    only: ["register", "rollout pause"],
    match: "killed",
    list: false,
  });
  expect(() => commandOptionsOf(["--only", "diagnose"])).toThrow("--only takes some of register,");
  expect(commandOptionsOf(["--help"])).toBeUndefined();
});
