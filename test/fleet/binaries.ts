import { cp, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import {
  assetVariable,
  cachedModule,
  cacheFolder,
  isExecutable,
  type BuildContext,
} from "./binary-cache.ts";
import {
  moduleFiles,
  moduleFolder,
  sourceOf,
  type BinaryName,
  type BinaryPaths,
  type BinarySource,
  type ModuleFiles,
  type PinnedFiles,
} from "./binary-catalogue.ts";
import { MissingToolError, runGo } from "./go-tool.ts";
import { valueAt } from "./json-record.ts";

export interface BinariesOptions {
  /** Called with one line at a time: what is being built and for how long. Default: nothing is said. */
  readonly log?: (line: string) => void;
  /** Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/**
 * Makes programs available and tells where they are. Each is taken from `TEST_ASSET_<NAME>`, else from
 * `KUBEBUILDER_ASSETS`, else from the cache folder, where it is built with Go when it is missing. Processes that ask at
 * the same time wait for each other. Throws `MissingToolError` without a usable Go, and an `Error` with the last lines of
 * a failed build.
 */
export async function ensureBinaries<Name extends BinaryName>(
  names: readonly Name[],
  options: BinariesOptions = {},
): Promise<BinaryPaths<Name>> {
  const context = contextOf(options);
  const paths = new Map<Name, string>();
  for (const name of names) {
    const given = await givenBinary(name, context.env);
    if (given !== undefined) paths.set(name, given);
  }
  const missing = names.filter((name) => !paths.has(name));
  for (const module of new Set(missing.map((name) => sourceOf(name).module))) {
    const wanted = missing.filter((name) => sourceOf(name).module === module);
    const folder = await cachedModule(module, wanted, context);
    for (const name of wanted) paths.set(name, join(folder, name));
  }
  return (name) => {
    const path = paths.get(name);
    if (path === undefined) throw new Error(`${name} was not asked for`);
    return path;
  };
}

/**
 * Folder with files that a Go module of the fleet brings along, copied out of the module once, so that later runs need no
 * Go. Throws `MissingToolError` when they are in no cache and there is no Go.
 */
export async function ensureModuleFiles(
  files: ModuleFiles,
  options: BinariesOptions = {},
): Promise<string> {
  const context = contextOf(options);
  const { pins, module, path, version }: PinnedFiles = moduleFiles[files];
  const pinned = `${module}@${version ?? (await versionOf(module, pins))}`;
  const kept = join(cacheFolder(context.env), "files", files, basename(pinned));
  if ((await readdir(kept).catch(() => [])).length > 0) return kept;
  const answer = await runGo(["mod", "download", "-json", pinned], {
    cwd: moduleFolder(pins),
    ...context,
  });
  if (answer.code === "not-found") {
    throw new MissingToolError(
      `Missing for the test fleet: ${path} of ${pinned}\nTried: ${kept}; \`go\` on PATH\nInstall Go 1.26 or newer`,
    );
  }
  const source: unknown = answer.code === 0 ? valueAt(JSON.parse(answer.stdout), "Dir") : undefined;
  if (typeof source !== "string") {
    throw new Error(`\`go mod download ${pinned}\` failed:\n${answer.stderr.trim().slice(-1000)}`);
  }
  await copyInto(join(source, path), kept);
  return kept;
}

function contextOf({
  log = () => undefined,
  env = process.env,
  signal,
}: BinariesOptions): BuildContext {
  return signal === undefined ? { log, env } : { log, env, signal };
}

async function givenBinary(name: BinaryName, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const variable = assetVariable(name);
  const own = env[variable];
  if (own !== undefined && own !== "") {
    if (await isExecutable(own)) return resolve(own);
    throw new MissingToolError(`${variable} is ${own}, which is no program that can be run`);
  }
  const assets = env["KUBEBUILDER_ASSETS"];
  if (assets === undefined || assets === "") return undefined;
  const path = resolve(assets, name);
  return (await isExecutable(path)) ? path : undefined;
}

/** The version of a Go module that one of the fleet's own modules pins. */
async function versionOf(module: string, pins: BinarySource["module"]): Promise<string> {
  const goMod = await readFile(join(moduleFolder(pins), "go.mod"), "utf8");
  const line = goMod.split("\n").find((text) => text.trim().startsWith(`${module} v`));
  const version = line?.trim().split(" ")[1];
  if (version === undefined) throw new Error(`binaries/${pins}/go.mod has no ${module}`);
  return version;
}

async function copyInto(source: string, target: string): Promise<void> {
  const aside = `${target}.${process.pid}`;
  await mkdir(aside, { recursive: true });
  await cp(source, aside, { recursive: true });
  // Files of a Go module are read-only and would stay so; another process may have been faster.
  await rename(aside, target).catch(() => rm(aside, { recursive: true, force: true }));
}
