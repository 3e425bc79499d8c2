import { setTimeout as delay } from "node:timers/promises";

import { ApiError } from "../../../../access/kube/api-error.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { limitsOf } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Answer, Report } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { isTable } from "../../output/output-format.ts";
import { namedNamespace } from "../../selection/hub-namespace.ts";
import { carryOut } from "./carry-out.ts";
import { refuseBlocked, refuseUnread, tellLeft } from "./migration-end.ts";
import type { Direction } from "./migration-facts.ts";
import {
  type MigrationPlan,
  migrationExitCode,
  migrationPlan,
  type NumberedStep,
} from "./migration-plan.ts";
import { detailsOf, migrationDetails, migrationTable } from "./migration-text.ts";
import { checkRights } from "./needed-rights.ts";
import { type MigrationReading, readMigration } from "./read-migration.ts";

interface Options {
  readonly check: boolean;
  readonly apply: boolean;
  readonly skipUnread: boolean;
  readonly yes: boolean;
}

/** The steps of a migration; with `apply` it carries them out. Throws UsageError, and the errors of KubeClient for the hub. */
export async function migrate(
  direction: Direction,
  options: Options,
  fleet: Fleet,
  talk: Talk,
): Promise<Report<NumberedStep> | Answer> {
  const { flags, now, signal } = fleet;
  checkLine(fleet, options);
  // A migration reads every cluster again and again. Without kept connections each reading would run the plugin, whose pace grows to one run in five minutes.
  const access = await fleet.lastingAccess();
  const reading = { direction, access, limits: fleet.limits(), now };
  const look = await readMigration(reading, signal);
  fleet.endProgress();
  const plan = migrationPlan(look.facts, look.errors);
  if (!options.apply || migrationExitCode(plan) === exitCodes.fine) return planReport(plan, fleet);
  // Where a document of the end is asked for, it is shown on standard error.
  const isWide = flags.output === "wide";
  talk.show(migrationTable(plan.items));
  talk.write(`${migrationDetails(plan.items, fleet.commands, isWide)}\n`);
  for (const remark of plan.summary.remarks) talk.say(remark);
  const blocked = plan.items.find(({ state }) => state === "Blocked");
  if (blocked !== undefined) return { exitCode: refuseBlocked(blocked, talk) };
  if (isHeld(plan, options)) return { exitCode: refuseUnread(plan, options, talk) };
  await checkRights({ ...reading, look, plan }, signal);
  await talk.ask(questions[direction], options.yes);
  const quiet = { ...reading, limits: limitsOf(flags, undefined) };
  const last = await carryOutAll(quiet, options, fleet, talk).catch((error: unknown) => {
    tellLeft(look, fleet.commands, talk);
    throw error;
  });
  if (firstOpen(last.plan) !== undefined) tellLeft(look, fleet.commands, talk);
  const { code: exitCode } = last;
  return isTable(flags) ? { exitCode } : { ...planReport(last.plan, fleet), exitCode };
}

const questions = {
  "from-upstream": "Migrate this hub and its clusters from upstream's operator to knfleet.",
  "to-upstream": "Migrate this hub and its clusters from knfleet to upstream's operator.",
} as const;

/** Throws UsageError for names and selectors, and for flags that exclude each other. */
function checkLine({ args, flags }: Fleet, { apply, check }: Options): void {
  const { selector, cluster, on, reason, failed } = flags;
  const given = [...args, namedNamespace(flags), selector, cluster, on, reason];
  const filters = given.filter((one) => one !== undefined);
  if (filters.length > 0 || failed) {
    throw new UsageError("A migration is about all components of the hub: it selects none");
  }
  if (apply && check) throw new UsageError("--check and --apply exclude each other");
}

/** Whether a cluster that cannot be read holds the migration. */
function isHeld({ errors }: MigrationPlan, { skipUnread }: Pick<Options, "skipUnread">): boolean {
  return errors.length > 0 && !skipUnread;
}

function planReport(plan: MigrationPlan, { commands }: Fleet): Report<NumberedStep> {
  const { errors, summary } = plan;
  // The clusters of the summary are those that were read.
  const unread = new Set(errors.map(({ cluster }) => JSON.stringify(cluster))).size;
  return {
    ...plan,
    tables: (_, items) => [migrationTable(items)],
    footer: ({ isWide }, items) => migrationDetails(items, commands, isWide),
    name: ({ id }) => id,
    notes: () => [
      ...summary.remarks.map(plainText),
      ...(summary.toDo > 0 ? ["Nothing was changed; --apply does it."] : []),
    ],
    counts: { unread, clusters: summary.clusters + unread },
    advises: false,
    exitCode: migrationExitCode(plan),
  };
}

// Helm and the rollout of what it installs take minutes, and a person may be slow.
const defaultWaitMs = 3_600_000;
const pauseMs = 2_000;

/** Carries the steps out in their order. Each look at the fleet says anew what is done, so a run that was interrupted goes on where it was. */
async function carryOutAll(
  reading: MigrationReading,
  options: Options,
  { commands, flags, signal }: Fleet,
  talk: Talk,
): Promise<{ readonly plan: MigrationPlan; readonly code: ExitCode }> {
  const waitMs = flags.timeoutGiven ? flags.timeoutMs : defaultWaitMs;
  const over = withTimeout(systemClock, waitMs, signal);
  const told = new Set<string>();
  for (;;) {
    const look = await readMigration(reading, signal);
    const plan = migrationPlan(look.facts, look.errors);
    if (isHeld(plan, options)) {
      tellUnread(plan, told, talk);
      if (over.aborted) return { plan, code: refuseUnread(plan, options, talk) };
      await delay(pauseMs, undefined, { signal });
      continue;
    }
    tellDone(plan, told, talk);
    const step = plan.items.find(({ state }) => state === "Blocked") ?? firstOpen(plan);
    if (step === undefined) return { plan, code: endOf(plan, options, talk) };
    if (step.state === "Blocked") {
      talk.write(detailsOf({ ...step, next: [] }, commands, false));
      return { plan, code: refuseBlocked(step, talk) };
    }
    tellOpen(step, told, commands, talk);
    if (step.by === "command") {
      const carryingOut = carryOut(step.id, { ...reading, look }, signal);
      await carryingOut.catch((error: unknown) => tellChanged(error, step, talk));
    }
    if (step.by !== "command" || told.has(`again ${step.id}`)) {
      if (over.aborted) {
        talk.fail(`Step ${step.number} ${step.id} is not done in time: ${step.message}`, []);
        return { plan, code: exitCodes.timedOut };
      }
      await delay(pauseMs, undefined, { signal });
    }
    told.add(`again ${step.id}`);
  }
}

/** The end when every step is done. What was left out is named once more. */
function endOf(plan: MigrationPlan, options: Options, talk: Talk): ExitCode {
  return plan.complete ? exitCodes.fine : refuseUnread(plan, options, talk);
}

/** Says that an object has another version, or uid, than the one that was read: it stays as it is, and is read again. Throws all other errors. */
function tellChanged(error: unknown, { number, id }: NumberedStep, talk: Talk): void {
  if (!(error instanceof ApiError) || error.reason !== "Conflict") throw error;
  talk.say(`again: ${number} ${id}: changed by somebody else since it was read: ${error.message}`);
}

/** Says once of each cluster that it cannot be read. */
function tellUnread({ errors }: MigrationPlan, told: Set<string>, talk: Talk): void {
  for (const { cluster, message } of errors) {
    const line = `not read: ${cluster ?? "the hub"}: ${message} (--skip-unread goes on without it)`;
    if (!told.has(line)) talk.say(line);
    told.add(line);
  }
}

function firstOpen({ items }: MigrationPlan): NumberedStep | undefined {
  return items.find(({ state }) => state !== "Done");
}

/** Says once of each step that it is done, up to the first that is not. */
function tellDone(plan: MigrationPlan, told: Set<string>, talk: Talk): void {
  for (const { id, number, state, message } of plan.items) {
    if (state !== "Done") return;
    if (told.has(`done ${id}`)) continue;
    told.add(`done ${id}`);
    talk.say(`done: ${number} ${id}: ${message}`);
  }
}

/** Says once of each message of a step that it is to do, with what to run by hand. */
function tellOpen(
  step: NumberedStep,
  told: Set<string>,
  commands: Fleet["commands"],
  talk: Talk,
): void {
  const line = `${step.by === "you" ? "by hand" : "to do"}: ${step.number} ${step.id}: ${step.message}`;
  if (told.has(line)) return;
  told.add(line);
  talk.say(line);
  if (step.by === "you") talk.write(detailsOf(step, commands, true));
}
