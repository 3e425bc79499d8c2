import { createHash } from "node:crypto";
import { access, constants, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

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
  const missing = await missingIn(folder, names);
  await mkdir(folder, { recursive: true });
  for (const [index, name] of missing.entries()) {
    await build(name, folder, { ...context, count: `${index + 1} of ${missing.length}` });
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

async function build(
  name: BinaryName,
  folder: string,
  context: BuildContext & { readonly count: string },
): Promise<void> {
  const { module, importPath } = sourceOf(name);
  const temporary = join(folder, `.${name}.${process.pid}`);
  const startedAt = Date.now();
  const say = (what: string) => {
    context.log(
      `${what} ${name} (${context.count}, ${Math.round((Date.now() - startedAt) / 1000)} s)`,
    );
  };
  say("Building");
  const ticker = setInterval(say, 5000, "Still building");
  try {
    const result = await runGo(["build", ...buildFlags(module), "-o", temporary, importPath], {
      cwd: moduleFolder(module),
      ...context,
    });
    if (result.code !== 0) {
      const tail = result.stderr.trimEnd().split("\n").slice(-15).join("\n");
      throw new Error(`\`go build ${importPath}\` failed in ${moduleFolder(module)}:\n${tail}`);
    }
    await rename(temporary, join(folder, name));
    say("Built");
  } finally {
    clearInterval(ticker);
    await rm(temporary, { force: true });
  }
}

async function pinsOf(module: Module): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) {
    hash.update(await readFile(join(moduleFolder(module), file)));
  }
  hash.update(JSON.stringify([buildFlags(module), process.platform, process.arch]));
  return hash.digest("hex").slice(0, 16);
}
