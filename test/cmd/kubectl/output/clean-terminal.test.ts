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

import { isRecord } from "../../../../api/fields.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { quickenSystemClock } from "../../../support/quick-system-clock.ts";
import { commandNames, lineOf, writeFilesOfLines } from "../every-command.ts";
import { goldenLines } from "../golden/golden-lines.ts";
import { pipe, widths } from "../golden/looks.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { sceneArgs } from "../golden/scenes.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { runText, type RunText } from "../run-text.ts";
import { fleetSet } from "../set-facts.ts";
import { startStubHub, type StubHub } from "../stub-hub.ts";

// Clears the screen, rings, goes back to the start of the line, hides what follows, sets a title, and turns the order of letters around.
const hostile = "\u001b[2J\u0007\r\u009b8m\u001b]0;title\u0007\u202e\u001b[32mforged";

/** Fields that say what an object is: with another text in them nothing of it would be shown. */
const structural =
  "apiVersion kind vantage group version plural path folder type id code state severity health uid resourceVersion generatedAt cliVersion".split(
    " ",
  );

/** Times, numbers, digests and the words of conditions, which are read and not shown. */
const exact = /^(?:\d{4}-\d\d-\d\dT.*|[\d.]+|[0-9a-f-]{32,}|True|False|Unknown|)$/;

/** A value of an API server or a bundle, with the hostile text in the middle of each text. */
function spoiled(value: unknown, key = ""): unknown {
  if (typeof value === "string") {
    if (structural.includes(key) || exact.test(value)) return value;
    const parts = key === "cluster" ? value.split("/") : [value];
    return parts.map((part) => `${part.slice(0, 2)}${hostile}${part.slice(2)}`).join("/");
  }
  if (Array.isArray(value)) return value.map((one) => spoiled(one, key));
  // What a bundle says of a kind, such as its plural.
  if (!isRecord(value) || key === "kind") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, spoiled(one, name)]));
}

/** A set that commands find by its name, with the hostile text in everything else. */
function hostileSet(): KubeObject {
  const set = fleetSet();
  const { name, namespace } = set.metadata;
  const lies: KubeObject = JSON.parse(JSON.stringify(spoiled(set)));
  return { ...lies, metadata: { ...lies.metadata, name, namespace } };
}

const scenes = ["broken", "whole"] as const;
type Scene = (typeof scenes)[number];

let folder: string;
let hostileFiles: string;
let lying: StubHub;
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
  const objects: readonly KubeObject[] = JSON.parse(JSON.stringify(spoiled(recordedObjects)));
  lying = await startStubHub([...objects, hostileSet()]);
  const body = { kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden" };
  const message = `may not${hostile} do this`;
  refusing = await startStubHub([], () => ({ status: 403, body: { ...body, message } }));
});
afterAll(async () => {
  await lying[Symbol.asyncDispose]();
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
  return controls.test(line.replaceAll(ownColours, "")) || line.includes("\u001b[32mforged");
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

// ui serves a page until it is ended, and says only its address; mcp answers a program until its input ends.
const ending = commandNames.filter((name) => !["ui", "mcp"].includes(name));

describe("of files whose every text is hostile", () => {
  test.each(ending)("%s prints nothing that is obeyed", async (name) => {
    quickenSystemClock(10);
    // What render prints is a document, which stays exact in a pipe.
    for (const columns of name === "render" ? [120] : [undefined, 120]) {
      const looks = columns === undefined ? {} : { columns };
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const ran = await runText(lineOf(name, hostileFiles), { env: lying.env, ...looks });
      expect(obeyed(ran)).toEqual([]);
      expect(ran.stdout + ran.stderr).not.toBe("");
    }
  });
});

describe("of a hub whose every text is hostile", () => {
  test.each(ending)("%s prints nothing that is obeyed", async (name) => {
    quickenSystemClock(10);
    for (const { env } of [lying, refusing]) {
      for (const columns of [undefined, 120]) {
        const looks = columns === undefined ? {} : { columns };
        // oxlint-disable-next-line no-await-in-loop -- one line after another
        const ran = await runText(lineOf(name, folder), { env, ...looks });
        expect(obeyed(ran)).toEqual([]);
        expect(ran.stdout + ran.stderr).not.toBe("");
      }
    }
  });

  test.each(["rollout status", "rollout skip"])("%s tells of a set there", async (name) => {
    const { stdout, stderr } = await runText(lineOf(name, folder), { env: lying.env });
    expect(`${stdout}${stderr}`).toMatch(/prod/);
    expect(`${stdout}${stderr}`).not.toContain("not found");
  });
});
