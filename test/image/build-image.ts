import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
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
 * same when it fails, and AbortError. Needs `ensureImageTools`.
 */
export async function buildImage(
  { target, root = project, releases }: ImageBuild,
  signal: AbortSignal,
): Promise<string> {
  await using work = await workFolder();
  const file = join(work.path, "Dockerfile");
  await writeFile(file, withStandIns(await readFile(join(root, "Dockerfile"), "utf8"), releases));
  const npmrc = join(work.path, "npmrc");
  const { file: authorities, place } = await authoritiesOfNpm();
  await writeFile(npmrc, `registry=${await npmSetting("registry")}\ncafile=${place}\n`, {
    mode: 0o600,
  });
  await writeFile(join(work.path, "policy.json"), '{"default":[{"type":"reject"}]}');
  const tools = imageToolsFolder(process.env);
  const contexts = {
    base: join(tools, "base"),
    programs: await programsIn(join(work.path, "programs")),
    releases: releases.dir,
  };
  const volumes = {
    ...(await ownSettings()),
    [npmrc]: "/usr/local/etc/npmrc:ro",
    [await npmSetting("cache")]: "/root/.npm",
    [authorities]: `${place}:ro`,
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
  const stdout = await runToEnd(withTools(tools, words), { TMPDIR: work.path }, signal);
  // buildah makes the folder for root alone; the root of an image is everybody's.
  await chmod(target, 0o755);
  return stdout;
}

/** Runs a program in a process namespace of its own, in which nothing outlives it. Ends when nothing of it is left: all of it holds its output. */
async function runToEnd(
  [program, args]: ReturnType<typeof withTools>,
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(program, ["--pid", "--mount-proc", "--kill-child=SIGKILL", ...args], {
    env: { ...process.env, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => child.kill("SIGKILL");
  signal.addEventListener("abort", stop);
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await closed;
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`The image was not built:\n${stdout}${stderr}`);
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

/** The settings of this user, as a volume. They may hold tokens, so they are not copied. */
async function ownSettings(): Promise<Readonly<Record<string, string>>> {
  const file = await npmSetting("userconfig");
  const isThere = (await stat(file).catch(() => undefined))?.isFile() === true;
  return isThere ? { [file]: "/root/.npmrc:ro" } : {};
}

/** The certificates that npm trusts here, and their place where it runs: the settings of the user may name it. */
async function authoritiesOfNpm(): Promise<{ readonly file: string; readonly place: string }> {
  const named = await npmSetting("cafile");
  if (named !== "null" && named !== "") return { file: named, place: named };
  const { NODE_EXTRA_CA_CERTS: extra = "" } = process.env;
  return { file: extra === "" ? systemAuthorities : extra, place: "/root/authorities.pem" };
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
