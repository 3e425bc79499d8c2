import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { stalePages, withParts } from "../../../cmd/build/cli-docs.ts";
import { commandGroups, commandTable } from "../../../cmd/kubectl/command-table.ts";
import { commonOptions, connectionOptions } from "../../../cmd/kubectl/common-options.ts";
import { exitCodes } from "../../../cmd/kubectl/errors.ts";
import { ownReasons } from "../../../cmd/kubectl/output/own-reasons.ts";

const root = join(import.meta.dirname, "../../..");
const entries = [...commandTable(), ...commandGroups()];
const pathOf = (name: string): string => `docs/cli/${name.replace(" ", "-")}.md`;
const page = (path: string): Promise<string> => readFile(join(root, path), "utf8");

describe("the pages of kubectl knfleet", () => {
  test("are what the commands say (npm run cli-docs)", async () => {
    expect([...(await stalePages(root)).keys()]).toEqual([]);
  });

  test("npm run cli-docs -- --check succeeds for the committed files and says so", async () => {
    const program = ["cmd/build/cli-docs.ts", "--check"];
    const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: root });
    expect(stdout).toBe("The pages of the commands are up to date\n");
  });

  test("docs/cli.md has every exit code", async () => {
    const [, section = ""] = (await page("docs/cli.md")).split("\n## Exit codes\n");
    const [lines = ""] = section.split("\n## ");
    const documented = Array.from(lines.matchAll(/^- `(\d+)`: /gm), ([, code]) => Number(code));
    expect(documented).toEqual(Object.values(exitCodes));
  });

  test("docs/cli.md leads to every command, or to the page of its group", async () => {
    const links = [...(await page("docs/cli.md")).matchAll(/^- \[([a-z-]+)\]\(cli\/\1\.md\): /gm)];
    const words = new Set(commandTable().map(({ name }) => name.split(" ")[0]));
    expect(links).toHaveLength(words.size);
    expect(new Set(links.map(([, name]) => name))).toEqual(words);
  });

  test("docs/cli/flags.md has every flag of all commands", async () => {
    const flags = [...(await page("docs/cli/flags.md")).matchAll(/^- `([^`]*)`: ./gm)];
    const known = [...commonOptions(), ...connectionOptions()].map((option) => option.flags);
    expect(flags.map(([, flag]) => flag)).toEqual(known);
  });

  test("docs/cli/output.md has every reason with its meaning", async () => {
    const rows = (await page("docs/cli/output.md")).matchAll(
      /^\| `(\w+)` +\| .*? +\| (.+?) +\|$/gm,
    );
    const documented = Array.from(rows, ([, name, meaning]) => [name, meaning]);
    expect(documented).toEqual(expect.arrayContaining(Object.entries(ownReasons)));
  });

  test.each(commandTable())(
    "that of $name has its examples, flags and exit codes",
    async ({ name, exits = {}, examples, options, kind }) => {
      const text = await page(pathOf(name));
      const wanted = [
        ...examples.map(([line, what]) => `\n# ${what}\n${line}\n`),
        ...options.filter(({ hidden }) => !hidden).map(({ flags }) => `\n- \`${flags}\`: `),
        ...Object.keys(exits).map((code) => `\n- \`${code}\`: `),
        ...(kind === undefined ? [] : [`(../schemas/v1/${kind}.json)`]),
      ];
      expect(wanted.filter((part) => !text.includes(part))).toEqual([]);
    },
  );
});

async function copyOfPages(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "knfleet-cli-docs-"));
  await cp(join(root, "docs/cli"), join(path, "docs/cli"), { recursive: true });
  await cp(join(root, "docs/cli.md"), join(path, "docs/cli.md"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

describe("the generator", () => {
  test("makes a page for every command and group when there is none", async () => {
    const stale = await stalePages(join(root, "does-not-exist"));
    expect([...stale.keys()]).toEqual(
      expect.arrayContaining(entries.map(({ name }) => pathOf(name))),
    );
    expect(stale.get(pathOf("diff"))).toContain("# [kubectl knfleet](../cli.md) diff\n");
  });

  test("makes a part anew that somebody has changed, and keeps what is written by hand", async () => {
    await using folder = await copyOfPages();
    const good = await page("docs/cli/diff.md");
    const text = good.replace("## What differs\n", "## By hand\n");
    expect(text).not.toBe(good);
    await writeFile(
      join(folder.path, "docs/cli/diff.md"),
      text.replace("## Flags\n", "## Switches\n"),
    );
    expect([...(await stalePages(folder.path))]).toEqual([["docs/cli/diff.md", text]]);
  });

  test("refuses the page of a command that is gone", async () => {
    await using folder = await copyOfPages();
    await cp(join(root, "docs/cli/diff.md"), join(folder.path, "docs/cli/gone.md"));
    await expect(stalePages(folder.path)).rejects.toThrow(
      "docs/cli/gone.md is of no command: move its text, and delete it",
    );
  });

  test("refuses a page that has lost its marks", () => {
    expect(() => withParts("docs/cli/diff.md", "text\n", { command: "x" })).toThrow(
      "docs/cli/diff.md has no place for command",
    );
  });

  test("quotes what Markdown would read as marks, and leads to pages of docs", async () => {
    expect(await page("docs/cli/status.md")).toContain("\\<none> when no replica does");
    expect(await page("docs/cli/register.md")).toContain("[spoke-role.yaml](../spoke-role.yaml)");
  });
});
