import { pinnedContent } from "../../../../sets/content.ts";
import { type ActionInput, print, tableText, timesOf } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { objectText } from "../../output/output-format.ts";
import { reportOf, stampAt } from "../../output/report.ts";
import { orNone } from "../../output/table.ts";
import { documentOutput } from "../../output/terminal.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { namedSet, placedSetOf } from "./named-set.ts";
import {
  readRevisions,
  type RecordedRevision,
  type RevisionItem,
  revisionItems,
  revisionNamed,
} from "./revisions.ts";
import { rolloutCommand } from "./rollout-steps.ts";
import { tellRefusal } from "./steer-action.ts";

/** Flags of `rollout history` alone. */
interface HistoryFlags {
  readonly revision?: string;
}

type Input = ActionInput<HistoryFlags>;

/** `kubectl knfleet rollout history`. */
export async function runHistory(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const set = await namedSet(input, { access, kind: "RolloutHistory" }, signal);
  if (typeof set === "number") return set;
  const revisions = await readRevisions(access, set, signal);
  if (options.revision !== undefined) {
    const revision = revisionNamed(revisions, options.revision);
    if (revision !== undefined) return await printContent(revision, input);
    const next = [rolloutCommand("history", placedSetOf(set))];
    return tellRefusal({ why: `There is no revision "${options.revision}"`, next }, input);
  }
  const document = sortedBy(
    reportOf("RolloutHistory", stampAt(terminal.now(), clientVersion), {
      complete: true,
      summary: { revisions: revisions.length },
      items: revisionItems(revisions, set),
      errors: [],
    }),
    flags.sortBy,
  );
  const times = timesOf(flags, terminal);
  await print(
    {
      document,
      table: () => ({
        headers: ["NUMBER", "REVISION", "VERSIONS", "OVERRIDES", "MARKS", "AGE"],
        rows: document.items.map(({ name, number, versions, overrides, marks, createdAt }) => [
          String(number),
          name,
          orNone(versions.join(", ")),
          String(overrides),
          orNone(marks.join(", ")),
          times(createdAt),
        ]),
      }),
      footer: recordText(document.items, { flags, terminal }),
      names: document.items.map(({ name }) => `controllerrevision.apps/${name}`),
      notes: revisions.length === 0 ? ["The set has no revisions yet."] : [],
    },
    flags,
    terminal,
  );
  return exitCodes.fine;
}

/** The records of the revisions in one table, the oldest entry first; nothing when they are empty. */
function recordText(
  items: readonly RevisionItem[],
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): string {
  const times = timesOf(flags, terminal);
  const entries = items
    .flatMap(({ name, record }) => record.map((entry) => ({ revision: name, ...entry })))
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
  if (entries.length === 0) return "";
  const table = {
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
  return `\n${tableText(table, flags, terminal)}`;
}

/** Prints template and overrides of a revision as fields of a set's spec. */
async function printContent({ content }: RecordedRevision, { flags, terminal }: Input) {
  const { template, overrides = [] } = pinnedContent(content);
  const fields = { template, ...(overrides.length === 0 ? {} : { overrides }) };
  documentOutput(terminal).write(await objectText(fields, flags));
  return exitCodes.fine;
}
