import { execFile } from "node:child_process";
import { glob, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { env } from "node:process";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { openReleases } from "../../cmd/open-releases.ts";
import { checkReleases, ensureReleases, findMirror, sampleDirOf } from "../../cmd/release-files.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { projectRoot } from "./needs.ts";

const run = promisify(execFile);
const signal = AbortSignal.timeout(60_000);
const { HOME = "" } = env;

// This file has no tag, so these tests show on machines that have Knative's release files that they are hidden.
describe("a test file without the tag release-files", () => {
  test("has the sample release", async () => {
    expect(await releaseDir()).toBe(sampleDirOf());
  });

  test.each([
    { environment: env, of: "this process" },
    { environment: { HOME }, of: "a program that knows nothing but its home" },
  ])("gets Knative's by no way, with the environment of $of", async ({ environment }) => {
    // Nothing is downloaded, and a mirror does not let itself be read.
    const fetches = (await findMirror(environment)) !== undefined;
    await expect(ensureReleases({ environment, fetches }, signal)).rejects.toMatchObject({
      reason: "ReleasesUnavailable",
    });
    const { dir, problems } = await checkReleases({ environment });
    expect(problems).not.toEqual([]);
    await expect(
      openReleases(dir).then((releases) => releases.load("knative-serving/1.22.0")),
    ).rejects.toThrow(/no such file|cannot be read/u);
  });

  test("has child processes that do not get them either, whatever their environment", async () => {
    const releases = [join(projectRoot, "cmd/releases.ts")];
    const ended = run(process.execPath, releases, { env: { HOME } });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/without-releases\/nothing\/\S+ cannot be read/u),
    });
    const told = await run("/bin/sh", ["-c", "echo $KNFLEET_RELEASE_DIR"], { env: {} });
    expect(told.stdout).toBe(`${sampleDirOf()}\n`);
  });

  test("has child processes that look where a test tells them to", async () => {
    const KNFLEET_CACHE_DIR = "/nowhere";
    const told = await run("env", [], { env: { PATH: env["PATH"], KNFLEET_CACHE_DIR } });
    expect(told.stdout).toContain("KNFLEET_CACHE_DIR=/nowhere\n");
    expect(told.stdout).toContain("KNFLEET_RELEASE_MIRROR=");
    expect(told.stdout).not.toContain("KNFLEET_RELEASE_DIR=");
  });

  test("has the programs of the fleet in a cache that nobody fills with release files", async () => {
    const names = await readdir(env["KNFLEET_CACHE_DIR"] ?? "");
    expect(names).toEqual(expect.arrayContaining(["binaries", "files", "nothing"]));
    expect(names.filter((name) => name.startsWith("releases-"))).toEqual([]);
    expect(await readdir(env["KNFLEET_RELEASE_MIRROR"] ?? "")).toEqual([]);
  });
});

test("no file has the tag release-files for a part of its tests", async () => {
  const cwd = join(import.meta.dirname, "..");
  const files = await Array.fromAsync(glob("**/*.test.ts", { cwd }));
  const texts = files.map(async (file) => [file, await readFile(join(cwd, file), "utf8")] as const);
  const part = /tags: \[[^\]]*"release-files"/u;
  const partly = (await Promise.all(texts)).filter(([, text]) => part.test(text));
  expect(partly.map(([file]) => file)).toEqual([]);
});
