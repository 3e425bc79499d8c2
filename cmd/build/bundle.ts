import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative } from "node:path";

import { type OutputChunk, type OutputOptions, type Plugin, rolldown } from "rolldown";

import { makePage, pagePath } from "./ui-page.ts";

/** One JavaScript file of a bundle. */
export interface BundledFile {
  /** Relative to the folder of the bundle. */
  readonly name: string;
  readonly code: string;
  /** Whether the file is a program or the entry of a thread. */
  readonly isEntry: boolean;
  /** Files that are loaded with this file. */
  readonly imports: readonly string[];
  /** Files that this file loads on demand. */
  readonly lazyImports: readonly string[];
  /** Node modules that are loaded with this file. */
  readonly builtins: readonly string[];
  /** Source files with code in this file, relative to the project. */
  readonly modules: readonly string[];
}

/** Warnings about code that would fail at run time. The others are about size or speed. */
const fatal: readonly string[] = [
  "UNRESOLVED_ENTRY",
  "UNRESOLVED_IMPORT",
  "IMPORT_IS_UNDEFINED",
  "FILENAME_CONFLICT",
  "EMPTY_IMPORT_META",
  "CANNOT_CALL_NAMESPACE",
];

/** Names of the programs: the files of `cmd/` that start with a shebang. */
export function programsOf(root: string): readonly string[] {
  const folder = join(root, "cmd");
  return readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => readFileSync(join(folder, file), "utf8").startsWith("#!"))
    .map((file) => file.slice(0, -".ts".length))
    .toSorted();
}

/**
 * Bundles every program as a file `NAME.js`, with chunks that are loaded on demand, and with all packages. Removes comments and unused code, and keeps names
 * and lines, so that stack traces are readable. Equal sources give equal files. Rejects for an import that cannot be resolved.
 */
export async function bundle(root: string): Promise<readonly BundledFile[]> {
  const chunkFileNames = "chunks/[name]-[hash].js";
  return await generate(root, programsOf(root), { entryFileNames: "[name].js", chunkFileNames });
}

/** Bundles one program as one file, which loads nothing but modules of Node; otherwise like `bundle`. */
export async function bundleWhole(root: string, program: string): Promise<BundledFile> {
  const [file, ...others] = await generate(root, [program], { codeSplitting: false });
  if (file === undefined || others.length > 0) throw new Error(`${program} is no single file`);
  return file;
}

async function generate(
  root: string,
  programs: readonly string[],
  output: OutputOptions,
): Promise<readonly BundledFile[]> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(programs.map((name) => [name, `cmd/${name}.ts`])),
    platform: "node",
    plugins: [pagePlugin(root), placesPlugin(root), leanInkPlugin(root)],
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    onLog(level, { code, message }) {
      if (level === "warn" && code !== undefined && fatal.includes(code)) {
        throw new Error(`The bundle would not run: ${message}`);
      }
    },
  });
  try {
    const generated = await build.generate({
      format: "esm",
      minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
      comments: { legal: false, annotation: false, jsdoc: false },
      ...output,
    });
    return generated.output
      .filter((file) => file.type === "chunk")
      .map((chunk) => bundledFile(chunk, root));
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

/** Files that are loaded with `name`, including itself. With `lazy` also the files that may be loaded later. */
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

/** Puts script and style of the page in place of the file that makes them from their sources. */
function pagePlugin(root: string): Plugin {
  return {
    name: "page",
    async load(id) {
      if (id !== join(root, pagePath)) return null;
      const { script, style } = await makePage();
      return `export const pageScript = ${JSON.stringify(script)};
export const pageStyle = ${JSON.stringify(style)};
`;
    },
  };
}

/** The package.json of a bundle, with the only fields that the programs read. */
const packageFields = ["name", "version"];

const workerPattern = /new URL\(\s*"([\w-]+)\.ts",\s*import\.meta\.url\s*\)/g;
const rootPattern = /(?:join|resolve)\(import\.meta\.dirname, "\.\."/g;

/**
 * Keeps paths relative to `import.meta` correct in a bundle. Chunks are one folder below the package, as the files of `cmd/` are one folder below the project,
 * so that `import.meta.dirname` with `..` stays correct. The file of a thread is emitted beside the chunks under its own name. Throws for any other use of
 * `import.meta` in a file of the project.
 */
function placesPlugin(root: string): Plugin {
  return {
    name: "places",
    load(id) {
      if (id !== join(root, "package.json")) return null;
      const whole: unknown = JSON.parse(readFileSync(id, "utf8"));
      const entries = Object.entries(typeof whole === "object" && whole !== null ? whole : {});
      const kept = entries.filter(([name]) => packageFields.includes(name));
      return { code: JSON.stringify(Object.fromEntries(kept)), moduleType: "json" };
    },
    transform(code, id) {
      const isOwn = id.startsWith(`${root}/`) && !id.includes("/node_modules/");
      if (!isOwn || !code.includes("import.meta")) return null;
      const rest = code.replaceAll(workerPattern, "").replaceAll(rootPattern, "");
      const depth = relative(root, id).split("/").length - 1;
      if (rest.includes("import.meta.") || (depth !== 1 && rootPattern.test(code))) {
        throw new Error(`${relative(root, id)} asks for its own place in a way no bundle keeps`);
      }
      return code.replaceAll(workerPattern, (_, name: string) => {
        const file = join(dirname(id), `${name}.ts`);
        if (!existsSync(file)) throw new Error(`${relative(root, id)} starts no file: ${file}`);
        this.emitFile({ type: "chunk", id: file, fileName: `chunks/${basename(name)}.js` });
        return `new URL("${name}.js", import.meta.url)`;
      });
    },
  };
}

/** Files of ink that load React's developer tools when `DEV` is set, from a package that is not installed. */
const files = ["ink.js", "reconciler.js"];

const forDevelopers = "process.env['DEV'] === 'true'";

/** Bundles ink without its developer tools, whose package is not installed: `DEV=true` would end the program. Throws when ink has changed. */
function leanInkPlugin(root: string): Plugin {
  const folder = join(root, "node_modules/ink/build");
  return {
    name: "lean-ink",
    transform(code, id) {
      if (dirname(id) !== folder || !files.includes(relative(folder, id))) return null;
      if (!code.includes(forDevelopers)) {
        throw new Error(`${relative(root, id)} has no longer: ${forDevelopers}`);
      }
      return code.replaceAll(forDevelopers, "false");
    },
  };
}
