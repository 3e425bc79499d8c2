import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test } from "vitest";

import { commandTable } from "../../cmd/kubectl/command-table.ts";
import { buildDist, type DistFolder } from "./dist-folder.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
let dist: DistFolder;
let home: string;
let installed: string;

// What a person does: pack, and install the packed file where there is nothing and no network.
beforeAll(async () => {
  dist = await buildDist();
  home = dist.path("../home");
  await mkdir(join(home, "empty"), { recursive: true });
  await npm("pack", dist.path(""), "--pack-destination", home);
  const { version } = JSON.parse(await readFile(dist.path("package.json"), "utf8"));
  await writeFile(join(home, "empty/package.json"), "{}");
  const file = join(home, `knfleet-${version}.tgz`);
  await npm("install", "--prefix", join(home, "empty"), "--no-audit", "--no-fund", file);
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
  expect(names.filter((name) => !name.startsWith("."))).toEqual(["knfleet"]);
  const manifest = JSON.parse(await readFile(join(installed, "knfleet/package.json"), "utf8"));
  const own = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  expect(manifest).toMatchObject({ license: "Apache-2.0", engines: own.engines, type: "module" });
  for (const field of ["dependencies", "scripts", "private"])
    expect(manifest).not.toHaveProperty(field);
});

test("the package holds the plugin, its schemas and licences, and nothing of the services, of tests and of sources", async () => {
  const folder = join(installed, "knfleet");
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
  const schema = await readFile(join(installed, `knfleet/schemas/v1/${kind}.json`), "utf8");
  expect(JSON.parse(schema)).toMatchObject({ type: "object" });
  const help = await run(plugin, ["--help"], { env: { PATH } });
  for (const { name } of commandTable()) expect(help.stdout).toContain(`\n  ${name} `);
});

test("a Node that is too old is told in one line", async () => {
  const entry = join(installed, "knfleet/kubectl-knfleet.js");
  const preload = `Object.defineProperty(process.versions, "node", { value: "20.19.0" })`;
  const words = [
    "--import",
    `data:text/javascript,${encodeURIComponent(preload)}`,
    entry,
    "status",
  ];
  const said = await run(process.execPath, words, { env: {} }).catch((error: unknown) => error);
  expect(said).toMatchObject({
    code: 2,
    stdout: "",
    stderr: "Error: kubectl knfleet needs Node 24.12 or newer; the `node` on the PATH is 20.19.0\n",
  });
  const { engines } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  expect(engines).toEqual({ node: ">=24.12" });
});
