import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative } from "node:path";

import { type OutputChunk, rolldown } from "rolldown";

import { placesPlugin } from "./bundle-plugin.ts";
import { leanInkPlugin } from "./lean-ink.ts";
import { leanUndiciPlugin } from "./lean-undici.ts";

/** One JavaScript file of a bundle and what is in it. */
export interface BundledFile {
  /** Relative to the folder of the bundle. */
  readonly name: string;
  readonly code: string;
  /** It is a program or the file of a thread. */
  readonly isEntry: boolean;
  /** Files that are loaded together with it. */
  readonly imports: readonly string[];
  /** Files that it loads when it needs them. */
  readonly lazyImports: readonly string[];
  /** Node's own modules that are loaded with it. */
  readonly builtins: readonly string[];
  /** Source files of which something is left in it, relative to the project. */
  readonly modules: readonly string[];
}

/** Warnings that tell of something that would fail when it runs; others tell of what could be smaller or quicker. */
const fatal: readonly string[] = [
  "UNRESOLVED_ENTRY",
  "UNRESOLVED_IMPORT",
  "IMPORT_IS_UNDEFINED",
  "FILENAME_CONFLICT",
  "EMPTY_IMPORT_META",
  "CANNOT_CALL_NAMESPACE",
];

/** Names of the programs: the files of `cmd/` that begin with a shebang. */
export function programsOf(root: string): readonly string[] {
  const folder = join(root, "cmd");
  return readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => readFileSync(join(folder, file), "utf8").startsWith("#!"))
    .map((file) => file.slice(0, -".ts".length))
    .toSorted();
}

/**
 * Every program as a file `NAME.js`, with chunks that are loaded when they are needed, and no package outside. Comments and unused code are gone; names
 * and lines stay, so that a stack says where it was. Equal sources give equal files. Rejects for an import that leads nowhere.
 */
export async function bundle(root: string): Promise<readonly BundledFile[]> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(programsOf(root).map((name) => [name, `cmd/${name}.ts`])),
    platform: "node",
    plugins: [placesPlugin(root), leanUndiciPlugin(root), leanInkPlugin(root)],
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    onLog(level, { code, message }) {
      if (level === "warn" && code !== undefined && fatal.includes(code)) {
        throw new Error(`The bundle would not run: ${message}`);
      }
    },
  });
  try {
    const { output } = await build.generate({
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
      comments: { legal: false, annotation: false, jsdoc: false },
    });
    return output.filter((file) => file.type === "chunk").map((chunk) => bundledFile(chunk, root));
  } finally {
    await build.close();
  }
}

function bundledFile(chunk: OutputChunk, root: string): BundledFile {
  const { fileName: name, code, isEntry, imports, dynamicImports, modules } = chunk;
  return {
    name,
    code,
    isEntry,
    imports: imports.filter((specifier) => !isBuiltin(specifier)),
    lazyImports: dynamicImports.filter((specifier) => !isBuiltin(specifier)),
    builtins: imports.filter(isBuiltin),
    modules: Object.entries(modules)
      .filter(([, { renderedLength }]) => renderedLength > 0)
      .map(([id]) => relative(root, id)),
  };
}

/** Files that are loaded when `name` is, itself included; with `lazy` also those that may be loaded later. */
export function filesFrom(
  files: readonly BundledFile[],
  name: string,
  { lazy }: { readonly lazy: boolean },
): readonly BundledFile[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const found = new Set<BundledFile>();
  const visit = (one: string): void => {
    const file = byName.get(one);
    if (file === undefined) throw new Error(`The bundle has no ${one}`);
    if (found.has(file)) return;
    found.add(file);
    for (const next of [...file.imports, ...(lazy ? file.lazyImports : [])]) visit(next);
  };
  visit(name);
  return [...found];
}
