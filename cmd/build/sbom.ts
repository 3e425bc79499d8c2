import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { isRecord } from "../../api/fields.ts";
import { packagesIn } from "./build.ts";
import { bundle } from "./bundle.ts";
import { runProgram } from "./run-program.ts";

const usage = `Usage: npm run sbom [-- --output FILE]

Writes what is in the image, as CycloneDX 1.6: the packages of which something is in the bundle, Node and the releases of
releases.lock.json.

  --output FILE   default: standard output
  --help
`;

const root = resolve(import.meta.dirname, "../..");

async function write(output: string | undefined): Promise<void> {
  const sources = {
    lock: await read("package-lock.json"),
    releases: await read("releases.lock.json"),
    dockerfile: await read("Dockerfile"),
    bundled: packagesIn(await bundle(root)),
  };
  const text = `${JSON.stringify(sbomOf(sources), undefined, 2)}\n`;
  if (output === undefined) process.stdout.write(text);
  else await writeFile(output, text);
}

function read(name: string): Promise<string> {
  return readFile(join(root, name), "utf8");
}

/** Texts of the files that define the content of the image. */
export interface ImageSources {
  /** package-lock.json */
  readonly lock: string;
  /** releases.lock.json */
  readonly releases: string;
  readonly dockerfile: string;
  /** Bundled packages, as in package-lock.json: `node_modules/…`. */
  readonly bundled: readonly string[];
}

interface Package {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
  readonly sha512: string;
  readonly needs: readonly string[];
}

/**
 * Generates the CycloneDX 1.6 document of the image. Equal files give an equal document. Leaves out packages without code in the bundle. Throws a plain Error
 * for a package that is not in the lock file or has no SHA-512, and for a Dockerfile without Node.
 */
export function sbomOf({ lock, releases, dockerfile, bundled }: ImageSources): object {
  const parsed = recordOf(JSON.parse(lock));
  const packages = lockedPackages(recordOf(parsed["packages"]), bundled);
  const byPath = new Map(packages.map((one) => [one.path, one]));
  const own = { name: textOf(parsed["name"]), version: textOf(parsed["version"]) };
  const ownRef = purlOf(own);
  const others = [nodeOf(dockerfile), releasesOf(recordOf(JSON.parse(releases)))];
  // A package in several folders is listed once.
  const distinct = [...new Map(packages.map((one) => [purlOf(one), one])).values()];
  const needs = distinct.map((one) => ({ ref: purlOf(one), dependsOn: needsOf(one, byPath) }));
  const needed = new Set(needs.flatMap(({ dependsOn }) => dependsOn));
  const direct = recordOf(recordOf(recordOf(parsed["packages"])[""])["dependencies"]);
  // A dependency of a package without code in the bundle counts as ours.
  const ours = distinct.filter((one) => one.name in direct || !needed.has(purlOf(one)));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialOf([lock, releases, dockerfile, ...bundled].join()),
    version: 1,
    metadata: { component: { "bom-ref": ownRef, type: "application", ...own, purl: ownRef } },
    components: [...distinct.map(componentOf), ...others],
    dependencies: [
      {
        ref: ownRef,
        dependsOn: [...ours.map(purlOf), ...others.map((one) => one["bom-ref"])],
      },
      ...needs,
    ],
  };
}

function lockedPackages(
  entries: Readonly<Record<string, unknown>>,
  bundled: readonly string[],
): readonly Package[] {
  return bundled.map((path) => {
    const entry = entries[path];
    if (!isRecord(entry)) throw new Error(`package-lock.json has no ${path}`);
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const [, digest] = /^sha512-(\S+)$/.exec(textOf(entry["integrity"])) ?? [];
    if (digest === undefined) throw new Error(`package-lock.json has no SHA-512 of ${path}`);
    const license = entry["license"];
    return {
      path,
      name,
      version: textOf(entry["version"]),
      license: typeof license === "string" ? license : undefined,
      sha512: Buffer.from(digest, "base64").toString("hex"),
      needs: Object.keys(recordOf(entry["dependencies"])),
    };
  });
}

/** The bundled dependencies of a package. */
function needsOf(
  { needs, path }: Package,
  byPath: ReadonlyMap<string, Package>,
): readonly string[] {
  const found = needs.map((name) => resolveFrom(name, path, byPath));
  return [...new Set(found.flatMap((one) => (one === undefined ? [] : [purlOf(one)])))];
}

/** Resolves a package as Node does: in the nearest `node_modules`. */
function resolveFrom(
  name: string,
  from: string,
  byPath: ReadonlyMap<string, Package>,
): Package | undefined {
  const folders = from.split("/node_modules/").map((_, at, all) => all.slice(0, all.length - at));
  return folders
    .map((parts) => byPath.get(`${parts.join("/node_modules/")}/node_modules/${name}`))
    .concat(byPath.get(`node_modules/${name}`))
    .find((one) => one !== undefined);
}

function componentOf({ name, version, license, sha512 }: Package): object {
  const purl = purlOf({ name, version });
  return {
    "bom-ref": purl,
    type: "library",
    name,
    version,
    purl,
    scope: "required",
    hashes: [{ alg: "SHA-512", content: sha512 }],
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
  };
}

function purlOf({ name, version }: { readonly name: string; readonly version: string }): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function nodeOf(dockerfile: string): { readonly "bom-ref": string } {
  const [, version] = /^FROM node:([\d.]+)-/m.exec(dockerfile) ?? [];
  if (version === undefined) throw new Error("The Dockerfile takes no Node");
  const purl = `pkg:generic/node@${version}`;
  return Object.assign({ "bom-ref": purl }, { type: "platform", name: "node", version, purl });
}

function releasesOf(releases: Readonly<Record<string, unknown>>): { readonly "bom-ref": string } {
  const version = textOf(releases["commit"]);
  const purl = `pkg:github/knative/operator@${version}`;
  const files = Array.isArray(releases["files"]) ? releases["files"].filter(isRecord) : [];
  const components = files.map((file) => ({
    type: "file",
    name: textOf(file["path"]),
    hashes: [{ alg: "SHA-256", content: textOf(file["sha256"]) }],
  }));
  const licenses = [{ expression: "Apache-2.0" }];
  const facts = { type: "data", name: "knative-releases", version, purl, licenses, components };
  return Object.assign({ "bom-ref": purl }, facts);
}

/** A UUID that depends only on the text. */
function serialOf(text: string): string {
  const hash = createHash("sha256").update(text).digest("hex");
  const variant = "89ab".charAt(Number.parseInt(hash.charAt(16), 16) % 4);
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`];
  return `urn:uuid:${[...parts, variant + hash.slice(17, 20), hash.slice(20, 32)].join("-")}`;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

if (import.meta.main) {
  await runProgram(usage, async () => {
    const { values } = parseArgs({ options: { output: { type: "string" } } });
    await write(values.output);
  });
}
