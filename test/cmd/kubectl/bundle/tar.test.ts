import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { unpackTar, packTar } from "../../../../cmd/kubectl/bundle/tar.ts";

const long = `${"folder/".repeat(20)}${"name".repeat(20)}.json`;
const files = [
  { path: "a/empty.json", text: "" },
  { path: "a/block.json", text: "x".repeat(512) },
  { path: "a/umlaut-ä.json", text: "größer €\n" },
  { path: long, text: "far away" },
  { path: `a/${"n".repeat(200)}.json`, text: "a name longer than ustar can hold" },
];
const then = new Date("2026-11-21T12:00:00Z");

describe("an archive", () => {
  test("holds what was put into it, also behind long paths", async () => {
    expect(await unpackTar(await packTar(files, then))).toEqual(files);
  });

  test("is the same for the same files", async () => {
    expect(await packTar(files, then)).toEqual(await packTar(files, then));
  });

  test("is one that tar reads, and whose files only the owner may read", async () => {
    const folder = mkdtempSync(join(tmpdir(), "knfleet-tar-test-"));
    try {
      writeFileSync(join(folder, "x.tar"), await packTar(files, then));
      execFileSync("tar", ["-xf", "x.tar"], { cwd: folder });
      for (const { path, text } of files)
        expect(readFileSync(join(folder, path), "utf8")).toBe(text);
      const listed = execFileSync("tar", ["-tvf", "x.tar"], { cwd: folder, encoding: "utf8" });
      expect(listed.match(/^-rw------- /gm)).toHaveLength(files.length);
      execFileSync("tar", ["-cf", "y.tar", "a", "folder"], { cwd: folder });
      const packedByTar = await unpackTar(readFileSync(join(folder, "y.tar")));
      expect(new Set(packedByTar)).toEqual(new Set(files));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    { name: "cut", damage: (whole: Buffer) => whole.subarray(0, 1_100) },
    { name: "no tar", damage: () => Buffer.from("x".repeat(1_024)) },
    { name: "changed", damage: (whole: Buffer) => whole.fill("9", 0, 4) },
  ])("that is $name is refused", async ({ damage }) => {
    const archive = damage(await packTar(files, then));
    await expect(unpackTar(archive)).rejects.toThrow(/tar|end of data/);
  });
});
