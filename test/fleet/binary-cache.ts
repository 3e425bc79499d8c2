import { createHash } from "node:crypto";
import { access, constants, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { availableParallelism, homedir } from "node:os";
import { basename, join } from "node:path";

import {
  buildFlags,
  moduleFolder,
  sourceOf,
  type BinaryName,
  type BinarySource,
} from "./binary-catalogue.ts";
import { takeBuildLock } from "./build-lock.ts";
import { findGo, MissingToolError, runGo } from "./go-tool.ts";

/** What a build needs to know of its surroundings. */
export interface BuildContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
}

type Module = BinarySource["module"];

/** `$KNFLEET_CACHE_DIR`, else `$XDG_CACHE_HOME/knfleet`, else `~/.cache/knfleet`. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const own = env["KNFLEET_CACHE_DIR"];
  if (own !== undefined && own !== "") return own;
  const xdg = env["XDG_CACHE_HOME"];
  return join(xdg === undefined || xdg === "" ? join(homedir(), ".cache") : xdg, "knfleet");
}

/**
 * Folder that holds the wanted programs of one module, built now if they are missing. Its name follows from go.mod,
 * go.sum, the build flags, the Go version and the platform, so a changed pin never finds an old program.
 */
export async function cachedModule(
  module: Module,
  names: readonly BinaryName[],
  context: BuildContext,
): Promise<string> {
  const base = join(cacheFolder(context.env), "binaries", `${module}-${await pinsOf(module)}`);
  const go = await findGo(context.env);
  if (go === undefined) return withoutGo(base, names);
  const folder = join(base, go.version);
  if ((await missingIn(folder, names)).length === 0) return folder;
  await mkdir(base, { recursive: true });
  await using _lock = await takeBuildLock(join(base, `${go.version}.lock`), {
    onWait: (pid) => context.log(`Waiting for process ${pid}, which builds the same programs`),
    ...(context.signal === undefined ? {} : { signal: context.signal }),
  });
  await mkdir(folder, { recursive: true });
  const missing = await missingIn(folder, names);
  for (const batch of batchesOf(missing)) {
    await build({ module, names: batch }, folder, context);
  }
  return folder;
}

/** Names of those that are not there as executable files. */
async function missingIn<Name extends string>(
  folder: string,
  names: readonly Name[],
): Promise<readonly Name[]> {
  const there = await Promise.all(names.map((name) => isExecutable(join(folder, name))));
  return names.filter((_, index) => there[index] !== true);
}

/** True when the file exists and this user may run it. */
export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function withoutGo(base: string, names: readonly BinaryName[]): Promise<string> {
  const versions = await readdir(base).catch(() => []);
  for (const version of versions.filter((entry) => !entry.endsWith(".lock")).toReversed()) {
    const folder = join(base, version);
    if ((await missingIn(folder, names)).length === 0) return folder;
  }
  const variables = names.map((name) => assetVariable(name)).join(", ");
  throw new MissingToolError(
    [
      `Missing for the test fleet: ${names.join(", ")}`,
      `Tried: ${variables}; KUBEBUILDER_ASSETS; the cache folder ${base}; \`go\` on PATH, to build them`,
      "Install Go 1.26 or newer, or set one of these variables to programs that you have",
    ].join("\n"),
  );
}

/** Variable that names a program that the user has already: `TEST_ASSET_KUBE_APISERVER`. */
export function assetVariable(name: BinaryName): string {
  return `TEST_ASSET_${name.toUpperCase().replaceAll("-", "_")}`;
}

/**
 * Programs for one `go build` each: all of them, but for those whose packages have the same last name, which Go would write to one file. One
 * `go build` compiles and links side by side what a build for each program does one after the other.
 */
function batchesOf(names: readonly BinaryName[]): readonly (readonly BinaryName[])[] {
  const batches: BinaryName[][] = [];
  for (const name of names) {
    const fits = batches.find((batch) => !batch.some((other) => fileOf(other) === fileOf(name)));
    if (fits === undefined) batches.push([name]);
    else fits.push(name);
  }
  return batches;
}

/** The file that `go build -o FOLDER/` writes: the last element of the package's path that is no version. */
function fileOf(name: BinaryName): string {
  return basename(sourceOf(name).importPath.replace(/\/v\d+$/, ""));
}

async function build(
  { module, names }: { readonly module: Module; readonly names: readonly BinaryName[] },
  folder: string,
  context: BuildContext,
): Promise<void> {
  const temporary = join(folder, `.build.${process.pid}`);
  const startedAt = Date.now();
  const say = (what: string, programs: readonly BinaryName[]) => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    context.log(`${what} ${programs.join(", ")} (${seconds} s)`);
  };
  // A build that was killed may have had the same process id.
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary);
  say("Building", names);
  const ticker = setInterval(say, 5000, "Still building", names);
  try {
    const packages = names.map((name) => sourceOf(name).importPath);
    const args = ["build", ...buildFlags(module), "-o", `${temporary}/`, ...packages];
    const env = { ...context.env, ...compilerMemory() };
    const result = await runGo(args, { cwd: moduleFolder(module), ...context, env });
    if (result.code !== 0) {
      const tail = result.stderr.trimEnd().split("\n").slice(-15).join("\n");
      throw new Error(
        `\`go build ${packages.join(" ")}\` failed in ${moduleFolder(module)}:\n${tail}`,
      );
    }
    for (const name of names) await rename(join(temporary, fileOf(name)), join(folder, name));
    say("Built", names);
  } finally {
    clearInterval(ticker);
    await rm(temporary, { recursive: true, force: true });
  }
}

const mostCompilerBytes = 2 * 2 ** 30;
const fewestCompilerBytes = 2 ** 29;

/**
 * Lets Go's compilers collect garbage only when they come near a limit, which saves a quarter of the time. There are as many of them at a time as
 * cores, so each gets its share of the free memory, and at most 2 GiB. Where that is less than 512 MiB, Go keeps its own setting.
 */
function compilerMemory(): NodeJS.ProcessEnv {
  const share = Math.floor(process.availableMemory() / (availableParallelism() + 1));
  if (share < fewestCompilerBytes) return {};
  return { GOGC: "off", GOMEMLIMIT: String(Math.min(share, mostCompilerBytes)) };
}

async function pinsOf(module: Module): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) {
    hash.update(await readFile(join(moduleFolder(module), file)));
  }
  hash.update(JSON.stringify([buildFlags(module), process.platform, process.arch]));
  return hash.digest("hex").slice(0, 16);
}
