import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { programsOf } from "../../cmd/build/bundle.ts";
import { commandTable } from "../../cmd/kubectl/command-table.ts";
import { distOfRun } from "./bundle-of-run.ts";
import { buildDist, type DistFolder } from "./dist-folder.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
const programs = programsOf(project);
let dist: DistFolder;
let again: DistFolder;

beforeAll(async () => {
  [dist, again] = await Promise.all([buildDist(), distOfRun()]);
  // Of computing alone, which takes long beside other tests.
}, 600_000);
afterAll(() => Promise.all([dist, again].map((one) => one[Symbol.asyncDispose]())));

/** Runs a program of the folder without any environment; where it starts there is nothing of the project. */
function program(name: string, ...args: readonly string[]) {
  return run(process.execPath, [dist.path(`${name}.js`), ...args], { env: {}, cwd: "/" });
}

/**
 * Runs the program of its first argument with `--help` for each command that follows, and writes a form feed before each. A process for each of them takes 15 s of computing. Each run would end
 * the process soon.
 */
const asking = `
  process.exit = () => undefined;
  for (const source of [process, process.stdout, process.stderr]) source.setMaxListeners(0);
  const [node, program, ...commands] = process.argv;
  for (const command of commands) {
    process.stdout.write("\\f");
    process.argv = [node, program, ...command.split(" "), "--help"];
    await import(program + "?" + encodeURIComponent(command));
    if (process.exitCode !== 0) throw new Error(command + " --help has code " + process.exitCode);
  }
`;

describe("the programs of dist/, with an empty environment", () => {
  test("are all that are named as programs", () => {
    expect(programs).toEqual([
      "knfleet-controller",
      "knfleet-uninstall-check",
      "knfleet-webhook",
      "kubectl-knfleet",
    ]);
  });

  test.each(["knfleet-controller", "knfleet-webhook"])("%s says its version", async (name) => {
    const { version } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
    expect(await program(name, "--version")).toEqual({ stdout: `${version}\n`, stderr: "" });
    expect((await program(name, "--help")).stdout).toContain("--release-dir");
  });

  test("knfleet-uninstall-check looks for a cluster", async () => {
    const said = await program("knfleet-uninstall-check").catch((error: unknown) => error);
    expect(said).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Error: .+\n$/) });
  });

  describe("one after the other in one process", () => {
    const commands = commandTable().map(({ name }) => name);
    let helps: ReadonlyMap<string, string>;
    let said: string;
    beforeAll(async () => {
      const words = ["--input-type=module", "--eval", asking, dist.path("kubectl-knfleet.js")];
      const asked = await run(process.execPath, [...words, ...commands], { env: {}, cwd: "/" });
      said = asked.stderr;
      const parts = asked.stdout.split("\f").slice(1);
      helps = new Map(commands.map((name, index) => [name, parts[index] ?? ""]));
    });

    test.each(commands)("kubectl knfleet %s has its help", (name) => {
      expect(said).toBe("");
      expect(helps.get(name)).toContain(`kubectl knfleet ${name}`);
    });
  });

  test("kubectl knfleet explains a reason", async () => {
    const { stdout } = await program("kubectl-knfleet", "explain", "ClusterBusy");
    expect(stdout).toContain("ClusterBusy");
  });

  test("kubectl knfleet keeps what it compiled in the user's cache, and does without one", async () => {
    const start = (cache: string) => {
      const words = [dist.path("kubectl-knfleet.js"), "--help"];
      const env = { XDG_CACHE_HOME: cache };
      return run(process.execPath, words, { env, timeout: 60_000 });
    };
    const cache = dist.path("../cache");
    await start(cache);
    expect(await readdir(join(cache, "knfleet/node"))).toHaveLength(1);
    await writeFile(dist.path("../no-cache"), "");
    // Below /proc nothing can be made, and Node would try for ever.
    for (const wrong of ["/proc/none", "/nonexistent/home", dist.path("../no-cache")]) {
      expect((await start(wrong)).stdout).toContain("kubectl knfleet status");
    }
  });

  test("kubectl knfleet renders a component", async () => {
    const file = dist.path("../eventing.json");
    await writeFile(file, JSON.stringify(eventing));
    const releases = join(project, "test/fixtures/release");
    const flags = ["-f", file, "--release-dir", releases];
    const { stdout } = await program("kubectl-knfleet", "render", ...flags);
    expect(stdout).toContain("kind: Deployment");
  });

  test("kubectl knfleet finds the list of releases, and says what its mirror lacks", async () => {
    const file = dist.path("../eventing.json");
    await writeFile(file, JSON.stringify(eventing));
    await writeFile(dist.path("../no-folder"), "");
    const env = { KNFLEET_CACHE_DIR: dist.path("../no-folder"), KNFLEET_RELEASE_MIRROR: "/" };
    const words = [dist.path("kubectl-knfleet.js"), "render", "-f", file];
    const said = await run(process.execPath, words, { env }).catch((error: unknown) => error);
    expect(said).toMatchObject({
      stderr: expect.stringContaining("cannot be copied: /LICENSE cannot be read"),
    });
  });

  test("the thread of the webhook reads a provider file", async () => {
    const users = await readdir(dist.path("chunks")).then((names) =>
      Promise.all(names.map((name) => readFile(dist.path(`chunks/${name}`), "utf8"))),
    );
    const address = 'new URL("provider-worker.js", import.meta.url)';
    expect(users.filter((code) => code.includes(address))).toHaveLength(1);
    const source = { text: '{"providers":[]}', format: "json" };
    const worker = new Worker(dist.path("chunks/provider-worker.js"), {
      workerData: { source, roots: [] },
    });
    expect(await once(worker, "message")).toMatchObject([{ problems: expect.any(Array) }]);
  });
});

describe("dist/", () => {
  test("is the same, byte by byte, when it is built once more", async () => {
    const names = await filesIn(dist.path(""));
    expect(await filesIn(again.path(""))).toEqual(names);
    const differing = [];
    for (const name of names) {
      const [one, other] = await Promise.all([
        readFile(dist.path(name)),
        readFile(again.path(name)),
      ]);
      if (!one.equals(other)) differing.push(name);
    }
    expect(differing).toEqual([]);
  });

  test("has executable programs, and names and lines that a stack can point to", async () => {
    for (const name of programs) {
      const file = dist.path(`${name}.js`);
      expect((await stat(file)).mode & 0o777).toBe(0o755);
      expect((await readFile(file, "utf8")).split("\n")[0]).toBe("#!/usr/bin/env node");
    }
    const names = await readdir(dist.path("chunks"));
    const [cli = ""] = names.filter((name) => name.startsWith("run-plugin-"));
    expect(await readFile(dist.path(`chunks/${cli}`), "utf8")).toMatch(
      /^function runPlugin\(\) \{$/m,
    );
  });

  test("takes the place of an earlier one, and of nothing else", async () => {
    const folder = dist.path("../somebody");
    await mkdir(folder);
    await writeFile(join(folder, "letter"), "dear");
    const script = join(project, "cmd/build/build.ts");
    const attempt = run(process.execPath, [script, "--output", folder]);
    await expect(attempt).rejects.toMatchObject({
      code: 1,
      stderr: `Error: ${folder} holds something else and is left alone\n`,
    });
    expect(await readdir(folder)).toEqual(["letter"]);
  });

  test("names the licence of every package that is in it", async () => {
    const text = await readFile(dist.path("THIRD-PARTY-LICENSES.txt"), "utf8");
    expect(text).toMatch(/^undici [\d.]+: MIT$/m);
    expect(text).toMatch(/^@kubernetes\/client-node [\d.]+: Apache-2\.0$/m);
    expect(text).toContain("Permission is hereby granted");
    expect(text).not.toContain("vitest");
  });
});

const eventing = {
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeEventing",
  metadata: { name: "knative-eventing", namespace: "knative-eventing" },
  spec: {},
};

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .toSorted();
}
