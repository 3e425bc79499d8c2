import { timestampOf } from "../../../../api/conditions.ts";
import type { FleetSet } from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { namespacedName } from "../../../../api/keys.ts";
import { unmatchedStage } from "../../../../sets/stages.ts";
import { exitCodes, UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { readPlanFacts } from "../../hub/plan-facts.ts";
import { isSelectedProfile } from "../../hub/profiles.ts";
import type { Report } from "../../main/report.ts";
import { age, type Columns, onCluster, shortened, toned, wide } from "../../output/columns.ts";
import { countOf } from "../../output/notes.ts";
import { stepLine, withHub } from "../../output/steps.ts";
import { askChecks, type AskedCheck, type Question, questionsOf } from "./ask-checks.ts";
import { findSet } from "./named-set.ts";

type Item = ReturnType<typeof itemOf>;

/** Asks the clusters of the set that the arguments name their checks. `stage`: only those of this stage. Throws UsageError, and when the hub cannot be read. */
export async function verifyRollout(
  fleet: Fleet,
  stage: string | undefined,
): Promise<Report<Item>> {
  const access = await fleet.access();
  const { set, message, next } = await findSet(fleet, access, fleet.signal);
  if (set === undefined) {
    const errors = [{ reason: "NotFound", message, cluster: null }] as const;
    return {
      items: [],
      summary: null,
      errors,
      next: () => [stepLine(withHub(next, fleet.commands))],
    };
  }
  checkStage(set, stage);
  const { facts, unread: unreadFacts } = await readPlanFacts(access, set, fleet.signal);
  const now = fleet.now().getTime();
  const all = questionsOf(facts, set.status?.updateRevision ?? "", now);
  const questions = all.filter((question) => isWanted(question, fleet.flags, stage));
  const deps = { access, limits: fleet.limits() };
  const { asked, unread } = await askChecks(questions, deps, fleet.signal);
  const { selection } = facts;
  const warnings = [
    ...unreadFacts.map((what) => `could not be read: ${what}`),
    ...(selection.kind === "unusable"
      ? [`the selection cannot be used: ${selection.reason}: ${selection.message}`]
      : []),
  ];
  const counts = { good: count(asked, "good"), bad: count(asked, "bad") };
  const unasked = count(asked, "unasked");
  return {
    items: asked.map(itemOf),
    summary: {
      checks: asked.length,
      ...counts,
      unasked,
      clusters: questions.length,
      unread: unread.length,
      warnings,
    },
    errors: unread,
    complete: unasked === 0 && warnings.length === 0,
    ...(counts.bad === 0 ? {} : { exitCode: exitCodes.unhealthy }),
    columns,
    notes: () => [
      ...warnings.map((warning) => plainText(`warning: ${warning}`)),
      asked.length === 0
        ? "No check is asked of these clusters: see rollout.verify of the set."
        : `${counts.good} of ${countOf(asked.length, "answer")} ${counts.good === 1 ? "is" : "are"} good.`,
    ],
  };
}

/** Throws UsageError for a stage that the set has not. */
function checkStage({ spec }: FleetSet, stage: string | undefined): void {
  const names = [...(spec.rollout?.stages ?? []).map(({ name }) => name), unmatchedStage];
  if (stage === undefined || names.includes(stage)) return;
  throw new UsageError(`The set has no stage "${stage}"`, [`Its stages are ${names.join(", ")}.`]);
}

function isWanted(
  { stage: own, profile }: Question,
  flags: Fleet["flags"],
  stage: string | undefined,
): boolean {
  if (stage !== undefined && own !== stage) return false;
  if (flags.on === undefined && flags.cluster === undefined) return true;
  return profile !== undefined && isSelectedProfile(profile, flags);
}

function count(asked: readonly AskedCheck[], answer: AskedCheck["answer"]): number {
  return asked.filter((one) => one.answer === answer).length;
}

function itemOf({ cluster, stage, check, answer, message, since }: AskedCheck) {
  return {
    cluster: namespacedName(cluster),
    stage,
    check,
    answer,
    message: message === "" ? null : message,
    since: timestampOf(new Date(since)),
  };
}

const answerCells = {
  good: toned("good", "good"),
  bad: toned("bad", "bad"),
  unasked: toned("warning", "not asked"),
} as const;

const columns: Columns<Item> = {
  CLUSTER: onCluster(({ cluster }) => cluster),
  STAGE: ({ stage }) => stage,
  CHECK: ({ check }) => check,
  ANSWER: ({ answer }) => answerCells[answer],
  SINCE: wide(({ since }) => age(since)),
  MESSAGE: shortened(({ message }) => message),
};
