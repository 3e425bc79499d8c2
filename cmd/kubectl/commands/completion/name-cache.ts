import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";

import type { Flags } from "../../flags.ts";
import type { Terminal } from "../../output/terminal.ts";
import type { Word } from "./complete.ts";

const freshMs = 30_000;

/** Keeps the names of a hub for half a minute, so that the second Tab is quick. */
interface NameCache {
  /** Undefined without fresh names. */
  read(): Promise<readonly Word[] | undefined>;
  /** Stores names, readable by their owner only, and removes old files. */
  write(words: readonly Word[]): Promise<void>;
}

interface Question {
  readonly of: string;
  readonly flags: Pick<Flags, "hub" | "namespace">;
}

/** The cache for one question to one hub. Never rejects: an unusable cache is an empty one. */
export async function openNameCache(
  { of, flags: { hub, namespace } }: Question,
  { env, now }: Pick<Terminal, "env" | "now">,
): Promise<NameCache> {
  const folder = folderOf(env);
  if (folder === undefined) return { read: () => Promise.resolve(undefined), write: nothing };
  const files = kubeconfigsOf(hub.kubeconfig, env);
  // A change of the kubeconfig may name another hub.
  const stamps = await Promise.all(
    files.map((path) => ignoreErrors(async () => (await stat(path)).mtimeMs)),
  );
  // The question may hold a token, so only its hash is stored.
  const question = JSON.stringify([
    of,
    namespace === undefined,
    namespace ?? "",
    hub,
    files,
    stamps,
  ]);
  const key = createHash("sha256").update(question).digest("hex");
  const file = join(folder, `${key.slice(0, 32)}.json`);
  const ageMsOf = async (path: string): Promise<number> =>
    now().getTime() - (await stat(path)).mtimeMs;
  return {
    read: () =>
      ignoreErrors(async () =>
        Math.abs(await ageMsOf(file)) < freshMs ? await readStoredWords(file) : undefined,
      ),
    write: (words) =>
      ignoreErrors(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const fresh = `${file}.${process.pid}`;
        await writeFile(fresh, JSON.stringify(words), { mode: 0o600, flag: "wx" });
        await rename(fresh, file);
        const names = await readdir(folder);
        await Promise.all(
          names.map(async (name) => {
            const path = join(folder, name);
            if ((await ageMsOf(path)) >= freshMs) await rm(path, { force: true });
          }),
        );
      }),
  };
}

function folderOf(env: Terminal["env"]): string | undefined {
  const { XDG_CACHE_HOME = "", HOME = "" } = env;
  if (isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, "knfleet", "completion");
  return isAbsolute(HOME) ? join(HOME, ".cache", "knfleet", "completion") : undefined;
}

function kubeconfigsOf(named: string | undefined, env: Terminal["env"]): readonly string[] {
  if (named !== undefined) return [resolve(named)];
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  return listed.length > 0 ? listed : [join(env["HOME"] ?? "", ".kube", "config")];
}

async function readStoredWords(file: string): Promise<readonly Word[] | undefined> {
  const stored: unknown = JSON.parse(await readFile(file, "utf8"));
  return Array.isArray(stored) && stored.every(isWord) ? stored : undefined;
}

/** A name and its description in plain characters: a cache file that somebody else wrote must not control the terminal. */
function isWord(value: unknown): value is Word {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    value.every((part) => typeof part === "string" && /^[\w ./-]{0,512}$/.test(part))
  );
}

async function ignoreErrors<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch {
    // Completion works without a cache, and says nothing.
    return undefined;
  }
}

function nothing(): Promise<void> {
  return Promise.resolve();
}
