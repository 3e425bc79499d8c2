import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { describe, expect, test } from "vitest";

import { commandTable } from "../cmd/kubectl/command-table.ts";
import { commonArguments } from "../cmd/kubectl/main/tool-arguments.ts";

const root = join(import.meta.dirname, "..");
const files = globSync("cmd/kubectl/**/*.{ts,tsx}", { cwd: root });
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));

/** The commands with more than 150 lines. What grows over its step is seen here, and so is what shrinks. */
const longCommands: Readonly<Record<string, number>> = {
  "can-i": 500,
  check: 250,
  connect: 300,
  diff: 300,
  events: 400,
  explain: 200,
  gather: 1050,
  get: 400,
  kubeconfig: 450,
  logs: 650,
  mcp: 200,
  migrate: 2450,
  orphans: 800,
  plan: 1150,
  register: 3450,
  render: 300,
  rollout: 2800,
  status: 300,
  top: 1300,
  ui: 750,
  version: 700,
  wait: 750,
};

/** The room of a file: `commands/NAME`, or the folder or file in cmd/kubectl. */
function roomOf(file: string): string {
  return /^cmd\/kubectl\/(commands\/[^/]+|[^/]+)/.exec(file)?.[1] ?? "";
}

/** Imports of a command from another room: `FILE imports FILE`. */
function foreignImports(file: string, text: string): readonly string[] {
  return Array.from(text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g), ([, to = ""]) =>
    normalize(join(dirname(file), to)),
  )
    .filter((to) => roomOf(to).startsWith("commands/") && roomOf(to) !== roomOf(file))
    .map((to) => `${file} imports ${to}`);
}

/** The file that lists the commands. */
function isTable(file: string): boolean {
  return file === "cmd/kubectl/command-table.ts";
}

describe("the house of the command line", () => {
  test("has no command that imports another, and no shared room that imports one", () => {
    const found = [...texts].flatMap(([file, text]) =>
      isTable(file) ? [] : foreignImports(file, text),
    );
    expect(found).toEqual([]);
    expect(foreignImports("cmd/kubectl/output/a.ts", 'from "../commands/b/c.ts"')).toHaveLength(1);
  });

  test("opens the ways to hub and spokes in Fleet, and for completion, which loads little", () => {
    const openers = [...texts].filter(([, text]) => /\bopenClusterAccess\(/.test(text));
    expect(openers.map(([file]) => file).toSorted()).toEqual([
      "cmd/kubectl/completion/run-complete.ts",
      "cmd/kubectl/fleet/fleet.ts",
      "cmd/kubectl/spokes/open-cluster-access.ts",
    ]);
  });

  test("decides in one file what a command line without -A and -n means", () => {
    const deciding =
      /\b(?:flags|asked)\.namespace (?:(?:===|!==) (?:null|"string")|\?\?)|\bnamespace === null \? \w+ :/;
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

  test("has commands of at most 150 lines, but for the longer ones, which are counted in steps of 50", () => {
    const lines = Map.groupBy(texts, ([file]) => /^commands\/(.+)/.exec(roomOf(file))?.[1]);
    lines.delete(undefined);
    const counted = [...lines].map(([name = "", own]) => {
      const sum = own.reduce((all, [, text]) => all + text.trimEnd().split("\n").length, 0);
      return [name, Math.ceil(sum / 50) * 50] as const;
    });
    const longer = counted.filter(([, sum]) => sum > 150);
    expect(Object.fromEntries(longer)).toEqual(longCommands);
    expect(counted.length).toBeGreaterThan(25);
  });

  test("has a small command with at most 120 lines", () => {
    const own = [...texts].filter(([file]) => roomOf(file) === "commands/images");
    const lines = own.reduce((sum, [, text]) => sum + text.trimEnd().split("\n").length, 0);
    expect(lines).toBeGreaterThan(50);
    expect(lines).toBeLessThanOrEqual(120);
  });
});
