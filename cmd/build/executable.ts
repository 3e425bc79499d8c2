import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";

import { lockName } from "../release-lock.ts";
import { licensesOf, packagesIn, pluginProgram } from "./build.ts";
import { bundleWhole } from "./bundle.ts";
import { runProgram } from "./run-program.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");

/** The Node that is put in. Its --build-sea takes ES modules; the Node of the project cannot do that. */
const nodeVersion = "26.10.0";

/** What npm says of the packages with this Node, by platform. macOS has none. */
const nodePackages: Readonly<Record<string, string>> = {
  "linux-x64":
    "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  "linux-arm64":
    "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
};

const usage = `Usage: npm run executable -- [--node FILE] [--output DIR]

Makes kubectl-knfleet one executable for this platform, which needs no Node on the machine, and puts the licences beside it.

  --node FILE    Node to put in, ${nodeVersion} or newer (default: ${nodeVersion}, from its npm package; Linux only)
  --output DIR   default: dist-executable
  --help
`;

interface Sources {
  /** Program file of Node. */
  readonly node: string;
  /** Its licence. */
  readonly license: string;
}

async function buildExecutable(folder: string, { node, license }: Sources): Promise<void> {
  const bundled = await bundleWhole(project, pluginProgram);
  await using work = await workFolder();
  const main = join(work.path, "main.mjs");
  await writeFile(main, bundled.code);
  const executable = join(folder, pluginProgram);
  await mkdir(folder, { recursive: true });
  const config = {
    main,
    mainFormat: "module",
    output: executable,
    assets: { [lockName]: join(project, lockName) },
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS of the user are for other programs.
    execArgvExtension: "none",
  };
  const configFile = join(work.path, "config.json");
  await writeFile(configFile, JSON.stringify(config));
  await run(node, ["--build-sea", configFile]);
  await copyFile(join(project, "LICENSE"), join(folder, "LICENSE"));
  const texts = [licensesOf(project, packagesIn([bundled])), await readFile(license, "utf8")];
  await writeFile(join(folder, "THIRD-PARTY-LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
  const { size } = await stat(executable);
  process.stdout.write(`${executable}: ${(size / 1e6).toFixed(0)} MB\n`);
}

async function workFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "knfleet-executable-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The Node of the npm package for this platform, from the cache when it is there. Throws without one, and for another content. */
async function fetchNode(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const integrity = nodePackages[platform];
  if (integrity === undefined) throw new Error(`No npm package has Node for ${platform}: --node`);
  const cache = process.env["KNFLEET_CACHE_DIR"] ?? join(homedir(), ".cache/knfleet");
  const base = join(cache, "files");
  const folder = join(base, `node-${nodeVersion}-${platform}`);
  if (existsSync(folder)) return join(folder, "bin/node");
  await mkdir(base, { recursive: true });
  const fetched = await mkdtemp(`${folder}-`);
  try {
    const name = `node-${platform}@${nodeVersion}`;
    const { stdout } = await run("npm", ["pack", name, "--json", "--pack-destination", fetched]);
    const [archive] = JSON.parse(stdout);
    if (archive.integrity !== integrity) throw new Error(`${name} is not what it was`);
    await run("tar", ["-xzf", join(fetched, archive.filename), "-C", fetched]);
    // Another build may have been faster.
    await rename(join(fetched, "package"), folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
  return join(folder, "bin/node");
}

if (import.meta.main) {
  await runProgram(usage, async () => {
    const { values } = parseArgs({
      options: {
        node: { type: "string" },
        output: { type: "string", default: join(project, "dist-executable") },
      },
    });
    const node = resolve(values.node ?? (await fetchNode()));
    const license = join(dirname(dirname(node)), "LICENSE");
    await buildExecutable(resolve(values.output), { node, license });
  });
}
