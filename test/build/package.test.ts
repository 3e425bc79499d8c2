import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";

import { commandTable } from "../../cmd/kubectl/command-table.ts";
import { exitCodes } from "../../cmd/kubectl/errors.ts";
import { createProgram } from "../../cmd/kubectl/program.ts";
import { valueAt } from "../fleet/json-record.ts";
import { distOfRun } from "./bundle-of-run.ts";
import type { DistFolder } from "./dist-folder.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
let dist: DistFolder;
let home: string;
let archive: string;
let installed: string;

// What a person does: pack, and install the packed file where there is nothing and no network.
beforeAll(async () => {
  dist = await distOfRun();
  home = dist.path("../home");
  await mkdir(join(home, "empty"), { recursive: true });
  await npm("pack", dist.path(""), "--pack-destination", home);
  const { version } = JSON.parse(await readFile(dist.path("package.json"), "utf8"));
  await writeFile(join(home, "empty/package.json"), "{}");
  archive = join(home, `kubectl-knfleet-${version}.tgz`);
  await npm("install", "--prefix", join(home, "empty"), "--no-audit", "--no-fund", archive);
  installed = join(home, "empty/node_modules");
});
afterAll(() => dist[Symbol.asyncDispose]());

async function npm(...args: readonly string[]): Promise<string> {
  const { PATH = "" } = process.env;
  const env = { PATH, HOME: home, npm_config_offline: "true", npm_config_update_notifier: "false" };
  return (await run("npm", args, { env, cwd: home })).stdout;
}

test("the package needs no other one", async () => {
  const names = await readdir(installed);
  expect(names.filter((name) => !name.startsWith("."))).toEqual(["kubectl-knfleet"]);
  const manifest = JSON.parse(
    await readFile(join(installed, "kubectl-knfleet/package.json"), "utf8"),
  );
  const own = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  expect(manifest).toMatchObject({ license: "Apache-2.0", engines: own.engines, type: "module" });
  for (const field of ["dependencies", "scripts", "private"])
    expect(manifest).not.toHaveProperty(field);
});

test("the package holds the plugin, its schemas and licences, and nothing of the services, of tests and of sources", async () => {
  const folder = join(installed, "kubectl-knfleet");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  const others = files.filter(
    (file) => !/^(?:chunks\/[\w-]+\.js|schemas\/v1\/\w+\.json)$/.test(file),
  );
  expect(others.toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "THIRD-PARTY-LICENSES.txt",
    "k9s-plugins.yaml",
    "kubectl-knfleet.js",
    "package.json",
    "releases.lock.json",
  ]);
  expect(files.filter((file) => /(?:controller|webhook)-service/.test(file))).toEqual([]);
  const schemas = await readdir(join(project, "docs/schemas/v1"));
  expect((await readdir(join(folder, "schemas/v1"))).toSorted()).toEqual(schemas.toSorted());
});

test("the installed plugin runs by its name, and the documents it prints have their schema beside it", async () => {
  const { PATH = "" } = process.env;
  const plugin = join(installed, ".bin/kubectl-knfleet");
  const { stdout } = await run(plugin, ["explain", "ClusterBusy", "-o", "json"], { env: { PATH } });
  const { kind } = JSON.parse(stdout);
  const schema = await readFile(join(installed, `kubectl-knfleet/schemas/v1/${kind}.json`), "utf8");
  expect(JSON.parse(schema)).toMatchObject({ type: "object" });
  const help = await run(plugin, ["--help"], { env: { PATH } });
  for (const { name } of commandTable()) {
    expect(help.stdout).toContain(`\n  ${name.split(" ")[0] ?? ""} `);
  }
});

test("a Node that is too old is told in one line", async () => {
  expect(await underOldNode(join(installed, "kubectl-knfleet/kubectl-knfleet.js"))).toMatchObject({
    code: 2,
    stdout: "",
    stderr: tooOld,
  });
  const { engines } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  expect(engines).toEqual({ node: ">=24.12" });
});

test("in a checkout an old Node is told which one to take", async () => {
  const checkout = join(home, "Ann's checkout");
  await mkdir(join(checkout, "node_modules/.bin"), { recursive: true });
  await symlink(process.execPath, join(checkout, "node_modules/.bin/node"));
  await cp(dist.path(""), join(checkout, "dist"), { recursive: true });
  const entry = join(checkout, "dist/kubectl-knfleet.js");
  const said = await underOldNode(entry);
  expect(said).toMatchObject({ code: 2, stdout: "" });
  const [, , hint = ""] = String(valueAt(said, "stderr")).split("\n");
  expect(valueAt(said, "stderr")).toBe(
    `${tooOld}The checkout has a newer one. Put it first, and run the command again:\n${hint}\n`,
  );
  // The line is a command that can be pasted.
  const env = { PATH: "/usr/bin:/bin", HOME: home };
  const { stdout } = await run("sh", ["-c", `${hint}; exec "$0" version --client`, entry], { env });
  expect(stdout).toMatch(/^Client Version: /u);
});

const tooOld =
  "Error: kubectl knfleet needs Node 24.12 or newer; the `node` on the PATH is 20.19.0\n";

/** What the plugin says under a Node that calls itself 20.19.0. */
async function underOldNode(entry: string): Promise<unknown> {
  const preload = `Object.defineProperty(process.versions, "node", { value: "20.19.0" })`;
  const url = `data:text/javascript,${encodeURIComponent(preload)}`;
  const words = ["--import", url, entry, "status"];
  return run(process.execPath, words, { env: {} }).catch((error: unknown) => error);
}

test("every plugin for k9s is a command line that kubectl knfleet takes, and their keys do not meet", async () => {
  const text = await readFile(join(project, "docs/k9s-plugins.yaml"), "utf8");
  const plugins = Object.values(JSON.parse(JSON.stringify(valueAt(parse(text), "plugins"))));
  const keys = plugins.flatMap((plugin) =>
    listAt(plugin, "scopes").map(
      (scope) => `${String(scope)} ${String(valueAt(plugin, "shortCut"))}`,
    ),
  );
  expect(new Set(keys).size).toBe(keys.length);
  const values = {
    RESOURCE_NAME: "knativeservings",
    NAMESPACE: "team-a",
    NAME: "knative-serving",
    CONTEXT: "hub",
  };
  const lines = plugins.map((plugin) => {
    const words = [valueAt(plugin, "command"), ...listAt(plugin, "args")].map(String);
    const filled = words
      .join(" ")
      .replaceAll(/\$([A-Z_]+)/g, (_, name: string) => String(valueAt(values, name)));
    const [, line = ""] = /kubectl knfleet (.*?)(?: 2>&1 \| less -RK)?$/.exec(filled) ?? [];
    return line.replaceAll("'", "").split(" ");
  });
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) expect([line, await chosenBy(line)]).toEqual([line, line[0]]);
});

/** The command that a command line chooses; throws when it has a flag that there is not. */
async function chosenBy(words: readonly string[]): Promise<string | undefined> {
  let chosen: string | undefined;
  const { env, stdout, stderr } = process;
  const terminal = { args: words, env, stdout, stderr, now: () => new Date() };
  const program = createProgram(terminal, async (entry) => {
    chosen = entry.name;
    return Promise.resolve(exitCodes.fine);
  });
  await program.parseAsync([...words], { from: "user" });
  return chosen;
}

function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}
