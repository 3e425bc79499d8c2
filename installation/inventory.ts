import { byText, isRecord, jsonOf } from "../api/fields.ts";
import { objectId } from "../api/keys.ts";
import { type ObjectKey, isJob } from "../api/kubernetes.ts";
import { hashOf } from "../render/fields.ts";

/** One object of an installation, in the state of the last write. */
export interface InventoryEntry extends ObjectKey {
  /**
   * Content hash of the object as it was sent (desired.ts). Empty when no version was ever accepted. Also empty from
   * before a changed object is sent until the answer arrives, because the result is unknown in between.
   */
  readonly hash: string;
  /** Fingerprint (managed-fields.ts) of the last answer; absent when nothing was ever accepted. */
  readonly fingerprint?: string;
}

/** All objects that an installation may have created on its cluster. A crash between two writes loses none. */
export interface Inventory {
  /** Release version of the last attempt. */
  readonly version: string;
  /** All objects of that version were accepted and all obsolete ones are gone. */
  readonly complete: boolean;
  /** The adoption of an installation of upstream's operator is not finished. */
  readonly adopting?: boolean;
  /** Each identity once. */
  readonly entries: readonly InventoryEntry[];
}

const format = 1;
const digestLength = 22;

/**
 * Encodes an inventory; equal content gives equal text. Grouping by kind and namespace halves the bytes of two writes
 * per install, and people can still read it.
 */
export function encodeInventory({ version, complete, adopting, entries }: Inventory): string {
  const objects: Record<string, Record<string, Record<string, readonly string[]>>> = {};
  for (const entry of entries.toSorted(byText(objectId))) {
    const { apiVersion, kind, namespace = "", name, hash, fingerprint } = entry;
    const names = ((objects[`${apiVersion}/${kind}`] ??= {})[namespace] ??= {});
    names[name] = fingerprint === undefined ? [hash] : [hash, fingerprint];
  }
  const adoption = adopting === true ? { adopting } : {};
  const digest = digestOf(objects);
  return JSON.stringify({ format, version, complete, ...adoption, digest, objects });
}

/**
 * Decodes an inventory. Undefined for a text that is no inventory, has another format, or was changed; everything is
 * applied again then and obsolete objects are searched. A text without a digest is trusted.
 */
export function decodeInventory(text: string): Inventory | undefined {
  const content = jsonOf(text);
  if (!isRecord(content) || content["format"] !== format) return undefined;
  const { version, complete, objects } = content;
  if (typeof version !== "string" || !isRecord(objects)) return undefined;
  const digest = content["digest"];
  if (digest !== undefined && digest !== digestOf(objects)) return undefined;
  return {
    version,
    complete: complete === true,
    ...(content["adopting"] === true ? { adopting: true } : {}),
    entries: Object.entries(objects).flatMap(entriesOfKind),
  };
}

/**
 * Whether an object of the inventory may be missing on the cluster: a Job that was accepted. Kubernetes removes a
 * finished Job after its `ttlSecondsAfterFinished`, and the same Job must not run again.
 */
export function mayBeGone(entry: InventoryEntry): boolean {
  return isJob(entry) && entry.hash !== "" && entry.fingerprint !== undefined;
}

/** Adds the entries that only the second inventory has: all objects that may exist while one becomes the other. */
export function unionOf(next: Inventory, before: Inventory | undefined): Inventory {
  const known = new Set(next.entries.map(objectId));
  const others = before?.entries.filter((entry) => !known.has(objectId(entry))) ?? [];
  return { ...next, entries: [...next.entries, ...others] };
}

function digestOf(objects: unknown): string {
  return hashOf(objects).slice(0, digestLength);
}

function entriesOfKind([type, namespaces]: readonly [string, unknown]): readonly InventoryEntry[] {
  const slash = type.lastIndexOf("/");
  if (slash <= 0 || !isRecord(namespaces)) return [];
  const [apiVersion, kind] = [type.slice(0, slash), type.slice(slash + 1)];
  return Object.entries(namespaces).flatMap(([namespace, names]) =>
    Object.entries(isRecord(names) ? names : {}).map(([name, marks]) => ({
      apiVersion,
      kind,
      ...(namespace === "" ? {} : { namespace }),
      name,
      ...marksOf(marks),
    })),
  );
}

function marksOf(marks: unknown): Pick<InventoryEntry, "hash" | "fingerprint"> {
  const [hash, fingerprint]: readonly unknown[] = Array.isArray(marks) ? marks : [];
  if (typeof hash !== "string") return { hash: "" };
  return typeof fingerprint === "string" ? { hash, fingerprint } : { hash };
}
