import { timestampOf } from "../../api/conditions.ts";
import { isRecord, jsonOf, textAt } from "../../api/fields.ts";
import { cutText, shortText } from "./set-conditions.ts";

/** The actions of users on a rollout. */
export const deeds = ["approve", "pause", "resume", "retry", "undo", "skip", "abort"] as const;
export type Deed = (typeof deeds)[number];
/** The steps in the life of a revision. */
const events = ["begin", "pass", "complete", "halt", "rollback", "supersede"] as const;

/** One entry of the record of a revision. All texts are plain and short. */
export interface RecordEntry {
  readonly what: Deed | (typeof events)[number];
  /** RFC 3339. */
  readonly at: string;
  /** Absent: not known, as after an annotation by hand. */
  readonly user?: string;
  /** Stage of the rollout at that time. */
  readonly stage?: string;
  /** The subject of the action: a gate, a cluster or a stage. */
  readonly subject?: string;
  /** The reason: the text of the user, or why the rollout failed. */
  readonly reason?: string;
}

/** Most entries of a record. */
export const mostEntries = 50;
/** Longest name of a user in a record, in bytes of JSON. */
export const longestName = 100;
/** Longest text of an entry that is no reason, in bytes of JSON. */
export const longestSubject = 300;

/** The record of a revision, from its annotation. Invalid entries are left out. */
export function recordOf(text: string | undefined): readonly RecordEntry[] {
  const list = jsonOf(text ?? "");
  return (Array.isArray(list) ? list : []).flatMap(entryOf).slice(-mostEntries);
}

/** A record with more entries. Keeps the first one and the newest, 50 in all. */
export function withEntries(
  record: readonly RecordEntry[],
  entries: readonly RecordEntry[],
): readonly RecordEntry[] {
  const [first, ...rest] = [...record, ...entries];
  return first === undefined ? [] : [first, ...rest.slice(1 - mostEntries)];
}

/** A list with the entry of a valid value; an empty list for an invalid one. */
export function entryOf(value: unknown): readonly RecordEntry[] {
  if (!isRecord(value)) return [];
  const what = [...deeds, ...events].find((one) => one === value["what"]);
  const at = textAt(value, "at");
  if (what === undefined || at === undefined || Number.isNaN(Date.parse(at))) return [];
  const texts = (["user", "stage", "subject", "reason"] as const).flatMap((field) => {
    const text = textAt(value, field) ?? "";
    if (text === "") return [];
    return [[field, field === "reason" ? shortText(text) : cutText(text, longestSubject)]];
  });
  return [{ what, at: timestampOf(new Date(at)), ...Object.fromEntries(texts) }];
}
