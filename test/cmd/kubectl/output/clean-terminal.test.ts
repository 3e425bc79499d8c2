import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { quickenSystemClock } from "../../../support/quick-system-clock.ts";
import { askingCommands, commandNames, lineOf, writeFilesOfLines } from "../every-command.ts";
import { goldenLines } from "../golden/golden-lines.ts";
import { pipe, widths } from "../golden/looks.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { sceneArgs } from "../golden/scenes.ts";
import { runText, type RunText } from "../run-text.ts";
import { forbidden, startStubHub, type StubHub } from "../stub-hub.ts";
import { hostile, marker, spoiled, startLyingHub, startNamelessHub } from "./lying-hub.ts";

const scenes = ["broken", "whole"] as const;
type Scene = (typeof scenes)[number];

let folder: string;
let hostileFiles: string;
let lying: StubHub;
let nameless: StubHub;
let refusing: StubHub;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "knfleet-hostile-"));
  for (const scene of scenes) {
    cpSync(join(recordedFolder, scene), join(folder, scene), { recursive: true });
    for (const file of globSync(join(folder, scene, "**/*.json"))) {
      writeFileSync(file, JSON.stringify(spoiled(JSON.parse(readFileSync(file, "utf8")))));
    }
  }
  await writeFilesOfLines(folder);
  hostileFiles = join(folder, "files");
  mkdirSync(hostileFiles);
  await writeFilesOfLines(hostileFiles);
  // JSON is YAML.
  const component = spoiled(parse(readFileSync(join(folder, "serving.yaml"), "utf8")));
  writeFileSync(join(hostileFiles, "serving.yaml"), JSON.stringify(component));
  const provider = { name: "secretreader", execConfig: { command: "/no/reader", args: ["all"] } };
  const providers = JSON.stringify(spoiled({ providers: [provider] }));
  writeFileSync(join(hostileFiles, "providers.json"), providers);
  lying = await startLyingHub();
  nameless = await startNamelessHub();
  refusing = await startStubHub([], () => forbidden(`may not${hostile} do this`));
});
afterAll(async () => {
  await lying[Symbol.asyncDispose]();
  await nameless[Symbol.asyncDispose]();
  await refusing[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

// What this program itself writes: colours. It moves the cursor only for a progress line and a watched rollout.
// oxlint-disable-next-line no-control-regex -- finds control sequences
const ownColours = /\u001b\[3[1-39]m|\r\u001b\[K/g;
const controls = /(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** The lines of an output that have something which a terminal obeys. */
function obeyed({ stdout, stderr }: Awaited<ReturnType<typeof runText>>): readonly string[] {
  const lines = `${stdout}\n${stderr}`.split("\n");
  return lines.filter(isObeyed).map((line) => JSON.stringify(line));
}

function isObeyed(line: string): boolean {
  return controls.test(line.replaceAll(ownColours, "")) || line.includes(`\u001b[32m${marker}`);
}

function onBundle(scene: Scene, args: readonly string[], looks: RunText) {
  const env = { LANG: "C.UTF-8", KNFLEET_RELEASE_DIR: "/no-releases", ...looks.env };
  return runText([...args, ...sceneArgs[scene], "--bundle", join(folder, scene)], {
    ...looks,
    env,
  });
}

const recorded = Object.entries(goldenLines).flatMap(([name, line]) =>
  "args" in line
    ? (line.scenes ?? scenes)
        .filter((scene) => scenes.some((one) => one === scene))
        .map((scene) => ({ name, line, scene: scene === "whole" ? scene : ("broken" as const) }))
    : [],
);

describe("of a bundle whose every text is hostile", () => {
  test.each(recorded)("$scene, $name prints nothing that is obeyed", async ({ line, scene }) => {
    const texts = ["table", "wide", ...(line.named === false ? [] : ["name"])];
    const formats = [...texts, "json", ...(line.formats ?? [])];
    for (const looks of widths.slice(0, 3)) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      for (const format of looks === pipe ? formats : [...formats, "yaml"]) {
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        const ran = await onBundle(scene, [...line.args, "-o", format], looks);
        expect(obeyed(ran)).toEqual([]);
        expect(ran.stdout + ran.stderr).not.toBe("");
      }
    }
  });

  test.each(recorded)("$scene, $name gives a program every text as it is", async (one) => {
    const { line, scene } = one;
    const json = await onBundle(scene, [...line.args, "-o", "json"], {});
    const yaml = await onBundle(scene, [...line.args, "-o", "yaml"], {});
    expect(json.stdout).toContain(String.raw`\u001b[2J\u0007\r\u009b8m`);
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });
});

/** What these print by default is a document, which stays exact in a pipe. */
const documents = ["render", "rollout undo", "rollout adopt"];

function lineHere(name: string, files: string): readonly string[] {
  return name === "gather" ? [...lineOf(name, files), "--dry-run"] : lineOf(name, files);
}

// ui serves a page until it is ended, and says only its address; mcp answers a program until its input ends.
const ending = commandNames.filter((name) => !["ui", "mcp"].includes(name));

describe("of files whose every text is hostile", () => {
  test.each(ending)("%s prints nothing that is obeyed", async (name) => {
    quickenSystemClock(10);
    for (const columns of documents.includes(name) ? [120] : [undefined, 120]) {
      const looks = columns === undefined ? {} : { columns };
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const ran = await runText(lineHere(name, hostileFiles), { env: lying.env, ...looks });
      expect(obeyed(ran)).toEqual([]);
      expect(ran.stdout + ran.stderr).not.toBe("");
    }
  });
});

/** Commands whose output on such a hub has no foreign text, and why. */
const ownTextOnly: Readonly<Record<string, string>> = {
  explain: "asks no hub, and prints texts of this program",
  completion: "asks no hub, and prints texts of this program",
  render: "asks no hub: what it prints of a file is held above",
  images: "prints names of images that this program renders, and counts",
  "rollout resume": "prints the name that was typed, and a sentence of its own",
  "rollout accept-selection": "prints the name that was typed, and a digest of hexadecimal digits",
};

describe("of a hub whose every text is hostile", () => {
  test.each(ending)("%s prints nothing that is obeyed, and shows it cleaned", async (name) => {
    quickenSystemClock(10);
    let shown = "";
    for (const { env } of [lying, nameless, refusing]) {
      for (const columns of [undefined, 120]) {
        const looks = columns === undefined ? {} : { columns };
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        const ran = await runText(lineHere(name, folder), { env, ...looks });
        const isExact = columns === undefined && documents.includes(name);
        expect(isExact ? [] : obeyed(ran)).toEqual([]);
        expect(ran.stdout + ran.stderr).not.toBe("");
        expect(ran.stderr).not.toContain("Internal error");
        // Without a terminal nothing is cut. What a hub that refuses says is another matter.
        if (columns === undefined && env !== refusing.env) shown += ran.stdout + ran.stderr;
      }
    }
    const isShown = shown.includes(marker);
    expect({ name, isShown, shown: isShown ? "" : shown }).toMatchObject({
      isShown: ownTextOnly[name] === undefined,
    });
  });

  // check names the right that is missing, in words of its own.
  test.each(askingCommands.filter((name) => ending.includes(name) && name !== "check"))(
    "%s shows what a hub says that refuses everything",
    async (name) => {
      quickenSystemClock(10);
      const { stdout, stderr } = await runText(lineHere(name, folder), { env: refusing.env });
      expect(`${stdout}${stderr}`).toContain(marker);
    },
  );
});
