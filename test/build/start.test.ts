import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { packagesIn } from "../../cmd/build/build.ts";
import { type BundledFile, filesFrom } from "../../cmd/build/bundle.ts";
import { pagePath } from "../../cmd/build/ui-page.ts";
import { isRecord } from "../fleet/json-record.ts";
import { bundleOfRun } from "./bundle-of-run.ts";

let files: readonly BundledFile[];
let folder: string;

beforeAll(async () => {
  files = await bundleOfRun();
  folder = await mkdtemp(join(tmpdir(), "knfleet-start-"));
  await mkdir(join(folder, "chunks"));
  for (const { name, code } of files) await writeFile(join(folder, name), code);
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// Tells on descriptor 3 which files and modules of Node were asked for.
const spy = `
import { registerHooks } from "node:module";
import { writeSync } from "node:fs";
const loaded = [];
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
process.on("exit", () => writeSync(3, JSON.stringify(loaded)));
`;

interface Start {
  readonly files: readonly BundledFile[];
  readonly builtins: readonly string[];
  readonly bytes: number;
}

/** What a command line really loads. */
async function startOf(...args: readonly string[]): Promise<Start> {
  const out = join(folder, "loaded.json");
  const preload = `--import=data:text/javascript,${encodeURIComponent(spy)}`;
  const words = [process.execPath, preload, join(folder, "kubectl-knfleet.js"), ...args];
  const env = { KUBECONFIG: join(folder, "no-kubeconfig"), OUT: out };
  const shell = ["-c", 'exec "$@" 3>"$OUT"', "sh", ...words];
  await promisify(execFile)("sh", shell, { env }).catch((error: unknown) => {
    // A hub is not needed to load what asks it.
    if (!isRecord(error) || error["code"] !== 2) throw error;
  });
  const urls: unknown = JSON.parse(await readFile(out, "utf8"));
  const loaded = Array.isArray(urls) ? urls.map(String) : [];
  const own = loaded
    .filter((url) => url.startsWith("file:"))
    .map((url) => fileURLToPath(url))
    .map((path) =>
      basename(dirname(path)) === "chunks" ? `chunks/${basename(path)}` : basename(path),
    );
  const found = files.filter(({ name }) => own.includes(name));
  return {
    files: found,
    builtins: loaded.filter((url) => url.startsWith("node:")).map((url) => url.slice(5)),
    bytes: bytesOf(found),
  };
}

const names = (found: readonly BundledFile[]) =>
  packagesIn(found).map((path) => path.replace(/^.*node_modules\//, ""));

const bytesOf = (found: readonly BundledFile[]) =>
  found.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0);

describe("what is loaded to start", () => {
  // Each of them is dear, and none is needed to print a text.
  const dear = [
    "crypto",
    "http",
    "http2",
    "https",
    "inspector",
    "net",
    "tls",
    "worker_threads",
    "zlib",
  ];

  test.each([["--help"], ["status", "--help"], []])(
    "kubectl knfleet %s: no package but commander, no network",
    async (...args) => {
      const { files: found, builtins, bytes } = await startOf(...args);
      expect(names(found).filter((name) => name !== "picocolors")).toEqual(["commander"]);
      expect(builtins.filter((name) => dear.includes(name))).toEqual([]);
      expect(bytes).toBeLessThan(200_000);
    },
  );

  test("completion of a flag: no package but commander, no network", async () => {
    const { files: found, builtins } = await startOf("__complete", "status", "--no-");
    expect(names(found)).toEqual(["commander"]);
    expect(builtins.filter((name) => dear.includes(name))).toEqual([]);
  });

  test("status of the hub: no validation, and no questions", async () => {
    const { files: found, builtins, bytes } = await startOf("status", "--no-live");
    expect(builtins).not.toContain("readline/promises");
    // What counts and cuts the columns of its table is small.
    const ofTables =
      /^(?:ansi-|cli-truncate|get-east|is-fullwidth|slice-|string-width|strip-|wrap-)/;
    expect(names(found).filter((name) => !ofTables.test(name))).toEqual([
      "commander",
      "picocolors",
      "undici",
      "yaml",
    ]);
    expect(bytes).toBeLessThan(1_870_000);
  });
});

describe("what the plugin can reach at all", () => {
  test("is no server, nothing that signs certificates and nothing for development", () => {
    const reachable = names(filesFrom(files, "kubectl-knfleet.js", { lazy: true }));
    const wrong = ["express", "prom-client", "@peculiar/x509", "rolldown"];
    expect(reachable.filter((name) => wrong.includes(name))).toEqual([]);
    expect(reachable.length).toBeGreaterThan(3);
  });

  test("has script and style of the page as text, and does not make them", () => {
    const page = files.filter(({ modules }) => modules.includes(pagePath));
    expect(page.length).toBeGreaterThan(0);
    expect(page.map(({ code }) => code).join("")).toContain("prefers-color-scheme");
    expect(files.flatMap(({ modules }) => modules)).not.toContain("cmd/build/ui-page.ts");
  });

  test("every lazy import leads to a file of the bundle or to Node", () => {
    const known = new Set(files.map(({ name }) => name));
    const lost = files.flatMap(({ name, imports, lazyImports }) =>
      [...imports, ...lazyImports].filter((one) => !known.has(one)).map((one) => `${name}: ${one}`),
    );
    expect(lost).toEqual([]);
  });

  test.each([
    ["ink", "top/run-screen.ts", "top/top.ts"],
    ["@modelcontextprotocol/sdk", "mcp/mcp.ts", "mcp/command.ts"],
  ])("has %s in one file, which one command alone loads", (part, last, command) => {
    const own = files.filter((file) => names([file]).some((name) => name === part));
    expect(own.map(({ modules }) => modules.at(-1))).toEqual([`cmd/kubectl/commands/${last}`]);
    const [only] = own.map(({ name }) => name);
    const users = files.filter(({ imports, lazyImports }) =>
      [...imports, ...lazyImports].some((name) => name === only),
    );
    expect(users.flatMap(({ modules }) => modules)).toContain(`cmd/kubectl/commands/${command}`);
    expect(users).toHaveLength(1);
    expect(users.flatMap(({ imports }) => imports)).not.toContain(only);
  });

  test("is small", () => {
    const reachable = filesFrom(files, "kubectl-knfleet.js", { lazy: true });
    const bytesWith = (part: string): number =>
      bytesOf(reachable.filter((file) => names([file]).includes(part)));
    const [screen, protocol] = ["ink", "@modelcontextprotocol/sdk"].map(bytesWith);
    expect(screen).toBeLessThan(900_000);
    expect(protocol).toBeLessThan(350_000);
    expect(bytesOf(reachable) - (screen ?? 0) - (protocol ?? 0)).toBeLessThan(4_870_000);
    expect(bytesOf(files)).toBeLessThan(8_200_000);
  });
});
