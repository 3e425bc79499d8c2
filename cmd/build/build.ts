import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { byText } from "../../api/fields.ts";
import { bundle, type BundledFile, filesFrom, programsOf } from "./bundle.ts";
import { runProgram } from "./run-program.ts";
import { pagePath } from "./ui-page.ts";

const usage = `Usage: npm run build [-- --output DIR]

Bundles all programs into a folder that runs without node_modules: one file a program, and chunks that are loaded when they are needed.
\`npm pack DIR\` makes the package of kubectl knfleet of it; the image holds all of it.

  --output DIR   default: dist
  --help
`;

const project = resolve(import.meta.dirname, "../..");

async function build(folder: string): Promise<void> {
  if (!isOurs(folder)) {
    throw new Error(`${folder} holds something else and is left alone`);
  }
  const files = distFiles(project, await bundle(project));
  await rm(folder, { recursive: true, force: true });
  for (const { name, content, mode } of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content, { mode });
  }
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  process.stdout.write(`${folder}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB\n`);
}

/** The program that people install themselves. All others are in the image. */
export const pluginProgram = "kubectl-knfleet";

/** A file of `dist/`. Programs are executable. */
export interface DistFile {
  readonly name: string;
  readonly content: string | Buffer;
  readonly mode: number;
}

const licenseNames = /^(?:licen[cs]e|notice|copying)(?:[.-].*)?$/i;

/** All files of `dist/`, sorted: the bundle with the files that it reads, the licences, and a package.json that packs only the plugin. */
export function distFiles(root: string, bundled: readonly BundledFile[]): readonly DistFile[] {
  const programs = programsOf(root).map((name) => `${name}.js`);
  const copied = [
    ["LICENSE", "LICENSE"],
    ["README.md", "docs/plugin.md"],
    ["k9s-plugins.yaml", "docs/k9s-plugins.yaml"],
    ["releases.lock.json", "releases.lock.json"],
    ...readdirSync(join(root, "docs/schemas/v1")).map((file) => {
      return [`schemas/v1/${file}`, `docs/schemas/v1/${file}`] as const;
    }),
  ] as const;
  const files = [
    ...bundled.map(({ name, code }) => ({ name, content: code })),
    ...copied.map(([name, from]) => ({ name, content: readFileSync(join(root, from)) })),
    { name: "THIRD-PARTY-LICENSES.txt", content: licensesOf(root, packagesIn(bundled)) },
    { name: "package.json", content: manifestOf(root, bundled) },
  ];
  return files
    .map((file) => ({ ...file, mode: programs.includes(file.name) ? 0o755 : 0o644 }))
    .toSorted(byText(({ name }) => name));
}

/** Packages inside the script of the page, which is a text in the bundle. */
export const pagePackages = ["node_modules/htm", "node_modules/preact"];

/** Folders of the bundled packages, as in package-lock.json, sorted. */
export function packagesIn(files: readonly BundledFile[]): readonly string[] {
  const found = files.flatMap(({ modules }) =>
    modules.flatMap((path) => {
      if (path === pagePath) return pagePackages;
      const at = path.lastIndexOf("node_modules/");
      if (at < 0) return [];
      const parts = path.slice(at).split("/");
      const depth = parts[1]?.startsWith("@") === true ? 3 : 2;
      return [path.slice(0, at) + parts.slice(0, depth).join("/")];
    }),
  );
  return [...new Set(found)].toSorted();
}

/** `files` names what `npm pack` takes: the plugin and the chunks that it can load. */
function manifestOf(root: string, bundled: readonly BundledFile[]): string {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { version, description, license, type, engines } = own;
  const entry = `${pluginProgram}.js`;
  const files = [
    ...filesFrom(bundled, entry, { lazy: true }).map((file) => file.name),
    "THIRD-PARTY-LICENSES.txt",
    "k9s-plugins.yaml",
    "releases.lock.json",
    "schemas",
  ].toSorted();
  const bin = { [pluginProgram]: entry };
  const name = pluginProgram;
  const manifest = { name, version, description, license, type, bin, files, engines };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** The licences and notices of packages, which have to be passed on. */
export function licensesOf(root: string, folders: readonly string[]): string {
  const parts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, folder, "package.json"), "utf8"),
    );
    const texts = readdirSync(join(root, folder))
      .filter((file) => licenseNames.test(file))
      .toSorted()
      .map((file) => readFileSync(join(root, folder, file), "utf8").trim());
    return [`${name} ${version}: ${license}`, ...texts].join("\n\n");
  });
  return `${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

/** Whether a folder may be emptied, because it is new, empty, or an earlier result. */
export function isOurs(folder: string): boolean {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return true;
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest) || !existsSync(join(folder, `${pluginProgram}.js`))) return false;
  return JSON.parse(readFileSync(manifest, "utf8")).name === pluginProgram;
}

if (import.meta.main) {
  await runProgram(usage, async () => {
    const { values } = parseArgs({
      options: { output: { type: "string", default: join(project, "dist") } },
    });
    await build(resolve(values.output));
  });
}
