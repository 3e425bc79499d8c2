// @module-tag release-files
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test } from "vitest";

import { releaseDir } from "../e2e/release-dir.ts";
import { commandsOf, notRun } from "./page-commands.ts";

const root = resolve(import.meta.dirname, "../..");
const page = "docs/airgap.md";
const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-airgap-"));
  for (const name of ["bootstrap.js", "cmd", "package.json", "releases.lock.json"]) {
    await symlink(join(root, name), join(folder, name));
  }
});

afterAll(() => rm(folder, { recursive: true }));

// The commands that pages.fleet.test.ts cannot type, because they need all files of the lock.
test("docs/airgap.md fills a folder and verifies it, and the programs use it", async () => {
  const begins = notRun.filter((one) => one.page === page).map((one) => one.begins);
  const commands = commandsOf(page)
    .map(({ text }) => text)
    .filter((text) => begins.some((begin) => text.startsWith(begin)));
  expect(commands).toHaveLength(3);
  const plugin = `${process.execPath} cmd/kubectl-knfleet.ts`;
  const { stdout } = await type([...commands, `${plugin} version --client`].join("\n"));
  expect(stdout.match(/Release files are complete and verified/g)).toHaveLength(2);
  expect(stdout).toMatch(/Release Files: \S+\/releases \(Serving 1\.23\.0, /);
}, 120_000);

/** Types commands where the addresses of the lock file are in a folder of this machine. */
async function type(commands: string): Promise<{ readonly stdout: string }> {
  const env = { ...process.env, KNFLEET_RELEASE_MIRROR: await releaseDir() };
  return run("sh", ["-euc", commands], { cwd: folder, env });
}
