import { pinnedContent } from "../../../../sets/content.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { rolloutCommand } from "../../hub/rollout-steps.ts";
import { type Answer, refusal, type Report } from "../../main/report.ts";
import { age, type Columns, tableOf } from "../../output/columns.ts";
import type { TimeText } from "../../output/duration.ts";
import { objectText } from "../../output/output-format.ts";
import { orNone, type Table } from "../../output/table.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import { readRevisions, type RevisionItem, revisionItems, revisionNamed } from "./revisions.ts";

/** The revisions of the set that the arguments name, or the content of one of them. */
export async function listHistory(
  fleet: Fleet,
  name: string | undefined,
): Promise<Report<RevisionItem> | Answer> {
  const set = await namedSet(fleet);
  if (!("kind" in set)) return set;
  const revisions = await readRevisions(await fleet.access(), set, fleet.signal);
  if (name !== undefined) {
    const revision = revisionNamed(revisions, name);
    if (revision === undefined) {
      return refusal(`There is no revision "${name}"`, [
        rolloutCommand("history", placedSetOf(set)),
      ]);
    }
    const { template, overrides = [] } = pinnedContent(revision.content);
    const fields = { template, ...(overrides.length === 0 ? {} : { overrides }) };
    return { text: await objectText(fields, fleet.flags) };
  }
  return {
    items: revisionItems(revisions, set),
    summary: { revisions: revisions.length },
    errors: [],
    tables: (looks, items) => [tableOf(items, columns, looks), recordTable(items, looks.times)],
    name: (item) => `controllerrevision.apps/${item.name}`,
    notes: () => (revisions.length === 0 ? ["The set has no revisions yet."] : []),
  };
}

const columns: Columns<RevisionItem> = {
  NUMBER: ({ number }) => number,
  REVISION: ({ name }) => name,
  VERSIONS: ({ versions }) => versions.join(", "),
  OVERRIDES: ({ overrides }) => overrides,
  MARKS: ({ marks }) => marks.join(", "),
  AGE: ({ createdAt }) => age(createdAt),
};

/** The records of the revisions in one table, the oldest entry first. */
function recordTable(items: readonly RevisionItem[], times: TimeText): Table {
  const entries = items
    .flatMap(({ name, record }) => record.map((entry) => ({ revision: name, ...entry })))
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
  return {
    headers: ["AGE", "REVISION", "WHAT", "STAGE", "USER", "REASON"],
    wraps: true,
    rows: entries.map(({ revision, what, at, user, stage, subject, reason }) => [
      times(at),
      revision,
      subject === null ? what : `${what} ${subject}`,
      orNone(stage),
      orNone(user),
      orNone(reason),
    ]),
  };
}
