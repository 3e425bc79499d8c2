import { existsSync, globSync, readdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** Folders whose tests are about no single file, and why. */
const scenes: Readonly<Record<string, string>> = {
  test: "the project as a whole: its law, its documents, its scripts",
  "test/build": "what the build makes, as users start it",
  "test/charts": "charts are no TypeScript",
  "test/cmd/kubectl/golden": "the output of all commands",
  "test/demo": "the demo as a user runs it",
  "test/e2e": "the real programs together, on real clusters",
  "test/faults": "the fault bench and its sweeps",
  "test/fixtures": "the sample release",
  "test/fleet": "the fleet of the tests as a whole",
  "test/image": "the Dockerfile",
  "test/performance/scale": "a thousand simulated spokes",
  "test/vectors": "recorded facts about upstream",
};

/**
 * A test of `access/http/retry.ts` is `test/access/http/retry.test.ts`. Further files about it add what they look at: `retry-connection-failure.test.ts`.
 * A test of the room as a whole begins with the name of the room, and one of a helper of the tests stands beside it.
 */
function hasPlace(file: string): boolean {
  const folder = dirname(file);
  if (folder in scenes) return true;
  const room = relative("test", folder);
  const name = basename(file).replace(/(?:\.fleet)?\.test\.ts$/, "");
  const sources = [...sourcesIn(room), ...sourcesIn(folder), basename(room)];
  return sources.some((source) => name === source || name.startsWith(`${source}-`));
}

function sourcesIn(folder: string): readonly string[] {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".test.ts"))
    .map((name) => name.replace(/\.tsx?$/, ""));
}

const files = globSync("test/**/*.test.ts", { cwd: root });

test("every test file has the name and the place of what it tests", () => {
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => !hasPlace(file))).toEqual([]);
});

test("every folder of scenes has tests", () => {
  const folders = new Set(files.map((file) => dirname(file)));
  expect(Object.keys(scenes).filter((folder) => !folders.has(folder))).toEqual([]);
});
