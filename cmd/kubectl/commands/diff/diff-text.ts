import type { Manifest } from "../../../../api/kubernetes.ts";
import type { ObjectChange } from "../../compare/compare.ts";
import { objectDiff } from "../render/object-diff.ts";
import { yamlOfObject } from "../render/objects-text.ts";

/** Changes of the objects of one cluster, and what stands in front of their names on both sides. */
export interface NamedChanges {
  readonly labels: readonly [live: string, wanted: string];
  /** In front of file names. */
  readonly prefix: string;
  readonly changes: readonly ObjectChange[];
}

/** The changes as unified diffs, safe for a terminal. */
export function diffText(blocks: readonly NamedChanges[]): string {
  return blocks
    .map(({ labels: [left, right], changes }) =>
      objectDiff(
        { label: left, objects: changes.flatMap(({ live }) => live ?? []) },
        { label: right, objects: changes.flatMap(({ wanted }) => wanted ?? []) },
        textOf,
      ),
    )
    .join("");
}

/** One object as the text that is compared. */
export function textOf(object: Manifest): string {
  return harmless(yamlOfObject(sorted(object)));
}

// Both sides come from different hands: in the order of a server, the same for both.
function sorted({ apiVersion, kind, metadata, ...rest }: Manifest): Manifest {
  return { apiVersion, kind, metadata: byName(metadata), ...byName(rest) };
}

function byName<Value>(value: Value): Value;
function byName(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => byName(item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, one]) => [name, byName<unknown>(one)]));
}

/** Lines and tabs stay, everything else that moves a cursor becomes a space. */
function harmless(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, " ");
}
