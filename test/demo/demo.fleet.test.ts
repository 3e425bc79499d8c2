import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { sampleDirOf } from "../../cmd/release-files.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import { assetVariable } from "../fleet/binary-cache.ts";
import { folderOf, runDemo, survivorsOf, type DemoRun } from "./demo-process.ts";
import { blocksOf } from "./page.ts";
import { demoPrograms } from "./preparation.ts";
import { runProgram } from "./run-program.ts";
import { storySteps } from "./story.ts";

// Alone on two cores the whole story takes under a minute.
const storyTimeoutMs = 600_000;

/** Numbers of the steps whose end was told. */
function finishedSteps({ text }: DemoRun): readonly number[] {
  const parts = text.split(/^== (?=\d+\/)/m).slice(1);
  return parts
    .filter((part) => /^ {2}done in /m.test(part))
    .map((part) => Number.parseInt(part, 10));
}

/** With everything that was written when the end is another one. */
function expectEnd(run: DemoRun, code: number): void {
  if (run.code !== code) throw new Error(`Exit code ${String(run.code)}:\n${run.text}`);
}

function expectCleanedUp(run: DemoRun): void {
  const folder = folderOf(run);
  expect(folder).toBeDefined();
  expect(existsSync(folder ?? "")).toBe(false);
  expect(survivorsOf(run)).toEqual([]);
}

const allSteps = Array.from({ length: storySteps }, (_, index) => index + 1);

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-demo-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The lines of the demo that README.md shows. */
async function shortened(): Promise<readonly string[]> {
  const readme = await readFile(join(import.meta.dirname, "../../README.md"), "utf8");
  const block = blocksOf(readme).find(({ text }) => text.startsWith("== "));
  return block?.text.split("\n") ?? ["README.md shows nothing of the demo"];
}

/** A line without what differs from run to run: numbers, ages, and with their length the width of columns. */
function shapeOf(line: string): string {
  return line
    .replaceAll(/\d+(?:m\d+s)?/g, "#")
    .replaceAll(/ +/g, " ")
    .trim();
}

/** What another shell prints that types what the demo said at its end. */
async function typed(text: string): Promise<string> {
  const exports = Array.from(text.matchAll(/^ {2}(export \w+=.*)$/gm), ([, line = ""]) => line);
  const lines = [
    ...exports,
    'echo "releases in $KNFLEET_RELEASE_DIR"',
    "kubectl knfleet status -A",
  ];
  const words = ["sh", "-ec", lines.join("\n")];
  const environment = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  const signal = new AbortController().signal;
  const { code, output } = await runProgram(words, { cwd: tmpdir(), environment, signal });
  return `${output}exit code ${code}`;
}

/** What a reader sees in the story: the fault, the clean spoke, the halted canary, and all lines that README.md shows. */
async function expectStory(text: string): Promise<void> {
  expect(text).toMatch(/No Knative installations found/);
  expect(text).toMatch(/knative-serving +KnativeServing +spoke-1 +1\.23\.\d+ +Ready +Ready/);
  expect(text).toMatch(/knative-eventing +KnativeEventing +spoke-2 +1\.23\.\d+ +Ready +Ready/);
  expect(text).toMatch(/spoke-1 +1\.23\.\d+ +NotReady +Denied +AccessProviderFailed/);
  expect(text).toMatch(/: 0 objects of Eventing are left/);
  expect(text).toMatch(/^ {2}KnativeEventingSet knative-eventing\/eventing: Halted/m);
  expect(text).toMatch(/eventing-spoke-1 +KnativeEventing +spoke-1 +1\.23\.\d+ +Ready +Ready/);
  expect(text).toMatch(/eventing-spoke-2 +KnativeEventing +spoke-2 +1\.22\.\d+ +Ready/);
  expect(text).toMatch(/spoke-1 +Failed +WorkloadsBroken: .*Trigger shop\/orders/);
  expect(text).not.toContain("\u001B");
  expect(text).not.toMatch(/^ *\[\d+:\d\d\] .*: *$/m);
  const shapes = new Set(text.split("\n").map(shapeOf));
  expect((await shortened()).filter((line) => !shapes.has(shapeOf(line)))).toEqual([]);
}

describe("npm run demo", () => {
  // More than 15 s: a fleet of its own starts, and every command of the story runs as a reader types it.
  // That it ends by itself with `--once` is told in knative-demo.fleet.test.ts.
  test(
    "tells every step, with the sample release when no real one can be had, and --keep leaves a fleet that another shell can use until it ends with 0 and stops everything",
    async () => {
      let shown = "";
      const cache = await temporaryFolder();
      const path = await ensureBinaries(demoPrograms);
      const given = demoPrograms.map((name) => [assetVariable(name), path(name)] as const);
      const run = await runDemo({
        args: ["--keep"],
        environment: {
          ...Object.fromEntries(given),
          KNFLEET_CACHE_DIR: cache,
          KNFLEET_RELEASE_DIR: "",
          KNFLEET_RELEASE_MIRROR: join(cache, "nowhere"),
        },
        interruptAt: "tail -f ",
        before: async (text, pid) => {
          process.kill(pid, "SIGHUP");
          shown = await typed(text);
        },
      });
      expectEnd(run, 0);
      expect(finishedSteps(run)).toEqual(allSteps);
      await expectStory(run.text);
      const told = run.text.replaceAll(/\s+/g, " ");
      expect(told).toContain("the sample release is used");
      expect(told).toContain("Remedy: ");
      expect(told).toMatch(/The fleet keeps running until `kill \d+`/);
      expect(shown).toMatch(/knative-serving +KnativeServing +spoke-1 +1\.23\.\d+ +Ready +Ready/);
      expect(shown).toContain(`releases in ${sampleDirOf()}`);
      expectCleanedUp(run);
    },
    storyTimeoutMs,
  );

  test(
    "ends with 1 when a step fails, and says which, why, and where the logs are",
    async () => {
      const folder = await temporaryFolder();
      const etcd = join(folder, "etcd");
      await writeFile(etcd, "#!/bin/sh\necho no etcd today >&2\nexit 7\n", { mode: 0o755 });
      const run = await runDemo({
        args: ["--once"],
        environment: { [assetVariable("etcd")]: etcd },
      });
      expectEnd(run, 1);
      expect(finishedSteps(run)).toEqual([1, 2]);
      expect(run.text).toContain("FAILED in step 3");
      expect(run.text).toContain("no etcd today");
      const logs = /logs are in (\S+)/.exec(run.text)?.[1] ?? "";
      onTestFinished(() => rm(logs, { recursive: true, force: true }));
      expect(existsSync(logs)).toBe(true);
    },
    storyTimeoutMs,
  );

  test(
    "ends with 0 and leaves nothing behind when it is interrupted",
    async () => {
      const run = await runDemo({ args: ["--once"], interruptAt: "== 6/" });
      expectEnd(run, 0);
      expect(run.text).not.toContain("FAILED");
      expect(finishedSteps(run)).toEqual([1, 2, 3, 4, 5]);
      expectCleanedUp(run);
    },
    storyTimeoutMs,
  );
});
