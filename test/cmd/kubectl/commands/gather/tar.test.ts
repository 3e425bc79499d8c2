import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { filesOfTar, tarOf } from "../../../../../cmd/kubectl/bundle/tar.ts";

const long = `${"folder/".repeat(20)}${"name".repeat(20)}.json`;
const files = [
  { path: "a/empty.json", text: "" },
  { path: "a/block.json", text: "x".repeat(512) },
  { path: "a/umlaut-ä.json", text: "größer €\n" },
  { path: long, text: "far away" },
];
const then = new Date("2026-11-21T12:00:00Z");

describe("an archive", () => {
  test("holds what was put into it, also behind long paths", () => {
    expect(filesOfTar(tarOf(files, then))).toEqual(files);
  });

  test("is one that tar reads, and whose files only the owner may read", () => {
    const folder = mkdtempSync(join(tmpdir(), "knfleet-tar-test-"));
    try {
      writeFileSync(join(folder, "x.tar"), tarOf(files, then));
      execFileSync("tar", ["-xf", "x.tar"], { cwd: folder });
      for (const { path, text } of files)
        expect(readFileSync(join(folder, path), "utf8")).toBe(text);
      const listed = execFileSync("tar", ["-tvf", "x.tar"], { cwd: folder, encoding: "utf8" });
      expect(listed.match(/^-rw------- /gm)).toHaveLength(files.length);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ["cut", tarOf(files, then).subarray(0, 1_100)],
    ["no tar", Buffer.from("x".repeat(1_024))],
    ["changed", Buffer.from(tarOf(files, then)).fill("9", 0, 4)],
  ])("that is %s is refused", (_, archive) => {
    expect(() => filesOfTar(archive)).toThrow(RangeError);
  });

  test("cannot hold a path of more than 255 bytes", () => {
    expect(() => tarOf([{ path: "x".repeat(300), text: "" }], then)).toThrow(
      /cannot hold the path/,
    );
  });
});
