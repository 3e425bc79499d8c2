import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { findReleases, type FindReleasesOptions } from "../../cmd/find-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { lockOf } from "../../cmd/release-lock.ts";
import { versionsIn } from "../../cmd/release-versions.ts";
import { runKnfleet } from "./kubectl/run-knfleet.ts";

const signal = new AbortController().signal;

let surroundings: string;
let root: string;
let mirror: string;
let empty: Readonly<Record<string, string>>;
beforeAll(async () => {
  // What stands beside a project is read, too: nothing may stand beside this one.
  surroundings = await mkdtemp(join(tmpdir(), "knfleet-find-releases-"));
  root = join(surroundings, "project");
  mirror = join(surroundings, "mirror");
  empty = { KNFLEET_CACHE_DIR: join(surroundings, "cache") };
  await mkdir(root);
  await cp(sampleDirOf(), mirror, { recursive: true });
  await lockFor("http://127.0.0.1:9");
});
afterAll(() => rm(surroundings, { recursive: true }));

/** Writes a lock file for the files of the mirror. */
async function lockFor(raw: string): Promise<void> {
  const lock = await lockOf(mirror, { repository: "https://example.com/x", commit: "1", raw });
  await writeFile(join(root, "releases.lock.json"), JSON.stringify(lock));
}

function find(options: Omit<FindReleasesOptions, "root">) {
  return findReleases({ root, ...options }, signal);
}

describe("the folder of the release files", () => {
  test("is the named one, else that of the variable, else the usual one", async () => {
    const [named, byVariable, settled, usual] = await Promise.all(
      ["flag", "variable", "settings", "usual"].map(async (name) => {
        const folder = join(surroundings, name);
        await mkdir(join(folder, "knative-eventing/1.0.0"), { recursive: true });
        return folder;
      }),
    );
    const environment = { ...empty, KNFLEET_RELEASE_DIR: byVariable };
    const source = "named";
    expect(await find({ named, settled, environment, usual })).toEqual({ dir: named, source });
    expect(await find({ settled, environment, usual })).toEqual({ dir: byVariable, source });
    expect(await find({ settled, environment: empty, usual })).toEqual({ dir: settled, source });
    expect(await find({ environment: empty, usual })).toEqual({ dir: usual, source });
  });

  test.each([
    { name: "is not there", folder: "absent", problem: "does not exist" },
    { name: "is a file", folder: "a-file", problem: "is no folder" },
    { name: "is empty", folder: "hollow", problem: "holds no version of knative-serving or" },
    { name: "has another part", folder: "odd", problem: "holds no version of knative-serving or" },
  ])("is refused when it $name, with the place that names it", async ({ folder, problem }) => {
    const dir = join(surroundings, folder);
    await writeFile(join(surroundings, "a-file"), "");
    await mkdir(join(surroundings, "hollow"), { recursive: true });
    await mkdir(join(surroundings, "odd/ingress/1.0/istio"), { recursive: true });
    const ways = [
      { by: "--release-dir", options: { named: dir, environment: empty } },
      {
        by: "KNFLEET_RELEASE_DIR",
        options: { environment: { ...empty, KNFLEET_RELEASE_DIR: dir } },
      },
      { by: "the settings file", options: { settled: dir, environment: empty } },
    ];
    for (const { by, options } of ways) {
      // oxlint-disable-next-line no-await-in-loop -- three quick ones
      await expect(find({ ...options, usual: mirror })).rejects.toMatchObject({
        reason: "ConfigInvalid",
        message: expect.stringContaining(`Release directory ${dir}, which ${by} names, ${problem}`),
      });
    }
  });

  test("is refused when it is the usual one and holds nothing", async () => {
    const usual = join(surroundings, "volume");
    await mkdir(usual);
    await expect(find({ environment: empty, usual })).rejects.toMatchObject({
      message: `Release directory ${usual} holds no version of knative-serving or knative-eventing`,
    });
  });

  test("is named relative to the working folder", async () => {
    const named = relative(process.cwd(), mirror);
    expect(await find({ named, environment: empty })).toEqual({ dir: mirror, source: "named" });
  });

  test("is the cache when nothing names one, filled the first time", async () => {
    const environment = { ...empty, KNFLEET_RELEASE_MIRROR: mirror, KNFLEET_RELEASE_DIR: "" };
    const usual = join(surroundings, "no-such-folder");
    const dir = expect.stringMatching(`^${empty["KNFLEET_CACHE_DIR"]}/releases-`);
    expect(await find({ environment, usual, named: "" })).toEqual({ dir, source: "mirror" });
    // Nobody answers at the download, and nobody is asked.
    expect(await find({ environment: empty })).toEqual({ dir, source: "cache" });
  });
});

describe("kubectl knfleet", () => {
  const serving = `apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: {name: ks, namespace: a}
spec: {ingress: {kourier: {enabled: true}}}
`;

  test("says which versions a folder has that lacks the wanted one", async () => {
    const file = join(surroundings, "old.yaml");
    await writeFile(file, serving.replace("spec: {", "spec: {version: 1.9.3, "));
    const env = { ...empty, KNFLEET_RELEASE_DIR: mirror };
    const { exitCode, stderr } = await runKnfleet(["render", "-f", file], { env });
    const { KnativeServing: versions } = await versionsIn(mirror);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `the manifests of the target version 1.9.3 are not available to this release; it has ${versions.join(", ")}`,
    );
    expect(versions.length).toBeGreaterThan(1);
  });

  test("takes it from the flag, else from KNFLEET_RELEASE_DIR, else from the settings file", async () => {
    const file = join(surroundings, "serving.yaml");
    const settings = join(surroundings, "config.yaml");
    await writeFile(file, serving);
    await writeFile(settings, "release-dir: mirror\n", { mode: 0o600 });
    const args = ["render", "-f", file, "--only", "Deployment/webhook", "-o", "json"];
    const byFile = { ...empty, KNFLEET_CONFIG: settings };
    expect(await runKnfleet(args, { env: byFile })).toMatchObject({ exitCode: 0, stderr: "" });
    const byVariable = { ...byFile, KNFLEET_RELEASE_DIR: "/by-variable" };
    expect(await runKnfleet(args, { env: byVariable })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        "Release directory /by-variable, which KNFLEET_RELEASE_DIR names, does not exist",
      ),
    });
    const wrong = await runKnfleet([...args, "--release-dir", "/by-flag"], { env: byVariable });
    expect(wrong.stderr).toContain("/by-flag, which --release-dir names, does not exist");
    await writeFile(settings, "release-dir: /by-file\n");
    const { stderr } = await runKnfleet(args, { env: byFile });
    expect(stderr).toContain("/by-file, which the settings file names, does not exist");
    const byFlag = await runKnfleet([...args, "--release-dir", mirror], { env: byVariable });
    expect(byFlag).toMatchObject({ exitCode: 0, stderr: "" });
  });
});
