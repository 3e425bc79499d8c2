import type { FleetSet } from "../../../../api/fleet-set.ts";
import { nameFirst } from "../../../../api/kubernetes.ts";
import type { SetFacts } from "../../../../sets/facts.ts";
import { rolloutCommand } from "../../hub/rollout-steps.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { ReadLimits } from "../../spokes/read-clusters.ts";
import { askChecks, type AskedCheck, questionsOf } from "./ask-checks.ts";

interface Deps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  /** The name of the planned revision. */
  readonly revision: string;
  readonly now: number;
}

const mostLines = 10;
const mostClusters = 3;

/**
 * Asks every check of a set once on the clusters as they are, so that a wrong one is found before the rollout. Returns a line for each answer that is bad, and for each reason why there
 * is none, with the clusters. No workload counts as newly broken, and no Job is looked at: the rollout has not begun.
 */
export async function checkBeforehand(
  facts: SetFacts,
  { access, limits, revision, now }: Deps,
  signal: AbortSignal,
): Promise<{ readonly bad: readonly string[]; readonly unasked: readonly string[] }> {
  const questions = questionsOf(facts, revision, now)
    .map(({ checks, ...one }) => ({
      ...one,
      since: now,
      checks: checks.filter(({ ask }) => !("job" in ask)),
    }))
    .filter(({ checks }) => checks.length > 0);
  if (questions.length === 0) return { bad: [], unasked: [] };
  const { asked } = await askChecks(questions, { access, limits }, signal);
  const { kind, metadata } = facts.set;
  const all = rolloutCommand("verify", { kind, ...metadata });
  const linesOf = (answer: AskedCheck["answer"]): readonly string[] =>
    linesWith(
      asked.filter((one) => one.answer === answer),
      all,
    );
  return { bad: linesOf("bad"), unasked: linesOf("unasked") };
}

/** `check error-rate: the query gives no number (fleet/eu-1, fleet/eu-2)`: equal answers in one line. */
function linesWith(asked: readonly AskedCheck[], all: string): readonly string[] {
  const groups = Map.groupBy(asked, ({ check, message }) => `check ${check}: ${message}`);
  const lines = [...groups].map(([text, same]) => {
    const clusters = same.map(({ cluster }) => cluster);
    return `${text} (${nameFirst(clusters, mostClusters)})`;
  });
  const more = lines.length - mostLines;
  const rest = more > 0 ? [`${more} other answers of checks: ${all}`] : [];
  return [...lines.slice(0, mostLines), ...rest];
}

/** A line for each check that only the rollout can ask, because it runs a Job. */
export function jobsOfRollout({ spec }: FleetSet): readonly string[] {
  const { verify, stages = [] } = spec.rollout ?? {};
  const checks = [verify, ...stages.map((stage) => stage.verify)].flatMap(
    (one) => one?.checks ?? [],
  );
  const names = checks.filter(({ job }) => job !== undefined).map(({ name }) => name);
  return [...new Set(names)].map(
    (name) => `check ${name}: the rollout runs its Job once on each cluster, not this plan`,
  );
}
