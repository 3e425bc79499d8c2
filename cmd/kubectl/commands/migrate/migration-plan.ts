import { type ExitCode, exitCodes } from "../../errors.ts";
import {
  type ReportDocument,
  type ReportError,
  reportOf,
  type ReportStamp,
} from "../../output/report.ts";
import { stepsFromUpstream } from "./from-upstream.ts";
import type { Direction, MigrationFacts } from "./migration-facts.ts";
import type { Step } from "./step.ts";
import { stepsToUpstream } from "./to-upstream.ts";

/** A step in the document, with its place in the order. */
export type NumberedStep = Step & { readonly number: number };

interface MigrationSummary {
  readonly direction: Direction;
  readonly done: number;
  readonly toDo: number;
  readonly blocked: number;
  readonly components: number;
  readonly clusters: number;
  readonly remarks: readonly string[];
}

/** The document of `migrate`. */
export type MigrationPlan = ReportDocument<"MigrationPlan", MigrationSummary, NumberedStep>;

/** Decides the steps of a migration from what was read, in the order in which they have to be done. */
export function stepsOf(facts: MigrationFacts): readonly Step[] {
  return facts.direction === "from-upstream" ? stepsFromUpstream(facts) : stepsToUpstream(facts);
}

/** The document of a migration. `errors`: of the clusters that could not be read. */
export function migrationPlan(
  facts: MigrationFacts,
  errors: readonly ReportError[],
  stamp: ReportStamp,
): MigrationPlan {
  const steps = stepsOf(facts);
  const count = (state: Step["state"]): number =>
    steps.filter((step) => step.state === state).length;
  return reportOf("MigrationPlan", stamp, {
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
    items: steps.map((step, at) => ({ number: at + 1, ...step })),
    errors,
  });
}

/** 2: a step is blocked; 3: a cluster could not be read; 1: a step is to do; 0: everything is done. */
export function migrationExitCode({ summary, complete }: MigrationPlan): ExitCode {
  if (summary.blocked > 0) return exitCodes.failed;
  if (!complete) return exitCodes.incomplete;
  return summary.toDo > 0 ? exitCodes.unhealthy : exitCodes.fine;
}
