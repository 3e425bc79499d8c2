import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { goldenLines, type Formats } from "./golden-lines.ts";
import { ownFormats, pipe, sectionOf, textFormats, textOf, widths, type Looks } from "./looks.ts";
import { startServedScene, type ServedScene } from "./served-scene.ts";

// `npm test -- --project unit test/cmd/kubectl/golden -u` writes the files anew.
const goldenFolder = join(import.meta.dirname, "../../../golden/fleets/served");

let scene: ServedScene;
beforeAll(async () => {
  scene = await startServedScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

const held = Object.entries(goldenLines).flatMap(([name, line]) =>
  "served" in line ? [{ name, ...line }] : [],
);
const reporting = held.flatMap(({ name, served: [first = []], report }) =>
  report === undefined ? [] : [{ name, first, report }],
);

async function section(line: readonly string[], looks: Looks): Promise<string> {
  const { columns, env = {} } = looks;
  const ran = await scene.run(line, { env, ...(columns === undefined ? {} : { columns }) });
  return sectionOf(line, looks, ran);
}

/** The lines as they are typed, and the first one in each format. */
function linesOf({ served, report, isText }: (typeof held)[number]) {
  const typed = served.map((line) => [line, isText === true ? [pipe] : widths] as const);
  const [first = []] = served;
  const formats = report === undefined ? [] : textFormats(report);
  return [
    ...typed,
    ...formats.map(([format, looks]) => [[...first, "-o", format], looks] as const),
  ];
}

describe("on a hub that answers", () => {
  test.each(held)("$name looks as agreed in every format and width", async (one) => {
    const sections: string[] = [];
    for (const [line, all] of linesOf(one)) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      for (const looks of all) sections.push(await section(line, looks));
    }
    const path = join(goldenFolder, `${one.name}.txt`);
    await expect(sections.join("\n")).toMatchFileSnapshot(path);
  });

  test.each(reporting)(
    "$name looks as agreed as a document and in formats of its own, with one exit code",
    async ({ name, first, report }) => {
      for (const format of ownFormats(report)) {
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        const ran = await scene.run([...first, "-o", format], {});
        const path = join(goldenFolder, `${name}.${format}.txt`);
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        await expect(textOf(ran)).toMatchFileSnapshot(path);
      }
      expect(codesOf(name, report).size).toBe(1);
    },
  );

  test("has golden files of no command but these", () => {
    const names = held.map(({ name }) => name);
    const files = readdirSync(goldenFolder);
    expect(files.filter((file) => !names.includes(file.split(".")[0] ?? ""))).toEqual([]);
  });
});

/** The exit codes in the golden files of a command. */
function codesOf(name: string, report: Formats): ReadonlySet<string> {
  const ends = ["txt", ...ownFormats(report).map((format) => `${format}.txt`)];
  const texts = ends.map((end) => readFileSync(join(goldenFolder, `${name}.${end}`), "utf8"));
  return new Set(texts.flatMap((text) => text.match(/^--- exit code .*$/gm) ?? []));
}
