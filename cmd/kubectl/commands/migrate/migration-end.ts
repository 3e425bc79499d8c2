import { type ExitCode, exitCodes } from "../../errors.ts";
import type { Talk } from "../../main/talk.ts";
import { type Commands, stepLine, withHub } from "../../output/steps.ts";
import { clusterName } from "./migration-facts.ts";
import type { MigrationPlan, NumberedStep } from "./migration-plan.ts";
import { recordName } from "./migration-record.ts";
import type { MigrationLook } from "./read-migration.ts";

/** Says why a migration cannot go on. */
export function refuseBlocked({ number, id, message, next }: NumberedStep, talk: Talk): ExitCode {
  talk.fail(`Step ${number} ${id} is blocked: ${message}`, next);
  return exitCodes.failed;
}

/** Says which clusters cannot be read. */
export function refuseUnread(
  { errors }: MigrationPlan,
  { skipUnread }: { readonly skipUnread: boolean },
  talk: Talk,
): ExitCode {
  const lines = errors.map(({ cluster, message }) => `${clusterName(cluster ?? "")}: ${message}`);
  talk.fail(`Not every cluster can be read: ${lines.join("; ")}`, [
    skipUnread
      ? "Run the command again when they can be read: it migrates them then."
      : "--skip-unread goes on without what cannot be read.",
  ]);
  return exitCodes.incomplete;
}

/** Says that a migration ended in the middle, how it goes on, and how it is taken back. */
export function tellLeft(
  { facts, recordPlace }: MigrationLook,
  commands: Commands,
  talk: Talk,
): void {
  const back = facts.direction === "from-upstream" ? "to-upstream" : "from-upstream";
  const record = `ConfigMap ${recordPlace.namespace}/${recordName}`;
  const next = [
    "Run the command again: it goes on where it was.",
    "Or go back:",
    `kubectl knfleet migrate ${back} --apply`,
  ];
  talk.warn(
    `warning: The migration is not over: what its steps did stays. The last step of either direction deletes ${record}, the state before`,
    ...next.map((step) => stepLine(withHub(step, commands))),
  );
}
