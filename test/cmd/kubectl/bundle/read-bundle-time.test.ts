import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, expect, test } from "vitest";

import { packTar } from "../../../../cmd/kubectl/bundle/tar.ts";
import { runText } from "../run-text.ts";

let folder: string;
let large: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-bundle-"));
  large = join(folder, "large.tgz");
  const text = `"${"x".repeat(20_000_000)}"`;
  const archive = await packTar([{ path: "bundle/bundle.json", text }], new Date(0));
  await writeFile(large, gzipSync(archive, { level: 1 }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each([
  ["status", "-A"],
  ["ui", "--no-open"],
])("--timeout ends the reading of a bundle by %s %s", async (...words) => {
  const { stdout, stderr, exitCode } = await runText([
    ...words,
    "--bundle",
    large,
    "--timeout",
    "1ms",
  ]);
  expect(stderr).toContain(`The bundle ${large} was not read in time`);
  expect(stderr).toContain("Give it more time with --timeout");
  expect(stdout).toBe("");
  expect(exitCode).toBe(2);
});

test("without it the file is read to its end", async () => {
  const { stderr } = await runText(["status", "-A", "--bundle", large]);
  expect(stderr).toContain(`${large} is no bundle of kubectl knfleet gather`);
});
