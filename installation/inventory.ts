import { isRecord } from "../api/fields.ts";
import { identityOf, type ObjectKey, isJob } from "../api/kubernetes.ts";
import { hashOf } from "../render/fields.ts";

/** One object of an installation, as it was last sent. */
export interface InventoryEntry extends ObjectKey {
  /**
   * Content hash of what was sent (desired.ts). Empty when nothing was ever accepted, and from before something else is sent until the answer is there: what was
   * accepted and what was not can look the same.
   */
  readonly hash: string;
  /** Fingerprint (managed-fields.ts) of the last answer; absent when nothing was ever accepted. */
  readonly fingerprint?: string;
}

/** Everything that an installation may have put on its cluster; a crash between two writes loses no object. */
export interface Inventory {
  /** Release version that was last begun. */
  readonly version: string;
  /** Everything of that version was accepted and everything obsolete is gone. */
  readonly complete: boolean;
  /** What upstream's operator installed is being taken over, and that was not finished. */
  readonly adopting?: boolean;
  /** Each identity once. */
  readonly entries: readonly InventoryEntry[];
}

const format = 1;
const digestLength = 22;

/**
 * The text of an inventory, equal for equal content: JSON grouped by kind and namespace, which halves the bytes of two writes per
 * install and can still be read by a person.
 */
export function encodeInventory({ version, complete, adopting, entries }: Inventory): string {
  const objects: Record<string, Record<string, Record<string, readonly string[]>>> = {};
  for (const entry of entries.toSorted((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1))) {
    const { apiVersion, kind, namespace = "", name, hash, fingerprint } = entry;
    const names = ((objects[`${apiVersion}/${kind}`] ??= {})[namespace] ??= {});
    names[name] = fingerprint === undefined ? [hash] : [hash, fingerprint];
  }
  const adoption = adopting === true ? { adopting } : {};
  const digest = digestOf(objects);
  return JSON.stringify({ format, version, complete, ...adoption, digest, objects });
}

/**
 * The inventory of a text; undefined when it is none, of another format, or not as it was written, which makes everything be applied again and what is
 * obsolete be looked for. One without a digest is believed.
 */
export function decodeInventory(text: string): Inventory | undefined {
  const content = parsed(text);
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
 * Whether it is right that the cluster does not have an object of the inventory any more: a Job that was accepted runs once. Kubernetes
 * removes a finished Job after its `ttlSecondsAfterFinished`, and the same content must not run again.
 */
export function mayBeGone(entry: InventoryEntry): boolean {
  return isJob(entry) && entry.hash !== "" && entry.fingerprint !== undefined;
}

/** The first inventory with those entries of the second one that it lacks: what may be on the cluster while one becomes the other. */
export function unionOf(next: Inventory, before: Inventory | undefined): Inventory {
  const known = new Set(next.entries.map(identityOf));
  const others = before?.entries.filter((entry) => !known.has(identityOf(entry))) ?? [];
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
