import { describe, expect, test } from "vitest";

import { print } from "../../../../cmd/kubectl/action.ts";
import { readFlags } from "../../../../cmd/kubectl/flags.ts";
import { cleanTerminal } from "../../../../cmd/kubectl/output/clean-terminal.ts";
import { jsonLine, renderJson } from "../../../../cmd/kubectl/output/output-format.ts";
import { now } from "../fleet-facts.ts";

// Clears the screen with one byte or two, rings, turns the order of what follows round.
const evil = "a\u001b[2J\u009b2J\u0007\u0085\u202eb\nc";

async function printed(output: string, isTTY: boolean): Promise<string> {
  let stdout = "";
  const terminal = {
    args: [],
    env: { LANG: "C.UTF-8" },
    stdout: { isTTY, columns: 80, write: (text: string) => (stdout += text) },
    stderr: { write: () => true },
    now: () => now,
  };
  const table = () => ({ headers: ["M"], rows: [[evil]] });
  const rendering = { document: { items: [{ m: evil }] }, table, names: [evil], notes: [] };
  await print(rendering, readFlags({ output }, {}), cleanTerminal(terminal));
  return stdout;
}

describe("what clusters say reaches no terminal as it is (T-86)", () => {
  test.each(["table", "wide", "json", "yaml", "name", "jsonpath={.items[*].m}"])(
    "with -o %s",
    async (output) => {
      expect(await printed(output, true)).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
    },
  );

  test.each(["jsonpath-as-json={.items[*].m}", "custom-columns=M:.m"])(
    "with -o %s",
    async (output) => {
      expect(await printed(output, true)).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
    },
  );

  test("but a program is given the text itself", async () => {
    expect(await printed("jsonpath={.items[*].m}", false)).toBe(evil);
  });

  test("and JSON stays the same document", () => {
    expect(JSON.parse(renderJson({ [evil]: evil }))).toEqual({ [evil]: evil });
    expect(JSON.parse(jsonLine([evil]))).toEqual([evil]);
    expect(jsonLine([evil])).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
  });
});
