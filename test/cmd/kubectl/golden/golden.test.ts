import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { commandTable } from "../../../../cmd/kubectl/command-table.ts";
import { runText, type RunText } from "../run-text.ts";
import { goldenLines, type GoldenLine } from "./golden-lines.ts";
import { recordedFolder } from "./record-scene.ts";
import { sceneArgs, sceneNames, type SceneName } from "./scenes.ts";

// `vitest run --project unit test/cmd/kubectl/golden -u` writes the files anew; docs/development.md says how to record the fleets.
const goldenFolder = join(import.meta.dirname, "../../../golden/fleets");

type Looks = Pick<RunText, "columns" | "env"> & {
  readonly title: string;
  readonly args?: readonly string[];
};

const utf8 = { LANG: "C.UTF-8" };
const pipe: Looks = { title: "in a pipe" };
const widths: readonly Looks[] = [
  pipe,
  { title: "80 columns, no colour", columns: 80, env: { NO_COLOR: "1" } },
  { title: "120 columns, in colour", columns: 120 },
  { title: "120 columns, ASCII", columns: 120, env: { LANG: "C", TERM: "dumb" } },
];

/** The lines of one scene: for each, how it looks. */
function textFormats({
  fields: [one, other],
  named = true,
}: GoldenLine): readonly (readonly [string, readonly Looks[]])[] {
  const range = `{range .items[*]}{${one}} {${other}}{"\\n"}{end}`;
  return [
    ["table", widths],
    ["wide", widths.slice(0, 3)],
    ...(named ? [["name", [pipe]] as const] : []),
    [`jsonpath=${range}`, [pipe]],
    [`jsonpath-as-json={.items[*]${one}}`, [pipe]],
    [`custom-columns=ONE:${one},OTHER:${other}`, widths.slice(0, 2)],
  ];
}

/** One hour after a scene was recorded. */
function later(scene: SceneName): Date {
  const index = JSON.parse(readFileSync(join(recordedFolder, scene, "bundle.json"), "utf8"));
  return new Date(Date.parse(index.generatedAt) + 3_600_000);
}

async function section(scene: SceneName, args: readonly string[], looks: Looks): Promise<string> {
  const bundle = join(recordedFolder, scene);
  const line = [...args, ...sceneArgs[scene], ...(looks.args ?? [])];
  const env = { ...utf8, ...looks.env };
  const ran = await runText([...line, "--bundle", bundle], {
    env,
    at: later(scene),
    ...(looks.columns === undefined ? {} : { columns: looks.columns }),
  });
  const stderr = ran.stderr.replaceAll(bundle, "fleet.tgz");
  const stdout = withoutMachine(ran.stdout);
  const shown = line.map((word) => (/[\s{}*!,]/.test(word) ? `'${word}'` : word)).join(" ");
  const title = `$ kubectl knfleet ${shown} --bundle fleet.tgz   # ${looks.title}\n`;
  return `${title}${stdout}--- stderr\n${stderr}--- exit code ${ran.exitCode}\n`;
}

/** Without what is of the machine that runs the tests. */
function withoutMachine(text: string): string {
  return text
    .replaceAll(process.version, "v24.0.0")
    .replaceAll(`${process.platform}/${process.arch}`, "linux/x64");
}

const usualScenes: readonly SceneName[] = ["fine", "broken", "upstream"];

const held = Object.entries(goldenLines).flatMap(([name, line]) =>
  "args" in line ? (line.scenes ?? usualScenes).map((scene) => ({ name, line, scene })) : [],
);

describe("on the recorded fleet", () => {
  test.each(held)(
    "$scene, $name looks as agreed in every format and width",
    async ({ name, line, scene }) => {
      const sections: string[] = [];
      for (const [format, all] of textFormats(line)) {
        for (const looks of all) {
          // oxlint-disable-next-line no-await-in-loop -- one line after another
          sections.push(await section(scene, [...line.args, "-o", format], looks));
        }
      }
      const path = join(goldenFolder, scene, `${name}.txt`);
      await expect(sections.join("\n")).toMatchFileSnapshot(path);
    },
  );

  test.each(held)(
    "$scene, $name looks as agreed as a document and in formats of its own",
    async ({ name, line, scene }) => {
      for (const format of ["json", "yaml", ...(line.formats ?? [])]) {
        const path = join(goldenFolder, scene, `${name}.${format}.txt`);
        const bundle = join(recordedFolder, scene);
        const args = [...line.args, ...sceneArgs[scene], "--bundle", bundle, "-o", format];
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        const ran = await runText(args, { env: utf8, at: later(scene) });
        const text = `${withoutMachine(ran.stdout)}--- stderr\n${ran.stderr}--- exit code ${ran.exitCode}\n`;
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        await expect(text).toMatchFileSnapshot(path);
      }
    },
  );

  test.each(held)("$scene, $name has one exit code for all formats", ({ name, line, scene }) => {
    const own = (line.formats ?? []).map((format) => `${format}.txt`);
    const texts = ["txt", "json.txt", "yaml.txt", ...own].map((end) =>
      readFileSync(join(goldenFolder, scene, `${name}.${end}`), "utf8"),
    );
    const codes = texts.flatMap((text) => text.match(/^--- exit code .*$/gm) ?? []);
    expect(codes.length).toBeGreaterThan(texts.length);
    expect(new Set(codes).size).toBe(1);
  });
});

describe("every command", () => {
  test.each(commandTable())("$name has golden files", ({ name, readsBundles = false }) => {
    const line = goldenLines[name];
    if (line === undefined) throw new Error(`${name} is not in golden-lines.ts`);
    const isHere = "args" in line;
    const path = isHere ? "golden/golden.test.ts" : line.file;
    expect(readFileSync(join(import.meta.dirname, "..", path), "utf8")).toContain("expect(");
    const isRecorded = isHere || line.readsBundles === true;
    expect({ isHere, readsBundles }).toEqual({ isHere, readsBundles: isRecorded });
  });

  test("has golden files of no scene and no command but these", () => {
    const files = sceneNames.flatMap((scene) => readdirSync(join(goldenFolder, scene)));
    const wanted = held.map(({ name }) => name);
    expect(files.filter((file) => !wanted.includes(file.split(".")[0] ?? ""))).toEqual([]);
    expect(readdirSync(goldenFolder).toSorted()).toEqual(sceneNames.toSorted());
  });
});
