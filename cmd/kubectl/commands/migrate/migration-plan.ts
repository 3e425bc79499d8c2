import { type ExitCode, exitCodes } from "../../errors.ts";
import type { ReportError } from "../../output/report.ts";
import { stepsFromUpstream } from "./from-upstream.ts";
import type { MigrationFacts } from "./migration-facts.ts";
import type { Step } from "./step.ts";
import { stepsToUpstream } from "./to-upstream.ts";

/** A step in the document, with its place in the order. */
export type NumberedStep = Step & { readonly number: number };

/** The steps of a migration, and what they are about. */
export type MigrationPlan = ReturnType<typeof migrationPlan>;

/** Decides the steps of a migration from what was read, in the order in which they have to be done. */
export function stepsOf(facts: MigrationFacts): readonly Step[] {
  return facts.direction === "from-upstream" ? stepsFromUpstream(facts) : stepsToUpstream(facts);
}

/** The plan of a migration. `errors`: of the clusters that could not be read. */
export function migrationPlan(facts: MigrationFacts, errors: readonly ReportError[]) {
  const steps = stepsOf(facts);
  const count = (state: Step["state"]): number =>
    steps.filter((step) => step.state === state).length;
  return {
    complete: errors.length === 0,
    summary: {
      direction: facts.direction,
      done: count("Done"),
      toDo: count("ToDo"),
      blocked: count("Blocked"),
      components: facts.components.length,
      clusters: facts.clusters.length,
      remarks: facts.remarks,
    },
    items: steps.map((step, at): NumberedStep => ({ number: at + 1, ...step })),
    errors,
  };
}

/** 2: a step is blocked; 3: a cluster could not be read; 1: a step is to do; 0: everything is done. */
export function migrationExitCode({ summary, complete }: MigrationPlan): ExitCode {
  if (summary.blocked > 0) return exitCodes.failed;
  if (!complete) return exitCodes.incomplete;
  return summary.toDo > 0 ? exitCodes.unhealthy : exitCodes.fine;
}
