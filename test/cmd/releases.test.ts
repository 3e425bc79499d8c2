import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { readLock } from "../../cmd/release-lock.ts";
import { recordingsDir } from "../support/needs.ts";

const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "knfleet-releases-cli-"));
});

afterAll(async () => {
  await rm(dir, { recursive: true });
});

describe("npm run releases", () => {
  test("ends with 1 and names the files that are missing when it only checks", async () => {
    const checked = run(process.execPath, ["cmd/releases.ts", "--check", "--release-dir", dir], {
      cwd: root,
    });
    await expect(checked).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /1-serving-crds\.yaml is missing\n[^]*126 release files are not right/,
      ),
    });
  });

  test("refuses an unknown option with one line", async () => {
    const refused = run(process.execPath, ["cmd/releases.ts", "--nonsense"], { cwd: root });
    await expect(refused).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Error: Unknown option '--nonsense'.*\n$/),
    });
  });

  test("says what helps when the files cannot be had", async () => {
    const env = { ...process.env, KNFLEET_RELEASE_MIRROR: dir };
    const ended = run(process.execPath, ["cmd/releases.ts", "--release-dir", dir], {
      cwd: root,
      env,
    });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^Error: Knative's .* cannot be copied: \S+ cannot be read\. Name a folder that .*\n$/,
      ),
    });
  });

  test("explains itself", async () => {
    const { stdout } = await run(process.execPath, ["cmd/releases.ts", "--help"], { cwd: root });
    expect(stdout).toContain("--release-dir DIR");
  });
});

describe("releases.lock.json", () => {
  test("pins every file to one commit of upstream", async () => {
    const lock = await readLock(root);
    expect(lock.commit).toMatch(/^[0-9a-f]{40}$/);
    expect(new Set(lock.files.map(({ path }) => path)).size).toBe(lock.files.length);
    for (const { path, url } of lock.files) {
      const { hostname, pathname, protocol } = new URL(url);
      expect(protocol).toBe("https:");
      expect(`${hostname}${pathname}`).toContain(`knative/operator/${lock.commit}/`);
      expect(url.split("/").at(-1)).toBe(path.split("/").at(-1));
    }
  });

  test(
    "lists what the list beside the recorded copies says",
    { tags: ["recordings"] },
    async () => {
      const lock = await readLock(root);
      const ours = lock.files.map(({ path, sha256 }) => `${sha256}  ./${path}`).toSorted();
      expect(ours).toEqual(await linesOf(join(recordingsDir, "manifests", "SHA256SUMS")));
    },
  );
});

async function linesOf(path: string): Promise<readonly string[]> {
  return (await readFile(path, "utf8")).trim().split("\n").toSorted();
}
