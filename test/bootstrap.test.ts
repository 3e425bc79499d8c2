import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { valueAt } from "./fleet/json-record.ts";
import { ended } from "./support/ended.ts";

const root = resolve(import.meta.dirname, "..");

describe("the bootstrap", () => {
  let folder: string;
  let project: string;

  // A project with the real bootstrap, and an npm that takes no time and counts its runs.
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "knfleet bootstrap "));
    project = join(folder, "a project");
    await mkdir(join(project, "test", "fleet"), { recursive: true });
    await mkdir(join(folder, "bin"));
    await symlink(process.execPath, join(folder, "bin", "node"));
    await copyFile(join(root, "bootstrap.js"), join(project, "bootstrap.js"));
    await put("package.json", JSON.stringify({ type: "module" }));
    await put("package-lock.json", lockOf("1.0.0"));
    await put("words.js", "console.log(JSON.stringify(process.argv.slice(2)));");
    await fakeNpm(`
      mkdir -p node_modules/.bin node_modules/vitest
      ln -s "${process.execPath}" node_modules/.bin/node
      echo 'console.log("vitest", ...process.argv.slice(2));' > node_modules/vitest/vitest.mjs
      echo "noise of npm"
    `);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  test("installs when node_modules is missing or the lock file changed, and else not", async () => {
    await bootstrap(["run", "words.js"]);
    expect(await npmRuns()).toBe(1);
    await bootstrap(["run", "words.js"]);
    expect(await npmRuns()).toBe(1);
    await put("package-lock.json", lockOf("2.0.0"));
    await rm(join(project, "node_modules"), { recursive: true });
    await bootstrap(["install"]);
    expect(await npmRuns()).toBe(2);
    await put("package-lock.json", lockOf("3.0.0"));
    await rm(join(project, "node_modules", ".bin"), { recursive: true });
    await bootstrap(["install"]);
    expect(await npmRuns()).toBe(3);
  });

  test("leaves alone what somebody installed by hand from the same lock file", async () => {
    await bootstrap(["install"]);
    await rm(join(project, "node_modules", ".knfleet-installed"));
    await put(join("node_modules", ".package-lock.json"), lockOf("1.0.0"));
    expect(await bootstrap(["run", "words.js", "a b"])).toMatchObject({
      code: 0,
      stdout: '["a b"]\n',
    });
    expect(await npmRuns()).toBe(1);
  });

  test("says that it installs and how long it took, without npm's own words", async () => {
    const { stderr } = await bootstrap(["install"]);
    expect(stderr).toMatch(/^Installing dependencies \(npm ci\)\nInstalled dependencies, \d+ s\n$/);
  });

  test("shows npm's own words when npm fails", async () => {
    await fakeNpm("echo something broke >&2; exit 9");
    const { code, stderr } = await bootstrap(["run", "words.js"]);
    expect(code).toBe(1);
    expect(stderr).toContain("`npm ci` failed with exit code 9:\nsomething broke");
  });

  test("says what to do when npm is missing", async () => {
    await rm(join(folder, "bin", "npm"));
    const { code, stderr } = await bootstrap(["install"]);
    expect(code).toBe(1);
    expect(stderr).toContain("Error: npm is missing: install Node 20 or newer");
  });

  // What npm does with the .npmrc of the project: no package runs a script of its own.
  const withoutScripts = `
    if [ "$1" = ci ]; then mkdir -p node_modules/.bin; echo '${lockOf("1.0.0")}' > node_modules/.package-lock.json; fi
    if [ "$1" = rebuild ]; then ln -s "${process.execPath}" node_modules/.bin/node; fi
    echo "$1 $2 $3 $4" >> npm-words`;

  test("lets the package of Node alone run its script", async () => {
    await fakeNpm(withoutScripts);
    expect(await bootstrap(["run", "words.js", "a"])).toMatchObject({
      code: 0,
      stdout: '["a"]\n',
      stderr: expect.stringMatching(
        /^Installing dependencies \(npm ci\)\nInstalled dependencies, \d+ s\n$/,
      ),
    });
    const words = await readFile(join(project, "npm-words"), "utf8");
    expect(words).toMatch(/^ci .*\nrebuild node --ignore-scripts=false --loglevel=error\n$/);
  });

  test("brings Node where somebody installed all others by hand", async () => {
    await fakeNpm(withoutScripts);
    await ended(spawn(join(folder, "bin", "npm"), ["ci"], { cwd: project }));
    expect(await bootstrap(["run", "words.js", "a"])).toMatchObject({ code: 0 });
    const words = await readFile(join(project, "npm-words"), "utf8");
    expect(words).toBe("ci   \nrebuild node --ignore-scripts=false --loglevel=error\n");
  });

  test("says so when the package of Node brings none", async () => {
    await fakeNpm("mkdir -p node_modules; echo not for this machine");
    const { code, stderr } = await bootstrap(["install"]);
    expect(code).toBe(1);
    expect(stderr).toContain("Node 24 was not installed");
    expect(stderr).toContain("not for this machine");
  });

  test.each([{ args: [] }, { args: ["dance"] }, { args: ["run"] }])(
    "refuses the arguments $args before it installs anything",
    async ({ args }) => {
      const { code, stderr } = await bootstrap(args);
      expect(code).toBe(1);
      expect(stderr).toContain("Usage: node bootstrap.js COMMAND");
      expect(await npmRuns()).toBe(0);
    },
  );

  test("gives the exit code of what it runs, and 128 + n when a signal ended that", async () => {
    await put("seven.js", "process.exitCode = 7;");
    await put("killed.js", 'process.kill(process.pid, "SIGKILL");');
    expect(await bootstrap(["run", "seven.js"])).toMatchObject({ code: 7 });
    expect(await bootstrap(["run", "killed.js"])).toMatchObject({ code: 137 });
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("passes %s on", async (signal) => {
    await put(
      "wait.js",
      `process.on("${signal}", () => process.exit(42));
       console.log("ready");
       setTimeout(() => undefined, 60_000);`,
    );
    const child = start(["run", "wait.js"]);
    const end = ended(child);
    if (child.stdout !== null) await once(child.stdout, "data");
    child.kill(signal);
    expect(await end).toMatchObject({ code: 42 });
  });

  test("runs the tests without a fleet while its programs are built, and the others afterwards", async () => {
    await bootstrap(["install"]);
    await put(
      join("test", "fleet", "prepare.ts"),
      `import { existsSync } from "node:fs";
       import { setTimeout } from "node:timers/promises";
       console.log("building");
       while (!existsSync("unit")) await setTimeout(20);
       console.log("built");`,
    );
    const vitest = `import { writeFileSync } from "node:fs";
      console.log("vitest", ...process.argv.slice(2), process.env.KNFLEET_TESTS_FOLLOW ?? "");
      if (process.argv.includes("unit")) writeFileSync("unit", "");`;
    await put(join("node_modules", "vitest", "vitest.mjs"), vitest);
    const { code, stdout, stderr } = await bootstrap(["test"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "vitest run --project unit 1\nvitest run --project !unit \n",
      stderr: "The tests without a fleet run while its programs are built\nbuilding\nbuilt\n",
    });
  });

  test("says after the tests without a fleet that its programs could not be built, and ends", async () => {
    const prepare = 'console.log("building\\nError: no compiler"); process.exitCode = 3;';
    await put(join("test", "fleet", "prepare.ts"), prepare);
    const { code, stdout, stderr } = await bootstrap(["test"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "vitest run --project unit\n" });
    expect(stderr.split("\n").slice(-2)).toEqual([
      "The tests that need the programs of the fleet did not run: no compiler",
      "",
    ]);
  });

  test("runs the tests on a fleet, too, when one without failed, and fails", async () => {
    await bootstrap(["install"]);
    const vitest = `console.log("vitest", ...process.argv.slice(2));
      process.exitCode = process.argv.includes("unit") ? 1 : 0;`;
    await put(join("node_modules", "vitest", "vitest.mjs"), vitest);
    expect(await bootstrap(["test"])).toMatchObject({
      code: 1,
      stdout: "vitest run --project unit\nvitest run --project !unit\n",
    });
  });

  test("says to the tests why there are no release files, and runs them", async () => {
    await mkdir(join(project, "cmd"));
    await put(join("cmd", "releases.ts"), 'console.error("Error: no way"); process.exitCode = 1;');
    const tell = 'console.log(process.env.KNFLEET_RELEASES_PROBLEM ?? "no problem");';
    await bootstrap(["install"]);
    await put(join("node_modules", "vitest", "vitest.mjs"), tell);
    expect(await bootstrap(["test", "a"])).toMatchObject({ code: 0, stdout: "no way\n" });
    expect((await bootstrap(["test"])).stderr).toContain("Error: no way\n");
    await put(join("cmd", "releases.ts"), "");
    expect(await bootstrap(["test"])).toMatchObject({
      code: 0,
      stdout: "no problem\nno problem\n",
    });
  });

  test("leaves the preparation to named tests, which may not need a fleet", async () => {
    await put(join("test", "fleet", "prepare.ts"), "process.exitCode = 3;");
    expect(await bootstrap(["test", "test/api"])).toMatchObject({
      code: 0,
      stdout: "vitest run test/api\n",
    });
  });

  function start(args: readonly string[]): ChildProcess {
    const PATH = join(folder, "bin");
    return spawn("node", [join(project, "bootstrap.js"), ...args], { cwd: project, env: { PATH } });
  }

  const bootstrap = (args: readonly string[]) => ended(start(args));

  const put = (file: string, content: string) => writeFile(join(project, file), content);

  async function fakeNpm(body: string): Promise<void> {
    const file = join(folder, "bin", "npm");
    const count = `echo run >> "${join(folder, "npm-runs")}"`;
    await writeFile(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${count}\n${body}\n`);
    await chmod(file, 0o755);
  }

  async function npmRuns(): Promise<number> {
    const runs = await readFile(join(folder, "npm-runs"), "utf8").catch(() => "");
    return runs.split("\n").length - 1;
  }
});

// `npm ci` refuses a lock file that lacks them, and npm leaves them out when the registry does not have them at hand.
test("the lock file names the optional packages of every platform", async () => {
  const lock: unknown = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const packages = new Map(Object.entries(recordOf(valueAt(lock, "packages"))));
  const missing = [...packages].flatMap(([path, entry]) =>
    Object.keys(recordOf(valueAt(entry, "optionalDependencies"))).filter(
      (name) => !reachable(path, name).some((place) => packages.has(place)),
    ),
  );
  expect(missing).toEqual([]);
});

function lockOf(version: string): string {
  return JSON.stringify({
    packages: {
      "": {},
      "node_modules/a": { version },
      "node_modules/elsewhere": { version, optional: true },
    },
  });
}

/** Where Node would look for a package from another one, innermost first. */
function reachable(path: string, name: string): readonly string[] {
  const parts = path.split("/node_modules/");
  const folders = parts.map((_, index) => parts.slice(0, index + 1).join("/node_modules/"));
  return ["", ...folders.map((folder) => `${folder}/`)].map(
    (base) => `${base}node_modules/${name}`,
  );
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
