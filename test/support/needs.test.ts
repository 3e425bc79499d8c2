import { createHash } from "node:crypto";
import { glob, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { needsOfTests } from "./needs.ts";

const tests = join(import.meta.dirname, "..");

// A project with one release file, and nothing beside it.
let folder: string;
let root: string;
let environment: Record<string, string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-needs-"));
  root = join(folder, "project");
  environment = { KNFLEET_CACHE_DIR: join(folder, "cache") };
  await mkdir(root);
  const sha256 = createHash("sha256").update("kind: A\n").digest("hex");
  const file = { path: "a.yaml", bytes: 8, sha256, url: "http://127.0.0.1:9/a.yaml" };
  const lock = { repository: "https://example.com/x", commit: "1", files: [file] };
  await writeFile(join(root, "releases.lock.json"), JSON.stringify(lock));
});

afterEach(() => rm(folder, { recursive: true }));

async function unmet(): Promise<readonly string[]> {
  const needs = await needsOfTests(environment, root);
  return needs.filter(({ skip }) => skip).map(({ name, description }) => `${name}: ${description}`);
}

// The environment of these tests has no PATH, and so no unshare.
const namespaces =
  "namespaces: network and mount namespaces of their own (Linux with unshare, mount and ip)";
const image =
  "image: a build of the image (Debian's programs for it, which `npm test` and `npm run image` get for root on Debian)";
const recordings =
  "recordings: recorded objects of upstream, which are not part of the project (../shared)";

test("a checkout with nothing beside it lacks all, and says why", async () => {
  environment["KNFLEET_RELEASES_PROBLEM"] = "a.yaml could not be downloaded";
  expect(await unmet()).toEqual([
    "release-files: Knative's release files, which could not be downloaded: a.yaml could not be downloaded",
    recordings,
    namespaces,
    image,
  ]);
});

test("without `npm test` nothing was downloaded", async () => {
  expect(await unmet()).toEqual([
    expect.stringMatching(/files, which are not on this machine \(`npm run releases` downloads/u),
    recordings,
    namespaces,
    image,
  ]);
});

test("no test looks beside the checkout by itself", async () => {
  const files = await Array.fromAsync(glob("**/*.ts", { cwd: tests }));
  const texts = files.map(
    async (file) => [file, await readFile(join(tests, file), "utf8")] as const,
  );
  const looking = (await Promise.all(texts)).filter(([, text]) => text.includes("../shared"));
  // The first two are about it; the third says so in its usage.
  expect(looking.map(([file]) => file).toSorted()).toEqual([
    "support/needs.test.ts",
    "support/needs.ts",
    "vectors/vectors.ts",
  ]);
});

test("a mirror serves, and stays served without it", async () => {
  const mirror = join(folder, "mirror");
  await mkdir(mirror);
  await writeFile(join(mirror, "a.yaml"), "kind: A\n");
  environment["KNFLEET_RELEASE_MIRROR"] = mirror;
  expect(await unmet()).toEqual([recordings, namespaces, image]);
  delete environment["KNFLEET_RELEASE_MIRROR"];
  expect(await unmet()).toEqual([recordings, namespaces, image]);
});

test("a folder that was named as the mirror and is none ends the run", async () => {
  environment["KNFLEET_RELEASE_MIRROR"] = folder;
  await expect(unmet()).rejects.toMatchObject({ reason: "ReleasesUnavailable" });
});

test("what stands beside the checkout serves", async () => {
  await mkdir(join(folder, "shared/vectors/render"), { recursive: true });
  await mkdir(join(folder, "shared/manifests"));
  await writeFile(join(folder, "shared/manifests/a.yaml"), "kind: A\n");
  expect(await unmet()).toEqual([namespaces, image]);
});
