import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { commandTable } from "../../../../cmd/kubectl/command-table.ts";
import { runText } from "../run-text.ts";
import { goldenLines } from "./golden-lines.ts";
import {
  ownFormats,
  pipe,
  sectionOf,
  textFormats,
  textOf,
  withoutMachine,
  type Looks,
} from "./looks.ts";
import { recordedFolder } from "./record-scene.ts";
import { sceneArgs, sceneNames, type SceneName } from "./scenes.ts";

// `npm test -- --project unit test/cmd/kubectl/golden -u` writes the files anew; docs/development.md says how to record the fleets.
const goldenFolder = join(import.meta.dirname, "../../../golden/fleets");

/** One hour after a scene was recorded. */
function later(scene: SceneName): Date {
  const index = JSON.parse(readFileSync(join(recordedFolder, scene, "bundle.json"), "utf8"));
  return new Date(Date.parse(index.generatedAt) + 3_600_000);
}

/** What a line prints of a scene. */
async function ranOn(scene: SceneName, line: readonly string[], looks: Looks) {
  const bundle = join(recordedFolder, scene);
  const ran = await runText([...line, "--bundle", bundle], {
    // `version` names the folder of the release files, and no machine has this one.
    env: { LANG: "C.UTF-8", KNFLEET_RELEASE_DIR: "/no-releases", ...looks.env },
    at: later(scene),
    ...(looks.columns === undefined ? {} : { columns: looks.columns }),
  });
  const stderr = ran.stderr.replaceAll(bundle, "fleet.tgz");
  const stdout = withoutMachine(ran.stdout).replaceAll(bundle, "fleet.tgz");
  return { ...ran, stdout, stderr };
}

async function section(scene: SceneName, args: readonly string[], looks: Looks): Promise<string> {
  const line = [...args, ...sceneArgs[scene]];
  const ran = await ranOn(scene, line, looks);
  return sectionOf([...line, "--bundle", "fleet.tgz"], looks, ran);
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
      for (const format of ownFormats(line)) {
        const path = join(goldenFolder, scene, `${name}.${format}.txt`);
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        const ran = await ranOn(scene, [...line.args, ...sceneArgs[scene], "-o", format], pipe);
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        await expect(textOf(ran)).toMatchFileSnapshot(path);
      }
    },
  );

  test.each(held)("$scene, $name has one exit code for all formats", ({ name, line, scene }) => {
    const own = ownFormats(line).map((format) => `${format}.txt`);
    const texts = ["txt", ...own].map((end) =>
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
    const isRecorded = "args" in line || ("file" in line && line.readsBundles === true);
    // What diff says of a bundle is what it said of the fleet; commands/diff/diff.test.ts holds that.
    expect(readsBundles).toBe(isRecorded || name === "diff");
    if (!("file" in line)) return;
    expect(readFileSync(join(import.meta.dirname, "..", line.file), "utf8")).toContain("expect(");
  });

  test("has golden files of no scene and no command but these", () => {
    const files = sceneNames.flatMap((scene) => readdirSync(join(goldenFolder, scene)));
    const wanted = held.map(({ name }) => name);
    expect(files.filter((file) => !wanted.includes(file.split(".")[0] ?? ""))).toEqual([]);
    expect(readdirSync(goldenFolder).toSorted()).toEqual(["served", ...sceneNames].toSorted());
  });
});
