import { isMap, isSeq, parseDocument, YAMLSeq, type Document } from "yaml";

import { words } from "../../commands.ts";
import { UsageError } from "../../usage-error.ts";
import { isOurUser } from "./exec-user.ts";
import type { SpokeEntry } from "./spoke-entries.ts";

/** What a merge does to one context. */
export interface ContextChange {
  readonly name: string;
  readonly change: "added" | "changed" | "unchanged";
}

/** A kubeconfig with more contexts in it. */
export interface Merged {
  readonly text: string;
  readonly changes: readonly ContextChange[];
}

const lists = ["clusters", "contexts", "users"] as const;

/**
 * The kubeconfig with these clusters added, or replaced where an earlier merge has put them; everything else stays as it is, with its comments, its order
 * and its current context. Throws UsageError for what is no kubeconfig, and for a name that somebody else's entry has.
 */
export function mergedKubeconfig(
  text: string,
  entries: readonly SpokeEntry[],
  file: string,
): Merged {
  const document = parseDocument(text.trim() === "" ? emptyConfig : text, { logLevel: "error" });
  const isConfig = isMap(document.contents) && (document.get("kind") ?? "Config") === "Config";
  if (document.errors.length > 0 || !isConfig)
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
    // `[]` would go on in one line.
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

/** Replaces the value of an entry that is there, so that what a person wrote beside it, such as the namespace of a context, stays. */
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
