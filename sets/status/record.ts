import { timestampOf } from "../../api/conditions.ts";
import { jsonOf, recordAt } from "../../api/fields.ts";
import { type FleetSet, type StageStatus, steering } from "../../api/fleet-set.ts";
import { nameFirst } from "../../api/kubernetes.ts";
import type { Member, Revision, RevisionMark, Stage } from "../facts.ts";
import { abortReasonOf, skippedNames } from "../skips.ts";
import type { StageProgress } from "../stage-progress.ts";
import {
  deeds,
  entryOf,
  longestName,
  longestSubject,
  mostEntries,
  type RecordEntry,
} from "./record-entry.ts";
import { cutText, shortText } from "./set-conditions.ts";
import { isPaused } from "./set-status.ts";

/** The deeds that `kubectl knfleet rollout` wrote on a set, the oldest first. Approvals have annotations of their own. */
function deedsOf({ metadata }: Pick<FleetSet, "metadata">): readonly RecordEntry[] {
  return Object.entries(metadata.annotations ?? {})
    .flatMap(([name, value]) => {
      const deed = deeds.find((one) => name === `${steering.did}${one}`);
      return deed === undefined || deed === "approve"
        ? []
        : entryOf({ ...recordAt(jsonOf(value)), what: deed });
    })
    .toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

/** Whether a set has annotations of deeds, also invalid ones. All of them are removed once they are read. */
export function hasDeeds({ metadata }: Pick<FleetSet, "metadata">): boolean {
  return Object.keys(metadata.annotations ?? {}).some((name) => name.startsWith(steering.did));
}

/** The missing entries of the record of the current revision: deeds, approvals, and what users wrote by hand: pauses, skips and an abort. Pure. */
export function newEntries(
  set: FleetSet,
  update: Pick<Revision, "name" | "record" | "failed" | "number" | "completedNumber">,
  now: number,
): readonly RecordEntry[] {
  const { name, record = [], failed } = update;
  const isComplete = update.completedNumber === update.number;
  const at = timestampOf(new Date(now));
  const stage = stageOf(set);
  const written = deedsOf(set)
    .map((deed) => ({ ...deed, ...stage }))
    .filter((deed) => !record.some((known) => isSameDeed(known, deed)));
  const all = [...record, ...written];
  const approvals = approvalsOf(set, name, at).filter(
    (approval) =>
      !sinceStart(all).some((known) => isSameDeed(known, { ...approval, at: known.at })),
  );
  const pause = pauseChange(set, all);
  const byHand = [
    ...(pause === undefined ? [] : [pause]),
    ...(failed ? [] : skipsByHand(set, name, all)),
    // What is complete cannot be ended.
    ...(failed || isComplete ? [] : abortByHand(set, name, all)),
  ];
  return [...written, ...approvals, ...byHand.map((entry) => ({ ...stage, ...entry, at }))];
}

/** Where a rollout is, and why it is about to turn. */
interface Turn {
  readonly stage: string | undefined;
  readonly reason: string | undefined;
  readonly now: number;
}

function turnEntry(what: RecordEntry["what"], { stage, reason, now }: Turn): RecordEntry {
  return {
    what,
    at: timestampOf(new Date(now)),
    ...(stage === undefined ? {} : { stage }),
    ...(reason === undefined ? {} : { reason: shortText(reason) }),
  };
}

const turnsOfMarks = {
  begin: "begin",
  complete: "complete",
  fail: "rollback",
  retry: "retry",
} as const;

/** A mark with the entry that it leaves in the record, after those that it has, when the record does not have it. */
export function recorded(
  mark: RevisionMark,
  turn: Turn,
  record: readonly RecordEntry[] = [],
): RevisionMark {
  const isTold = mark.kind === "retry" && record.at(-1)?.what === "retry";
  // A digest is no turn of the rollout.
  return isTold || mark.kind === "digest"
    ? mark
    : { ...mark, entries: [...(mark.entries ?? []), turnEntry(turnsOfMarks[mark.kind], turn)] };
}

/** The entry of a halt; undefined when the record has it. */
export function haltEntry(record: readonly RecordEntry[], turn: Turn): RecordEntry | undefined {
  const last = record.findLast(({ what }) => turns.includes(what));
  if (last?.what === "abort" || (last?.what === "halt" && last.stage === turn.stage)) {
    return undefined;
  }
  return turnEntry("halt", turn);
}

/** The entries of the stages that the rollout has passed, with what came of their clusters. Those that the record has already are left out. */
export function passEntries(
  stages: readonly Stage[],
  progress: readonly Pick<StageProgress, "status">[],
  { record, now }: { readonly record: readonly RecordEntry[]; readonly now: number },
): readonly RecordEntry[] {
  const told = sinceStart(record).flatMap(({ what, stage }) => (what === "pass" ? [stage] : []));
  return progress.flatMap(({ status }, index) => {
    if (status.state !== "Passed" || told.includes(status.name)) return [];
    const reason = outcomeText(status, stages[index]?.members ?? []);
    return [turnEntry("pass", { stage: status.name, reason, now })];
  });
}

/** `2 of 3 clusters are done, 1 failed, 2 verified`. */
function outcomeText(
  { done, clusters, failed, unreachable }: StageStatus,
  members: readonly Member[],
): string {
  const verified = members.filter(
    ({ state, verification }) => state.name === "Done" && verification !== undefined,
  ).length;
  const counts = [
    [failed, "failed"],
    [unreachable, "unreachable"],
    [verified, "verified"],
  ] as const;
  const rest = counts.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  return [`${done} of ${clusters} clusters are done`, ...rest].join(", ");
}

/** The entry for a revision that ends because another one begins. Undefined when the revision ended before. */
export function supersedeEntry(
  set: FleetSet,
  { record = [], completedNumber, number, failed }: Revision,
  now: number,
): RecordEntry | undefined {
  const hasEnded = failed || completedNumber === number || record.at(-1)?.what === "supersede";
  if (hasEnded) return undefined;
  const { stage, waitingFor: reason } = set.status?.rollout ?? {};
  return turnEntry("supersede", { stage, reason, now });
}

/** After these entries a halt is a new one. */
const turns: readonly string[] = [
  "begin",
  "complete",
  "halt",
  "rollback",
  "retry",
  "abort",
  "skip",
];

function stageOf({ status }: FleetSet): Pick<RecordEntry, "stage"> {
  const stage = status?.rollout?.stage;
  return stage === undefined ? {} : { stage };
}

/** The entries of this rollout: a revision may be rolled out more than once. A retry goes on with the approvals that it has. */
function sinceStart(record: readonly RecordEntry[]): readonly RecordEntry[] {
  const start = record.findLastIndex(({ what }) => ["begin", "rollback"].includes(what));
  return record.slice(start + 1);
}

function isSameDeed(one: RecordEntry, other: RecordEntry): boolean {
  const fields = ["what", "at", "user", "subject"] as const;
  return fields.every((field) => one[field] === other[field]);
}

/** The approvals of this revision that are on a set, as a record that is read has them. */
function approvalsOf({ metadata }: FleetSet, revision: string, at: string): readonly RecordEntry[] {
  return Object.entries(metadata.annotations ?? {}).flatMap(([key, value]) => {
    const [, stage, gate] = /^(.+)-(before|after)$/.exec(key.slice(steering.approve.length)) ?? [];
    const [approved, ...user] = value.split(" ");
    const isApproval = key.startsWith(steering.approve) && approved === revision;
    if (!isApproval || stage === undefined) return [];
    const subject = gate === "before" ? `beginning of ${stage}` : `end of ${stage}`;
    const name = cutText(user.join(" "), longestName);
    return entryOf({ what: "approve", at, stage, subject, user: name });
  });
}

/** Skips that no deed tells: an entry for the clusters, and one for the stages. A record that is full would lose another entry for each. */
function skipsByHand(
  set: FleetSet,
  revision: string,
  record: readonly RecordEntry[],
): readonly Omit<RecordEntry, "at">[] {
  if (record.length >= mostEntries) return [];
  const told = sinceStart(record).flatMap(({ what, subject }) =>
    what === "skip" ? [subject] : [],
  );
  return Object.entries(skippedNames(set, revision)).flatMap(([kind, names]) => {
    const untold = names.filter((name) => !told.includes(`${kind} ${name}`));
    const many = untold.length === 1 ? kind : `${kind}s`;
    const subject = wholeNames(many, untold);
    return untold.length === 0 || told.includes(subject) ? [] : [{ what: "skip", subject }];
  });
}

/** As many names as an entry can hold, whole ones, and how many more there are. Stops at the first that is too many: an annotation may name thousands. */
function wholeNames(kind: string, names: readonly string[]): string {
  const textOf = (count: number): string => `${kind} ${nameFirst(names, count)}`;
  let count = 1;
  while (count < names.length && isWhole(textOf(count + 1))) count += 1;
  return cutText(textOf(count), longestSubject);
}

function isWhole(subject: string): boolean {
  return cutText(subject, longestSubject) === subject;
}

/** An abort that no deed tells. A retry ends it. */
function abortByHand(
  set: FleetSet,
  revision: string,
  record: readonly RecordEntry[],
): readonly Omit<RecordEntry, "at">[] {
  const reason = abortReasonOf(set, revision);
  const isEnding = set.metadata.annotations?.[steering.retry] === revision;
  const last = record.findLast(({ what }) =>
    ["begin", "rollback", "retry", "abort"].includes(what),
  );
  if (reason === undefined || isEnding || last?.what === "abort") return [];
  return [{ what: "abort", ...(reason === "" ? {} : { reason: shortText(reason) }) }];
}

/** A pause, or its end, that no deed tells. A revision begins as the last decision left the set: paused or not. */
function pauseChange(
  set: FleetSet,
  record: readonly RecordEntry[],
): Omit<RecordEntry, "at"> | undefined {
  const last = record.findLast(({ what }) => ["begin", "pause", "resume"].includes(what));
  const isTold = last?.what === "pause" || last?.what === "resume";
  const wasPaused = isTold ? last.what === "pause" : set.status?.rollout?.phase === "Paused";
  if (isPaused(set) === wasPaused) return undefined;
  if (wasPaused) return { what: "resume" };
  const reason = set.metadata.annotations?.[steering.pause] ?? "spec.rollout.paused";
  return { what: "pause", ...(reason === "" ? {} : { reason: shortText(reason) }) };
}
