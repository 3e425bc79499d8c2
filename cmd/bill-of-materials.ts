import { createHash } from "node:crypto";

import { isRecord } from "../api/fields.ts";

/** Texts of the files that say what is in the image. */
export interface ImageSources {
  /** package-lock.json */
  readonly lock: string;
  /** releases.lock.json */
  readonly releases: string;
  readonly dockerfile: string;
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
 * CycloneDX 1.6 of the image: equal files give an equal bill. Packages for development are left out. Throws a plain Error for a
 * package without a SHA-512 and for a Dockerfile without Node.
 */
export function sbomOf({ lock, releases, dockerfile }: ImageSources): object {
  const parsed = recordOf(JSON.parse(lock));
  const packages = packagesIn(recordOf(parsed["packages"]));
  const byPath = new Map(packages.map((one) => [one.path, one]));
  const own = { name: textOf(parsed["name"]), version: textOf(parsed["version"]) };
  const ownRef = purlOf(own);
  const needs = Object.keys(recordOf(recordOf(recordOf(parsed["packages"])[""])["dependencies"]));
  const others = [nodeOf(dockerfile), releasesOf(recordOf(JSON.parse(releases)))];
  // One that lies in several folders is named once.
  const distinct = [...new Map(packages.map((one) => [purlOf(one), one])).values()];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialOf(lock + releases + dockerfile),
    version: 1,
    metadata: { component: { "bom-ref": ownRef, type: "application", ...own, purl: ownRef } },
    components: [...distinct.map(componentOf), ...others],
    dependencies: [
      {
        ref: ownRef,
        dependsOn: [
          ...needs.map((name) => refOf(name, "", byPath)),
          ...others.map((one) => one["bom-ref"]),
        ],
      },
      ...distinct.map((one) => ({
        ref: purlOf(one),
        dependsOn: [...new Set(one.needs.map((name) => refOf(name, one.path, byPath)))],
      })),
    ],
  };
}

function packagesIn(entries: Readonly<Record<string, unknown>>): readonly Package[] {
  return Object.entries(entries).flatMap(([path, entry]) => {
    if (path === "" || !isRecord(entry) || entry["dev"] === true) return [];
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const [, digest] = /^sha512-(\S+)$/.exec(textOf(entry["integrity"])) ?? [];
    if (digest === undefined) throw new Error(`package-lock.json has no SHA-512 of ${path}`);
    const license = entry["license"];
    return [
      {
        path,
        name,
        version: textOf(entry["version"]),
        license: typeof license === "string" ? license : undefined,
        sha512: Buffer.from(digest, "base64").toString("hex"),
        needs: Object.keys(recordOf(entry["dependencies"])),
      },
    ];
  });
}

/** Node's own look-up: the package in the nearest `node_modules`. */
function refOf(name: string, from: string, byPath: ReadonlyMap<string, Package>): string {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf("/node_modules/")))) {
    const found = byPath.get(base === "" ? `node_modules/${name}` : `${base}/node_modules/${name}`);
    if (found !== undefined) return purlOf(found);
    if (base === "") throw new Error(`package-lock.json has no ${name}, which ${from} needs`);
    if (!base.includes("/node_modules/")) base = "";
  }
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

/** A UUID that is the same for the same text. */
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
