import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { imageToolsFolder, systemAuthorities, withTools } from "./image-tools.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");

/** What an image is built with, and where its files go. */
export interface ImageBuild {
  /** A folder that is made, with the files of the image. */
  readonly target: string;
  /** The checkout. Default: this one. */
  readonly root?: string;
  /** Release files that the image gets. Those of the lock file are verified, as the Dockerfile does; others are a stand-in. */
  readonly releases: { readonly dir: string; readonly isKnative: boolean };
}

// What the base images have: a C library, certificates, Node and npm.
const standIn = `FROM scratch AS stand-in
COPY --from=base . /
COPY --from=programs node /usr/local/bin/node
COPY --from=programs npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`;

/**
 * Builds the Dockerfile with buildah, every line of it but for the base images, whose place a small Debian takes. Answers what buildah said; throws the
 * same when it fails. Needs `ensureImageTools`.
 */
export async function buildImage({
  target,
  root = project,
  releases,
}: ImageBuild): Promise<string> {
  await using work = await workFolder();
  const file = join(work.path, "Dockerfile");
  await writeFile(file, withStandIns(await readFile(join(root, "Dockerfile"), "utf8"), releases));
  const npmrc = join(work.path, "npmrc");
  await writeFile(npmrc, await npmSettings(), { mode: 0o600 });
  await writeFile(join(work.path, "policy.json"), '{"default":[{"type":"reject"}]}');
  const tools = imageToolsFolder(process.env);
  const contexts = {
    base: join(tools, "base"),
    programs: await programsIn(join(work.path, "programs")),
    releases: releases.dir,
  };
  const volumes = {
    [npmrc]: "/root/.npmrc:ro",
    [await npmSetting("cache")]: "/root/.npm",
    ...(await authorities()),
    // The place beside the checkout where release files are looked for before they are downloaded.
    ...(releases.isKnative ? { [releases.dir]: "/shared/manifests:ro" } : {}),
  };
  const words = [
    "buildah",
    "--storage-driver=vfs",
    "--registries-conf=/dev/null",
    `--root=${join(work.path, "store")}`,
    `--runroot=${join(work.path, "run")}`,
    "build",
    "--isolation=chroot",
    `--signature-policy=${join(work.path, "policy.json")}`,
    ...Object.entries(contexts).map(([name, path]) => `--build-context=${name}=${path}`),
    ...Object.entries(volumes).map(([from, to]) => `--volume=${from}:${to}`),
    `--file=${file}`,
    `--output=type=local,dest=${target}`,
    root,
  ];
  const { stdout } = await run(...withTools(tools, words), { maxBuffer: 64 * 1024 * 1024 });
  // buildah makes the folder for root alone; the root of an image is everybody's.
  await chmod(target, 0o755);
  return stdout;
}

/** The Dockerfile on base images that are here. Throws where a line is not as expected. */
function withStandIns(dockerfile: string, { isKnative }: ImageBuild["releases"]): string {
  const bases = dockerfile.replaceAll(/^FROM .*@sha256:[0-9a-f]{64}/gm, "FROM stand-in");
  if (/^FROM (?!stand-in)/m.test(bases)) throw new Error("A base image has no digest");
  const filled = isKnative
    ? bases
    : bases.replace(/^RUN node cmd\/releases\.ts .*$/m, "COPY --from=releases . /releases");
  if (filled === bases && !isKnative) throw new Error("The Dockerfile fills no release folder");
  return `${standIn}${filled}`;
}

/** This Node, and the npm of this machine. */
async function programsIn(folder: string): Promise<string> {
  const npmProgram = await realpath((await run("sh", ["-c", "command -v npm"])).stdout.trim());
  await mkdir(folder);
  await cp(process.execPath, join(folder, "node"), { dereference: true });
  await cp(dirname(dirname(npmProgram)), join(folder, "npm"), { recursive: true });
  return folder;
}

const authorityFile = "/root/authorities.pem";

/** The settings of this user, and which registry there is. */
async function npmSettings(): Promise<string> {
  const own = await readFile(await npmSetting("userconfig"), "utf8").catch(() => "");
  return `${own}\nregistry=${await npmSetting("registry")}\ncafile=${authorityFile}\n`;
}

/** The certificates that npm trusts here, as a volume. */
async function authorities(): Promise<Readonly<Record<string, string>>> {
  const named = await npmSetting("cafile");
  const { NODE_EXTRA_CA_CERTS: extra = "" } = process.env;
  const files = [named === "null" ? "" : named, extra, systemAuthorities];
  return { [files.find((file) => file !== "") ?? ""]: `${authorityFile}:ro` };
}

async function npmSetting(name: string): Promise<string> {
  return (await run("npm", ["config", "get", name], { cwd: tmpdir() })).stdout.trim();
}

async function workFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "knfleet-image-build-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
