import type { ActionInput } from "../../action.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { commandsOf, renderFailure, stepLine, withHubSteps } from "../../output/steps.ts";
import { clusterName } from "./migration-facts.ts";
import type { MigrationPlan, NumberedStep } from "./migration-plan.ts";
import { recordName } from "./migration-record.ts";
import type { MigrationLook } from "./read-migration.ts";

type Input = Pick<ActionInput<{ readonly skipUnread?: boolean }>, "flags" | "options" | "terminal">;

/** Says on standard error why a migration cannot go on. */
export function refuseBlocked({ number, id, message, next }: NumberedStep, input: Input): ExitCode {
  tellFailure(`Step ${number} ${id} is blocked: ${message}`, next, input);
  return exitCodes.failed;
}

/** Says on standard error which clusters cannot be read. */
export function refuseUnread({ errors }: MigrationPlan, input: Input): ExitCode {
  const lines = errors.map(({ cluster, message }) => `${clusterName(cluster ?? "")}: ${message}`);
  const next = [
    input.options.skipUnread === true
      ? "Run the command again when they can be read: it migrates them then."
      : "--skip-unread goes on without what cannot be read.",
  ];
  tellFailure(`Not every cluster can be read: ${lines.join("; ")}`, next, input);
  return exitCodes.incomplete;
}

/** The exit code when every step is done. Says on standard error which clusters were left out. */
export function endAfterAll(plan: MigrationPlan, input: Input): ExitCode {
  return plan.complete ? exitCodes.fine : refuseUnread(plan, input);
}

/** Says on standard error which step was not done in time. */
export function endLate({ number, id, message }: NumberedStep, input: Input): ExitCode {
  tellFailure(`Step ${number} ${id} is not done in time: ${message}`, [], input);
  return exitCodes.timedOut;
}

/** Says on standard error that a migration ended in the middle, how it goes on, and how it is taken back. */
export function tellLeft(
  { facts, recordPlace }: MigrationLook,
  { flags, terminal }: Pick<Input, "flags" | "terminal">,
): void {
  const back = facts.direction === "from-upstream" ? "to-upstream" : "from-upstream";
  const record = `ConfigMap ${recordPlace.namespace}/${recordName}`;
  const { next } = withHubSteps(
    {
      next: [
        "Run the command again: it goes on where it was.",
        "Or go back:",
        `kubectl knfleet migrate ${back} --apply`,
      ],
    },
    commandsOf(flags),
  );
  const lines = [
    `warning: The migration is not over: what its steps did stays. The last step of either direction deletes ${record}, the state before`,
    ...next.map((step) => stepLine(step)),
  ];
  terminal.stderr.write(lines.map((line) => `${line}\n`).join(""));
}

function tellFailure(error: string, next: readonly string[], { flags, terminal }: Input): void {
  const failure = withHubSteps({ error, causes: [], next }, commandsOf(flags));
  terminal.stderr.write(renderFailure(failure));
}
