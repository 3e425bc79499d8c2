import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { ended, type Ended } from "./ended.ts";

const root = resolve(import.meta.dirname, "..", "..");
let project: string;
let run: Ended;

// A real run of vitest in a small project of its own.
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "knfleet-progress-"));
  await mkdir(join(project, "test"));
  await symlink(join(root, "node_modules"), join(project, "node_modules"));
  const reporter = join(import.meta.dirname, "progress-reporter.ts");
  const config = {
    test: { include: ["test/*.unit.ts"], reporters: [[reporter, { everyMs: 20, slowMs: 300 }]] },
  };
  await put("vitest.config.ts", `export default ${JSON.stringify(config)};`);
  await put(
    "test/tests.unit.ts",
    `import { describe, expect, test } from "vitest";
     import { setTimeout } from "node:timers/promises";
     test("passes", () => undefined);
     describe("a suite", () => test("fails", () => { throw new Error("not now\\nbut later"); }));
     test.skip("is left out", () => undefined);
     test("takes its time", () => setTimeout(400));`,
  );
  await put(
    "test/hook.unit.ts",
    `import { beforeAll, describe, test } from "vitest";
     describe("a stage", () => {
       beforeAll(() => { throw new Error("no cluster"); });
       test("is not tried", () => undefined);
     });`,
  );
  await put("test/broken.unit.ts", `throw new Error("no module");`);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  run = await ended(spawn(process.execPath, [vitest, "run"], { cwd: project }));
});

afterAll(() => rm(project, { recursive: true, force: true }));

const put = (path: string, text: string) => writeFile(join(project, path), text);

test("a failure is told when it happens, with file, name and the first line of its message", () => {
  expect(run.stdout.match(/^Failed: .*$/gmu)?.toSorted()).toEqual([
    "Failed: test/broken.unit.ts: no module",
    "Failed: test/hook.unit.ts > a stage: no cluster",
    "Failed: test/tests.unit.ts > a suite > fails: not now",
  ]);
  const told = run.stdout.lastIndexOf("Failed: test/tests.unit.ts");
  expect(run.stdout.slice(told)).toMatch(/^\d of 3 files/mu);
});

test("without a terminal the run says how far it is", () => {
  const lines = run.stdout.match(/^\d of 3 files, .*$/gmu) ?? [];
  expect(lines.at(-1)).toMatch(/^\d of 3 files, \d tests, 1 failed, \d+ s$/u);
  expect(lines.length).toBeGreaterThan(3);
});

test("at the end it names the tests that took long", () => {
  expect(run.stdout).toMatch(
    /^\d slow tests? \(0\.3 s and more, 15 s and more on real clusters\):\n(?: {2}.*\n)*? {2}[\d.]+ s test\/tests\.unit\.ts > takes its time\n/mu,
  );
});
