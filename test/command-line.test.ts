import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { describe, expect, test } from "vitest";

import { commandTable } from "../cmd/kubectl/command-table.ts";
import { commonArguments } from "../cmd/kubectl/main/tool-arguments.ts";

const root = join(import.meta.dirname, "..");
const files = globSync("cmd/kubectl/**/*.{ts,tsx}", { cwd: root });
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));

/** Rooms that import a command although the law forbids it: none may be added, and one that is gone leaves the list. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  bundle: ["check", "diagnose", "diff", "logs"],
  "can-i": ["diagnose", "render"],
  check: ["diagnose", "plan"],
  "cli.ts": ["completion"],
  completion: ["explain"],
  connect: ["kubeconfig"],
  diagnose: ["can-i", "explain", "register", "rollout"],
  diff: ["render"],
  explain: ["diagnose", "orphans", "plan", "rollout"],
  gather: ["check", "diagnose", "diff", "logs", "status"],
  mcp: ["gather"],
  migrate: ["register"],
  orphans: ["explain"],
  output: ["rollout", "status"],
  page: ["check", "diagnose", "events", "rollout", "status", "tree", "ui", "workloads"],
  plan: ["can-i", "diagnose", "diff", "rollout"],
  register: ["can-i", "check", "diagnose", "render"],
  status: ["gather", "ui"],
  top: ["diagnose", "events", "logs", "status"],
  tree: ["diagnose"],
  ui: ["events", "gather", "mcp", "rollout", "status", "top", "tree"],
  wait: ["rollout"],
};

/** The room of a file: that of a command, or the folder or file in cmd/kubectl. */
function roomOf(file: string): string {
  const [, command] = /^cmd\/kubectl\/commands\/([^/]+)\//.exec(file) ?? [];
  return command ?? /^cmd\/kubectl\/([^/]+)/.exec(file)?.[1] ?? "";
}

/** The commands that a room imports, besides itself. */
function importedBy(room: string): readonly string[] {
  const found = [...texts]
    .filter(([file]) => roomOf(file) === room && !isTable(file))
    .flatMap(([file, text]) =>
      Array.from(text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g), ([, to = ""]) =>
        normalize(join(dirname(file), to)),
      ),
    )
    .filter((file) => file.startsWith("cmd/kubectl/commands/"))
    .map(roomOf);
  return [...new Set(found)].filter((name) => name !== room).toSorted();
}

/** The file that lists the commands. */
function isTable(file: string): boolean {
  return file === "cmd/kubectl/command-table.ts";
}

describe("the house of the command line", () => {
  test("has no command that imports another, and no shared room that imports one, but for the exceptions", () => {
    const rooms = [...new Set(files.map(roomOf))].toSorted();
    const imports = rooms.map((room) => [room, importedBy(room)] as const);
    expect(Object.fromEntries(imports.filter(([, commands]) => commands.length > 0))).toEqual(
      exceptions,
    );
  });

  test("decides in one file what a command line without -A and -n means", () => {
    const deciding =
      /\b(?:flags|asked)\.namespace (?:(?:===|!==) null|\?\?)|\bnamespace === null \? \w+ :/;
    const deciders = [...texts].filter(([, text]) => deciding.test(text)).map(([file]) => file);
    expect(deciders.toSorted()).toEqual(["cmd/kubectl/selection/hub-namespace.ts"]);
  });

  test("types a flag once: a tool has the names of the flags, and no others", () => {
    for (const { tool, options, name } of commandTable()) {
      const flags = new Set(options.map((option) => option.attributeName()));
      const own = Object.keys(tool?.properties ?? {}).filter(
        (argument) => !Object.hasOwn(commonArguments, argument),
      );
      const behind = ["names", "targets", "kinds", "words", "set"];
      const others = own.filter((argument) => !flags.has(argument));
      expect({ name, others: others.filter((one) => !behind.includes(one)) }).toEqual({
        name,
        others: [],
      });
    }
  });

  test("has a small command with at most 120 lines", () => {
    const own = [...texts].filter(([file]) => roomOf(file) === "images");
    const lines = own.reduce((sum, [, text]) => sum + text.trimEnd().split("\n").length, 0);
    expect(lines).toBeGreaterThan(50);
    expect(lines).toBeLessThanOrEqual(120);
  });
});
