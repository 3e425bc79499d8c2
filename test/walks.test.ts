import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/development.md"), "utf8");
const mostFiles = 15;

interface Step {
  readonly file: string;
  readonly indent: number;
  readonly callsBack: boolean;
}

/** The steps of the list below a heading of docs/development.md. */
function stepsBelow(heading: string): readonly Step[] {
  const [, section = ""] = page.split(`\n### ${heading}\n`);
  const [text = ""] = section.split(/\n##/);
  const lines = text.matchAll(/^( *)(?:\d+\.|-) `([\w./-]+\.ts)`: (.*)$/gm);
  return Array.from(lines, ([, indent = "", file = "", words = ""]) => ({
    file,
    indent: indent.length,
    callsBack: words.endsWith("calls back"),
  }));
}

/** Pairs of files of which the first has to import the second. */
function importsOfWalk(steps: readonly Step[]): readonly (readonly [string, string])[] {
  return steps.flatMap((step, at) => {
    if (at === 0) return [];
    const before = steps.slice(0, at);
    if (step.indent > 0) {
      const parent = before.findLast(({ indent }) => indent < step.indent);
      return [[parent?.file ?? "", step.file] as const];
    }
    const last = before.findLast(({ indent }) => indent === 0);
    if (last === undefined) return [];
    return [last.callsBack ? ([step.file, last.file] as const) : ([last.file, step.file] as const)];
  });
}

function doesImport(file: string, other: string): boolean {
  const source = readFileSync(join(root, file), "utf8");
  return Array.from(source.matchAll(/from "(\.[^"]+)"/g)).some(
    ([, specifier = ""]) => normalize(join(dirname(file), specifier)) === other,
  );
}

describe.each([
  "From a KnativeServing to the applied object",
  "From a ClusterProfile to an authenticated client",
])("the walk %j of docs/development.md", (heading) => {
  const steps = stepsBelow(heading);

  test("has at most 15 files, each once", () => {
    const files = steps.map(({ file }) => file);
    expect(files.length).toBeGreaterThan(5);
    expect(files.length).toBeLessThanOrEqual(mostFiles);
    expect(new Set(files).size).toBe(files.length);
  });

  test.each(importsOfWalk(steps))("%s imports %s", (file, other) => {
    expect(doesImport(file, other)).toBe(true);
  });
});
