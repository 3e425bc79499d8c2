import { structuredPatch } from "diff";

import { objectId } from "../../../api/keys.ts";
import { type Manifest, groupOf, keyOf } from "../../../api/kubernetes.ts";

/** Objects and their label in a diff. */
interface DiffSet {
  readonly label: string;
  readonly objects: readonly Manifest[];
}

/** One unified diff for each object that differs: objects of the right side in their order, then objects that only the left side has. */
export function objectDiff(
  left: DiffSet,
  right: DiffSet,
  textOf: (object: Manifest) => string,
): string {
  const before = new Map(left.objects.map((one) => [objectId(keyOf(one)), one]));
  const after = new Map(right.objects.map((one) => [objectId(keyOf(one)), one]));
  const ids = new Set([...after.keys(), ...before.keys()]);
  return [...ids]
    .map((id) => {
      const [old, now] = [before.get(id), after.get(id)];
      const path = pathOf(now ?? old);
      return unifiedDiff(
        { name: `${left.label}/${path}`, text: old && textOf(old) },
        { name: `${right.label}/${path}`, text: now && textOf(now) },
      );
    })
    .join("");
}

/** `apps.v1.Deployment.knative-serving.activator`, as kubectl diff names objects. */
function pathOf(object: Manifest | undefined): string {
  if (object === undefined) return "";
  const { apiVersion, kind, metadata } = object;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return [groupOf(apiVersion), version, kind, metadata.namespace, metadata.name]
    .filter((part) => part !== undefined && part !== "")
    .join(".");
}

/** A text and its name in the head of a diff; a missing text has no name. */
interface DiffSide {
  readonly name: string;
  readonly text: string | undefined;
}

const context = 3;
// With more edits than this the whole text is shown as replaced: the search takes quadratic time.
const maxEditLength = 2_000;

/** A unified diff as `diff -u` writes it; empty when the texts are equal. */
export function unifiedDiff(left: DiffSide, right: DiffSide): string {
  if (left.text === right.text) return "";
  const [before, after] = [wholeLines(left.text), wholeLines(right.text)];
  const options = { context, maxEditLength };
  const patch = structuredPatch("", "", before, after, undefined, undefined, options);
  const hunks = patch?.hunks ?? [replacement(before, after)];
  return [`--- ${headOf(left)}`, `+++ ${headOf(right)}`, ...hunks.flatMap(hunkLines)]
    .map((line) => `${line}\n`)
    .join("");
}

interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

function headOf({ name, text }: DiffSide): string {
  return text === undefined ? "/dev/null" : name;
}

/** Lines of a text; the line break at its end makes no difference. */
function wholeLines(text = ""): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function replacement(before: string, after: string): Hunk {
  const [old, now] = [before.split("\n").slice(0, -1), after.split("\n").slice(0, -1)];
  const lines = [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, lines };
}

function hunkLines({ oldStart, oldLines, newStart, newLines, lines }: Hunk): readonly string[] {
  return [`@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`, ...lines];
}

function rangeOf(line: number, count: number): string {
  return count === 1 ? String(line) : `${count === 0 ? line - 1 : line},${count}`;
}
