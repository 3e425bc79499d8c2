import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/development.md"), "utf8");
const mostFilesOfInstall = 30;

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
  return Array.from(source.matchAll(/(?:from |import\()"(\.[^"]+)"/g)).some(
    ([, specifier = ""]) => normalize(join(dirname(file), specifier)) === other,
  );
}

describe.each([
  ["From a KnativeServing to the applied object", 15],
  ["From a ClusterProfile to an authenticated client", 15],
  ["From the arguments to the lines of status -A", 20],
] as const)("the walk %j of docs/development.md", (heading, mostFiles) => {
  const steps = stepsBelow(heading);

  test(`has at most ${mostFiles} files, each once`, () => {
    const files = steps.map(({ file }) => file);
    expect(files.length).toBeGreaterThan(5);
    expect(files.length).toBeLessThanOrEqual(mostFiles);
    expect(new Set(files).size).toBe(files.length);
  });

  test.each(importsOfWalk(steps))("%s imports %s", (file, other) => {
    expect(doesImport(file, other)).toBe(true);
  });
});

/** The files from which a file imports more than types. */
function importedBy(file: string): readonly string[] {
  const source = readFileSync(join(root, file), "utf8");
  const imports = source.matchAll(/^import (?!type )([^;]*?) ?from "(\.[^"]+)";/gm);
  return Array.from(imports).flatMap(([, names = "", specifier = ""]) => {
    const isOfTypes = /^\{(?:\s*type \w+(?: as \w+)?,?)+\s*\}$/.test(names);
    return isOfTypes ? [] : [normalize(join(dirname(file), specifier))];
  });
}

/** A file and all that it leads to by its imports, as far as those are chosen. */
function reachedFrom(start: string, isChosen: (file: string) => boolean): ReadonlySet<string> {
  const reached = new Set([start]);
  // Grows while it is gone through.
  for (const file of reached) {
    for (const next of importedBy(file)) if (isChosen(next)) reached.add(next);
  }
  return reached;
}

describe("How an install works", () => {
  const [, section = ""] = page.split("\n### How an install works\n");
  const [text = ""] = section.split(/\n##/);
  const reached = reachedFrom("controller/apply/install.ts", (file) =>
    /^(?:controller|installation)\//.test(file),
  );

  test("an install takes at most 30 files of the controller, whatever it meets", () => {
    const files = [...reached].filter((file) => file.startsWith("controller/"));
    expect(files.length).toBeGreaterThan(20);
    expect(files.toSorted().slice(mostFilesOfInstall)).toEqual([]);
  });

  test("the page names files that an install takes", () => {
    const around = ["prepare.ts", "report.ts", "installation.ts", "installation-memory.ts"];
    const named = Array.from(text.matchAll(/`([\w./-]+\.ts)`/g), ([, file = ""]) => file);
    const strange = named.filter(
      (name) => !around.includes(name) && ![...reached].some((file) => file.endsWith(`/${name}`)),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(strange.filter((name) => !reached.has(name))).toEqual([]);
  });

  test("the page has the five steps in the order in which install() calls them", () => {
    const steps = Array.from(text.matchAll(/^\d\. \*\*(\w+)\*\*/gm), ([, step = ""]) => step);
    expect(steps).toEqual(["observe", "plan", "recordIntent", "send", "recordResult"]);
    const source = readFileSync(join(root, "controller/apply/install.ts"), "utf8");
    const [body = ""] = source
      .slice(source.indexOf("export async function install("))
      .split("\n}\n");
    const calls = ["observe", "makePlan", "recordIntent", "send", "recordResult"];
    const places = calls.map((call) => body.search(new RegExp(`[ (]${call}\\(`)));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(Math.min(...places)).toBeGreaterThan(0);
  });
});
