import { join, resolve } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sampleDirOf } from "../../cmd/release-files.ts";
import { runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import { type PlainCopy, plainCopy } from "../cmd/plain-copy.ts";
import { silentListener } from "../cmd/silent-networks.ts";
import { firstGoals, type FirstOnSpoke } from "./first-part.ts";

const project = resolve(import.meta.dirname, "../..");

function run(
  root: string,
  [file, ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
) {
  const line = [join(root, file ?? ""), ...args];
  return runKnfleet(line, { command: process.execPath, env });
}

// More than 2 s on a busy machine: each test starts the program from its sources, which takes one second of computing.
describe("without release files, a program that measures", () => {
  let copy: PlainCopy;
  let server: string;
  beforeAll(async () => {
    const closed = await silentListener();
    await closed[Symbol.asyncDispose]();
    server = `127.0.0.1:${closed.port}`;
    copy = await plainCopy(closed.port, ["test"]);
  });
  afterAll(() => copy[Symbol.asyncDispose]());

  test.each([[], ["--only", "render"], ["--only", "serving"]])(
    "says so in one line and starts nothing: npm run bench %s %s",
    async (...args) => {
      const ran = await run(copy.path("."), ["test/performance/bench.ts", ...args], copy.env);
      expect(ran).toEqual({
        exitCode: 1,
        stdout: "",
        stderr: `Error: Knative's release files are not on this machine and cannot be downloaded: ${server} refused the connection (ECONNREFUSED); name a folder with --release-dir, such as test/fixtures/release, the sample\n`,
      });
    },
  );

  test("says what it lacks in one line and starts nothing: npm run knative", async () => {
    const sample = { ...copy.env, KNFLEET_RELEASE_DIR: copy.path("test/fixtures/release") };
    const lines = [
      { env: copy.env, line: /^Error: Knative's release files are not on this [^\n]+\n$/ },
      { env: sample, line: /^Error: Knative's own programs need Knative's own [^\n]+\n$/ },
    ];
    for (const { env, line } of lines) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const ran = await run(copy.path("."), ["test/knative/knative.ts"], env);
      expect(ran).toEqual({ exitCode: 1, stdout: "", stderr: expect.stringMatching(line) });
    }
  });
});

describe("npm run bench", () => {
  test("measures the sample, too, and says which release files it used", async () => {
    const args = ["test/performance/bench.ts", "--only", "render", "--runs", "1"];
    const ran = await run(project, args, { KNFLEET_RELEASE_DIR: sampleDirOf() });
    expect(ran.exitCode).toBe(0);
    const line = `Release files: ${sampleDirOf()}, not Knative's own (Serving `;
    expect(ran.stdout).toContain(`\n${line}`);
    expect(ran.stderr).toContain(line);
    expect(ran.stdout).toContain("Rendering Serving 1.23 + Kourier: time on one core");
  });

  test.each([["--nonsense"], ["--only", "nothing"], ["--runs", "0"]])(
    "explains itself after a wrong command line: %s %s",
    async (...args) => {
      const ran = await run(project, ["test/performance/bench.ts", ...args], {});
      expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
      expect(ran.stderr).toMatch(/^Error: [^\n]+\n\nUsage: npm run bench/);
    },
  );

  test("compares with upstream's figures only what was installed from Knative's own files", () => {
    const one = { appliedMs: 1, resolvedMs: 1, requests: 1, connections: 1 };
    const results: FirstOnSpoke[] = [
      { rttMs: 50, runs: 1, unguarded: one, first: one, second: one },
    ];
    const texts = (isKnative: boolean) =>
      firstGoals(results, { isKnative }).map(({ text }) => text);
    const compared = texts(true).filter((text) => text.includes("upstream"));
    expect(compared).toHaveLength(1);
    expect(texts(false)).toEqual(texts(true).filter((text) => !compared.includes(text)));
  });
});
