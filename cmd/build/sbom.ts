import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";

import type { ReleaseLock } from "../release-lock.ts";
import { packagesIn } from "./build.ts";
import { bundle } from "./bundle.ts";
import { runProgram } from "./run-program.ts";

const usage = `Usage: npm run sbom [-- --output FILE]

Writes what is in the image, as CycloneDX: the packages of which something is in the bundle, Node and the releases of
releases.lock.json.

  --output FILE   default: standard output
  --help
`;

const root = resolve(import.meta.dirname, "../..");

async function write(output: string | undefined): Promise<void> {
  const sources = {
    npmBill: await readNpmBill(),
    lock: JSON.parse(await read("package-lock.json")),
    releases: JSON.parse(await read("releases.lock.json")),
    dockerfile: await read("Dockerfile"),
    bundled: packagesIn(await bundle(root)),
  };
  const text = `${JSON.stringify(sbomOf(sources), undefined, 2)}\n`;
  if (output === undefined) process.stdout.write(text);
  else await writeFile(output, text);
}

/** Runs `npm sbom` for all packages of the lock file. Without those for development, npm also leaves out packages that both run and are needed for development. */
export async function readNpmBill(): Promise<NpmBill> {
  const flags = [
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
    "--include=dev",
  ];
  const { stdout } = await promisify(execFile)("npm", ["sbom", ...flags], {
    cwd: root,
    maxBuffer: 16_000_000,
  });
  return JSON.parse(stdout);
}

function read(name: string): Promise<string> {
  return readFile(join(root, name), "utf8");
}

/** The fields of `npm sbom` that are read here. */
interface NpmBill {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  /** `NAME@VERSION` of a package. */
  readonly "bom-ref": string;
}

/** The fields of package-lock.json that are read here. */
interface PackageLock {
  readonly name: string;
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** What defines the content of the image. */
export interface ImageSources {
  readonly npmBill: NpmBill;
  readonly lock: PackageLock;
  readonly releases: ReleaseLock;
  readonly dockerfile: string;
  /** Bundled packages, as in package-lock.json: `node_modules/…`. */
  readonly bundled: readonly string[];
}

/**
 * Narrows the document of npm to the bundled packages and adds Node and the release files. Equal files give an equal document: it has no serial number and
 * no time. Throws a plain Error for a bundled package that npm does not list, and for a Dockerfile without Node.
 */
export function sbomOf({ npmBill, lock, releases, dockerfile, bundled }: ImageSources): object {
  const refs = new Set(bundled.map((path) => refOf(path, lock)));
  const components = npmBill.components.filter((one) => refs.has(one["bom-ref"]));
  const listed = components.map((one) => one["bom-ref"]);
  const unlisted = [...refs].filter((ref) => !listed.includes(ref));
  if (unlisted.length > 0) throw new Error(`npm sbom does not list ${unlisted.join(", ")}`);

  const own = npmBill.metadata.component;
  const others = [nodeOf(dockerfile), releasesOf(releases)];
  const edges = npmBill.dependencies.map(({ ref, dependsOn }) => ({
    ref,
    dependsOn: dependsOn.filter((one) => refs.has(one)),
  }));
  const ofPackages = edges.filter(({ ref }) => refs.has(ref));
  const needed = new Set(ofPackages.flatMap(({ dependsOn }) => dependsOn));
  const direct = edges.find(({ ref }) => ref === own["bom-ref"])?.dependsOn ?? [];
  // A dependency of a package without code in the bundle counts as ours.
  const ours = listed.filter((ref) => direct.includes(ref) || !needed.has(ref));
  return {
    ...npmBill,
    serialNumber: undefined,
    // npm names the component after the folder.
    metadata: { ...npmBill.metadata, timestamp: undefined, component: { ...own, name: lock.name } },
    components: [...components, ...others],
    dependencies: [
      { ref: own["bom-ref"], dependsOn: [...ours, ...others.map((one) => one["bom-ref"])] },
      ...ofPackages,
    ],
  };
}

/** The `bom-ref` that npm gives the package of a folder. */
function refOf(path: string, { packages }: PackageLock): string {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  return `${name}@${packages[path]?.version}`;
}

function nodeOf(dockerfile: string): Component {
  const [, version] = /^FROM node:([\d.]+)-/m.exec(dockerfile) ?? [];
  if (version === undefined) throw new Error("The Dockerfile takes no Node");
  const purl = `pkg:generic/node@${version}`;
  return Object.assign({ "bom-ref": purl }, { type: "platform", name: "node", version, purl });
}

function releasesOf({ commit: version, files }: ReleaseLock): Component {
  const purl = `pkg:github/knative/operator@${version}`;
  const components = files.map(({ path, sha256 }) => ({
    type: "file",
    name: path,
    hashes: [{ alg: "SHA-256", content: sha256 }],
  }));
  const licenses = [{ expression: "Apache-2.0" }];
  const facts = { type: "data", name: "knative-releases", version, purl, licenses, components };
  return Object.assign({ "bom-ref": purl }, facts);
}

if (import.meta.main) {
  await runProgram(usage, async () => {
    const { values } = parseArgs({ options: { output: { type: "string" } } });
    await write(values.output);
  });
}
