import { mkdir, open, readFile, realpath, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { type Document, isMap, isSeq, parseDocument, YAMLSeq } from "yaml";

import { UsageError } from "../../errors.ts";
import { writePrivateFile } from "../../output/private-file.ts";
import { words } from "../../output/steps.ts";
import { isOurUser, type SpokeEntry } from "../../spokes/exec-user.ts";

/** Effect of a merge on one context. */
export interface ContextChange {
  readonly name: string;
  readonly change: "added" | "changed" | "unchanged";
}

/** A kubeconfig with more contexts in it. */
interface Merged {
  readonly text: string;
  readonly changes: readonly ContextChange[];
}

const lists = ["clusters", "contexts", "users"] as const;

/**
 * The kubeconfig with these clusters added, or replaced when an earlier merge added them. Everything else stays, with comments, order and current
 * context. Throws UsageError for a text that is no kubeconfig, and for a name that an entry of the user has.
 */
export function mergedKubeconfig(
  text: string,
  entries: readonly SpokeEntry[],
  file: string,
): Merged {
  const document = parseDocument(text.trim() === "" ? emptyConfig : text, { logLevel: "error" });
  if (!isKubeconfig(document))
    throw new UsageError(`${file} is no kubeconfig: nothing was written`);
  const all = Object.fromEntries(lists.map((list) => [list, listOf(document, list, file)]));
  const changes = entries.map((entry): ContextChange => {
    const parts = partsOf(entry);
    const before = lists.map((list) => find(all[list], entry.name)?.toJSON() ?? undefined);
    if (before.some((one) => one !== undefined) && !isOurUser(before[2]?.["user"])) {
      throw new UsageError(
        `${file} has something else of the name ${entry.name}: nothing was written`,
        [
          "Choose another file with -o, or delete that context:",
          words("kubectl", "config", "delete-context", entry.name, "--kubeconfig", file),
        ],
      );
    }
    for (const list of lists) put(document, all[list], parts[list]);
    const after = lists.map((list) => find(all[list], entry.name)?.toJSON());
    if (before[2] === undefined) return { name: entry.name, change: "added" };
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    return { name: entry.name, change: isSame ? "unchanged" : "changed" };
  });
  return { text: document.toString({ lineWidth: 0 }), changes };
}

function isKubeconfig(document: Document): boolean {
  if (document.errors.length > 0 || !isMap(document.contents)) return false;
  try {
    // Throws for aliases that lead nowhere, or that grow without end.
    document.toJS({ maxAliasCount: 100 });
  } catch {
    return false;
  }
  return (document.get("kind") ?? "Config") === "Config";
}

const emptyConfig = "apiVersion: v1\nkind: Config\n";

function partsOf({ name, cluster, user }: SpokeEntry) {
  return {
    clusters: { name, cluster },
    contexts: { name, context: { cluster: name, user: name } },
    users: { name, user },
  };
}

function listOf(document: Document, list: string, file: string): YAMLSeq {
  const found = document.get(list) ?? undefined;
  if (isSeq(found)) {
    // An empty list is written as `[]`, which would keep its entries on one line.
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  if (found !== undefined) throw new UsageError(`${list} of ${file} is no list`);
  const made = new YAMLSeq();
  document.set(list, made);
  return made;
}

function indexOf(list: YAMLSeq | undefined, name: string): number {
  return list?.items.findIndex((item) => isMap(item) && item.get("name") === name) ?? -1;
}

function find(list: YAMLSeq | undefined, name: string) {
  const item = list?.items[indexOf(list, name)];
  return isMap(item) ? item : undefined;
}

/** Adds an entry, or replaces the fields of an existing one. What the user added, such as the namespace of a context, stays. */
function put(document: Document, list: YAMLSeq | undefined, part: { readonly name: string }): void {
  const present = find(list, part.name);
  if (present === undefined) {
    list?.add(document.createNode(part));
    return;
  }
  for (const [field, value] of Object.entries(part)) {
    const own = present.get(field);
    if (field !== "context") present.set(field, document.createNode(value));
    else if (isMap(own)) for (const key of ["cluster", "user"]) own.set(key, part.name);
    else present.set(field, document.createNode(value));
  }
}

/**
 * Changes a kubeconfig atomically, under the lock that kubectl uses, too. `change` gets the present text, undefined without a file, and returns the new
 * text, or undefined to change nothing. Only the owner can read the file afterwards.
 *
 * Throws UsageError for a file that others can read or write, that is no plain file, or that another program is changing.
 */
export async function changeKubeconfig(
  path: string,
  change: (text: string | undefined) => Promise<string | undefined>,
): Promise<void> {
  const file = await realpath(path).catch(() => resolve(path));
  await explainFailure(path, () => mkdir(dirname(file), { recursive: true, mode: 0o700 }));
  await using _lock = await lock(file);
  await checkPrivate(file);
  const text = await change(await readIfThere(file));
  if (text === undefined) return;
  await explainFailure(path, () => writePrivateFile(file, text));
}

/** Takes the lock file that kubectl takes while it writes. */
async function lock(file: string): Promise<AsyncDisposable> {
  const path = `${file}.lock`;
  const handle = await explainFailure(path, () => open(path, "wx", 0o600)).catch(
    (error: unknown) => {
      if (!(error instanceof UsageError) || !error.message.includes("EEXIST")) throw error;
      throw new UsageError(`${file} is being changed by somebody else: ${path} is there`, [
        `When nobody is, remove ${path}.`,
      ]);
    },
  );
  await handle.close();
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** Throws UsageError for an existing file that others can read or write. */
async function checkPrivate(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile()) throw new UsageError(`${file} is no plain file`);
  if (process.platform === "win32" || (found.mode & 0o077) === 0) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  throw new UsageError(`${file} is open to others (mode ${mode}): nothing was written`, [
    words("chmod", "600", file),
  ]);
}

async function readIfThere(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found === undefined ? undefined : explainFailure(file, () => readFile(file, "utf8"));
}

async function explainFailure<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "failed";
    throw new UsageError(`${path} cannot be written (${code})`);
  }
}
