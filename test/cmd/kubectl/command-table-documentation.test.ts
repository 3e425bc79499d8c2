import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { exitCodes } from "../../../cmd/kubectl/errors.ts";
import { withReference } from "./cli-reference.ts";

const path = join(import.meta.dirname, "../../../docs/cli.md");
const page = await readFile(path, "utf8");

describe("docs/cli.md", () => {
  // `npm test -- --project unit test/cmd/kubectl/command-table-documentation.test.ts -u` writes it.
  test("has the help of every command, every flag and every reason as the command table says them", async () => {
    await expect(withReference(page)).toMatchFileSnapshot(path);
  });

  test("has every exit code", () => {
    const [, section = ""] = page.split("\n## Exit codes\n");
    const [rows = ""] = section.split("\n## ");
    const documented = Array.from(rows.matchAll(/^\| (\d+) /gm), ([, code]) => Number(code));
    expect(documented).toEqual(Object.values(exitCodes));
  });
});

describe("every command", () => {
  test.each(commandTable())(
    "$name has a summary, a text and examples that begin with it",
    (entry) => {
      expect(entry.summary).toMatch(/^[A-Z].*[^.]$/);
      expect(entry.text).not.toBe("");
      expect(entry.examples.length).toBeGreaterThan(0);
      for (const [line] of entry.examples) expect(line).toContain(`kubectl knfleet ${entry.name}`);
    },
  );
});
