import { contentOf, isOfVersions } from "./content.ts";
import { revisionNameOf } from "./desired-spec.ts";
import type { Decision, Revision, SetFacts } from "./facts.ts";
import { recorded, supersedeEntry } from "./status/record.ts";

/** The mark of a revision that will be rolled out, when the revision is new or an older one is desired again. */
export function beginning(
  facts: SetFacts,
  now: number,
): Pick<Decision, "mark" | "records"> | undefined {
  const { set, revisions, digest } = facts;
  const content = contentOf(set, facts);
  const name = revisionNameOf({ ...set, spec: content });
  const before = newestOf(revisions);
  if (before?.name === name) return undefined;
  if (before !== undefined && isOfVersions(before, content, facts)) {
    if (isSameDigest(before.content.digest, digest)) return digestMark(before, digest);
  }
  const ended = before === undefined ? undefined : supersedeEntry(set, before, now);
  const number = (before?.number ?? 0) + 1;
  const turn = { stage: undefined, reason: undefined, now };
  const mark = recorded({ kind: "begin", name, number, content }, turn);
  if (before === undefined || ended === undefined) return { mark };
  return { mark, records: { name: before.name, entries: [ended] } };
}

/** Whether there is no sign that the rendering has changed. */
function isSameDigest(known: string | undefined, now: string | undefined): boolean {
  return known === undefined || now === undefined || known === now;
}

/** The mark by which a revision of an earlier knfleet gets its digest. */
function digestMark(
  { name, content }: Revision,
  digest: string | undefined,
): Pick<Decision, "mark"> | undefined {
  const isNew = digest !== undefined && content.digest === undefined;
  return isNew ? { mark: { kind: "digest", name, digest } } : undefined;
}

/** The revision that is rolled out, or was rolled out last. */
export function newestOf(revisions: readonly Revision[]): Revision | undefined {
  return revisions.toSorted((a, b) => b.number - a.number).at(0);
}

/** The revision that all stages passed last. */
export function lastCompleted(revisions: readonly Revision[]): Revision | undefined {
  return revisions
    .filter(({ completedNumber }) => completedNumber !== undefined)
    .toSorted((a, b) => (b.completedNumber ?? 0) - (a.completedNumber ?? 0))
    .at(0);
}
