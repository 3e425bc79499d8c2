import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { commandsOf } from "./charts/page-commands.ts";
import { ensureBinaries } from "./fleet/binaries.ts";
import { assetVariable } from "./fleet/binary-cache.ts";
import { valueAt } from "./fleet/json-record.ts";
import { ended, type Ended } from "./support/ended.ts";

const root = resolve(import.meta.dirname, "..");
const pathOfUser = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

describe("the bootstrap in a clean clone", () => {
  let folder: string;
  let clone: string;
  let first: Ended;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "knfleet bootstrap "));
    clone = join(folder, "a clean clone");
    const cloned = await ended(spawn("git", ["clone", "--quiet", root, clone]));
    if (cloned.code !== 0) throw new Error(`git clone failed: ${cloned.stderr}`);
    await writeFile(join(clone, "hello.ts"), hello);
    // Nobody listens there: a test downloads nothing from elsewhere.
    const lock = join(clone, "releases.lock.json");
    const text = await readFile(lock, "utf8");
    await writeFile(lock, text.replaceAll(/("url": "https:\/\/)[^/"]+/g, "$1127.0.0.1:9"));
    first = await ended(inClone(["run", "hello.ts", "two words", "*"]));
  }, 600_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("installs with an empty npm cache and runs a file under Node 24", () => {
    expect(first.stderr).toMatch(/^Installing dependencies/);
    const told: unknown = JSON.parse(first.stdout);
    expect(told).toMatchObject({ words: ["two words", "*"], one: 1 });
    expect(valueAt(told, "version")).toMatch(/^v24\./);
    expect(first.code).toBe(7);
  });

  test("installs only once", async () => {
    expect(await ended(inClone(["run", "hello.ts"]))).toMatchObject({ code: 7, stderr: "" });
  });

  // The line that downloads Knative's files is typed by charts/airgap.test.ts. Here the folder is there already, as behind a network without them.
  test("builds the programs and finds them by the lines of the README", async () => {
    const [block] = commandsOf("README.md").filter((one) => one.text.startsWith("npm run build"));
    const download = "npm run releases -- --release-dir releases\n";
    expect(block?.heading).toBe("From a checkout");
    expect(block?.text).toContain(download);
    await symlink(join("test", "fixtures", "release"), join(clone, "releases"));
    const lines = `${block?.text.replace(download, "")}\nkubectl-knfleet version --client`;
    const { code, stdout, stderr } = await ended(
      spawn("sh", ["-euc", lines], { cwd: clone, env: environmentOfUser() }),
    );
    expect(stderr).toBe("");
    expect(stdout).toMatch(/Release Files: .+\/releases \(Serving 1\.23\./);
    expect(code).toBe(0);
  });

  // More than 15 s: it builds programs of a control plane, and starts one. Those of Kubernetes itself, which take a minute to link, are given.
  test("builds what a test needs of the fleet into an empty cache, and passes a test on real control planes without release files", async () => {
    const given = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;
    const binary = await ensureBinaries(given);
    const named = Object.fromEntries(given.map((name) => [assetVariable(name), binary(name)]));
    const { code, stdout, stderr } = await ended(
      inClone(["test", "test/render/patches/merge-schema.fleet.test.ts"], named),
    );
    expect(stderr).toMatch(/building .*etcd/i);
    expect(stdout).toMatch(/^1 passed, 0 failed/m);
    expect(code).toBe(0);
  }, 1_500_000);

  /** Runs the clone's bootstrap as somebody would who was never here. */
  function inClone(
    args: readonly string[],
    named: Readonly<Record<string, string>> = {},
  ): ChildProcess {
    const options = { cwd: clone, env: { ...environmentOfUser(), ...named } };
    return spawn("node", [join(clone, "bootstrap.js"), ...args], options);
  }

  /** With the Node of this machine, and nothing of knfleet. */
  function environmentOfUser(): NodeJS.ProcessEnv {
    // Left by the npm that runs these tests; it would be asked to install, and in another folder.
    const { npm_execpath: _path, npm_config_local_prefix: _prefix, ...environment } = process.env;
    return {
      ...environment,
      PATH: pathOfUser,
      npm_config_cache: join(folder, "npm cache"),
      KNFLEET_CACHE_DIR: join(folder, "knfleet cache"),
      KNFLEET_RELEASE_DIR: "",
      KNFLEET_RELEASE_MIRROR: "",
    };
  }
});

const hello = `
import { parse } from "yaml";
const [, , ...words]: readonly string[] = process.argv;
console.log(JSON.stringify({ version: process.version, words, one: parse("1") }));
process.exitCode = 7;
`;
