import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { codes, processReasons, protectionReasons, reasons } from "../api/reasons.ts";
import { controllerCommand } from "../cmd/service/flags.ts";
import { webhookCommand } from "../cmd/service/webhook-flags.ts";
import { builtInReleaseKinds } from "../installation/kinds.ts";
import { firstBuild } from "./demo/preparation.ts";

const root = resolve(import.meta.dirname, "..");

function page(name: string): string {
  return readFileSync(join(root, "docs", name), "utf8");
}

/** The part of a page below a heading. */
function section(text: string, heading: string): string {
  const [, after = ""] = text.split(`\n## ${heading}\n`);
  return after.split("\n## ")[0] ?? "";
}

/** The cells of every row of the tables in a text, but of their heads. */
function rows(text: string): readonly (readonly string[])[] {
  const lines = text.split("\n").filter((line) => line.startsWith("|"));
  const cells = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return cells.filter(([first = ""]) => first.startsWith("`"));
}

function names(text: string): readonly string[] {
  return rows(text).map(([first = ""]) => first.replaceAll("`", ""));
}

test("README.md and the demo say the same about the first build", () => {
  expect(readFileSync(join(root, "README.md"), "utf8")).toContain(`${firstBuild} for the demo`);
});

describe("docs/flags.md", () => {
  const [controllerTable = ""] = page("flags.md").split("\n## ");
  const programs = [
    { command: controllerCommand("1.2.3"), table: controllerTable },
    { command: webhookCommand("1.2.3"), table: section(page("flags.md"), "knfleet-webhook") },
  ].map(({ command, table }) => ({ name: command.name(), options: command.options, table }));

  test.each(programs)("lists every flag of $name, and no other", ({ options, table }) => {
    const flags = [...options.map(({ long }) => long), "--help"];
    expect(new Set(names(table))).toEqual(new Set(flags));
  });

  test.each(programs)("says the defaults that the flags of $name have", ({ options, table }) => {
    const documented = new Map(rows(table).map(([flag = "", value = ""]) => [flag, value]));
    for (const { long, defaultValue, defaultValueDescription } of options) {
      if (defaultValue === undefined) continue;
      const value = String(defaultValueDescription ?? defaultValue);
      expect(documented.get(`\`${long}\``)).toBe(`\`${value}\``);
    }
  });
});

test.each([
  { name: "removal.md", heading: "When the cluster cannot be had" },
  { name: "migrate.md", heading: "Back" },
])("docs/$name does by hand what is to be done to every kind of a release", ({ name, heading }) => {
  const commands = [...section(page(name), heading).matchAll(/```sh\n([^]*?)```/g)].join("\n");
  const words = new Set(commands.split(/[^a-z]+/));
  const plurals = builtInReleaseKinds.map(({ plural }) => plural);
  expect(plurals.filter((plural) => !words.has(plural))).toEqual([]);
});

test("docs/development.md types only what is on the PATH of somebody who has Node and npm", () => {
  const blocks = page("development.md")
    .split("\n```")
    .filter((_, index) => index % 2 === 1);
  const lines = blocks.flatMap((block) => block.split("\n").slice(1));
  const programs = lines.map((line) => line.replace(/^(?:[A-Z_]+=\S* +)*/, "").split(" ")[0] ?? "");
  expect(programs).toContain("npm");
  const ours = readdirSync(join(root, "node_modules/.bin")).filter((name) => name !== "node");
  expect(programs.filter((program) => ours.includes(program))).toEqual([]);
});

describe("docs/reasons.md", () => {
  const text = page("reasons.md");

  test("lists every reason of the catalogue as it is there, and no other", () => {
    const documented = rows(section(text, "Reasons")).map(([name, condition, retry, , next]) => ({
      name,
      condition,
      retry,
      next,
    }));
    const ofProcess: readonly string[] = processReasons;
    const catalogue = Object.entries(reasons).map(([name, entry]) => ({
      name: `\`${name}\``,
      ...entry,
      ...(ofProcess.includes(name) ? { condition: "none", retry: "none" } : {}),
    }));
    expect(documented).toEqual(catalogue);
  });

  test("lists every reason of the protection of anchors with its status, and no other", () => {
    const listed = rows(section(text, "Protection of the anchor"));
    const documented = listed.map(([name = "", status]) => [name.replaceAll("`", ""), status]);
    expect(Object.fromEntries(documented)).toEqual(protectionReasons);
    expect(listed).toHaveLength(Object.keys(protectionReasons).length);
  });

  test("lists every code of the catalogue, and no other", () => {
    expect(names(section(text, "Codes"))).toEqual(codes);
  });

  test("says when each of them is used", () => {
    for (const cells of rows(text)) expect(cells).not.toContain("");
  });
});
