import { setTimeout as delay } from "node:timers/promises";

import { ApiError } from "../../../../access/kube/api-error.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { type ActionInput, limitsOf, openReading, print, tableText } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { unreadNotes } from "../../output/notes.ts";
import { isTable } from "../../output/output-format.ts";
import { stampAt } from "../../output/report.ts";
import { commandsOf } from "../../output/steps.ts";
import { askForAgreement } from "../../output/terminal.ts";
import { namedNamespace } from "../../selection/hub-namespace.ts";
import { keepSpokes } from "../../spokes/kept-spokes.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { carryOut } from "./carry-out.ts";
import { endAfterAll, endLate, refuseBlocked, refuseUnread, tellLeft } from "./migration-end.ts";
import type { Direction } from "./migration-facts.ts";
import {
  type MigrationPlan,
  migrationExitCode,
  migrationPlan,
  type NumberedStep,
} from "./migration-plan.ts";
import { detailsOf, migrationDetails, migrationTable } from "./migration-text.ts";
import { checkRights } from "./needed-rights.ts";
import { type MigrationLook, type MigrationReading, readMigration } from "./read-migration.ts";

/** Flags of `migrate` alone. */
interface MigrateFlags {
  readonly check?: boolean;
  readonly apply?: boolean;
  readonly skipUnread?: boolean;
  readonly yes?: boolean;
}

type Input = ActionInput<MigrateFlags>;

/** `kubectl knfleet migrate from-upstream`. */
export function runFromUpstream(input: Input, signal: AbortSignal): Promise<ExitCode> {
  return runMigrate("from-upstream", input, signal);
}

/** `kubectl knfleet migrate to-upstream`. */
export function runToUpstream(input: Input, signal: AbortSignal): Promise<ExitCode> {
  return runMigrate("to-upstream", input, signal);
}

async function runMigrate(
  direction: Direction,
  input: Input,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  checkLine(input);
  await using opened = await openClusterAccess(flags, { env: terminal.env, spokes: true }, signal);
  // A migration reads every cluster again and again. Without kept connections each reading would run the plugin, whose pace grows to one run in five minutes.
  await using access = keepSpokes(opened);
  const { limits, end } = openReading(flags, terminal);
  const reading = { direction, access, limits, now: terminal.now };
  const look = await readMigration(reading, signal).finally(end);
  const plan = planOf(look, input);
  if (options.apply !== true) return await show(plan, input);
  if (migrationExitCode(plan) === exitCodes.fine) return await show(plan, input);
  showBefore(plan, input);
  const blocked = plan.items.find(({ state }) => state === "Blocked");
  if (blocked !== undefined) return refuseBlocked(blocked, input);
  if (isHeld(plan, options)) return refuseUnread(plan, input);
  await checkRights({ ...reading, look, plan }, signal);
  await askForAgreement(
    questions[direction],
    { yes: options.yes === true, input: flags.input },
    terminal,
  );
  const quiet = { ...reading, limits: limitsOf(flags, undefined) };
  const last = await migrate(quiet, input, signal).catch((error: unknown) => {
    tellLeft(look, input);
    throw error;
  });
  if (firstOpen(last.plan) !== undefined) tellLeft(look, input);
  if (!isTable(input.flags)) await show(last.plan, input);
  return last.code;
}

const questions = {
  "from-upstream": "Migrate this hub and its clusters from upstream's operator to knfleet.",
  "to-upstream": "Migrate this hub and its clusters from knfleet to upstream's operator.",
} as const;

/** Throws UsageError for names and selectors, and for flags that exclude each other. */
function checkLine({ args, flags, options }: Input): void {
  const { selector, cluster, on, reason, failed } = flags;
  const given = [...args, namedNamespace(flags), selector, cluster, on, reason];
  const filters = given.filter((one) => one !== undefined);
  if (filters.length > 0 || failed) {
    throw new UsageError("A migration is about all components of the hub: it selects none");
  }
  if (options.apply === true && options.check === true) {
    throw new UsageError("--check and --apply exclude each other");
  }
}

/** Whether a cluster that cannot be read holds the migration. */
function isHeld({ errors }: MigrationPlan, { skipUnread }: MigrateFlags): boolean {
  return errors.length > 0 && skipUnread !== true;
}

function planOf({ facts, errors }: MigrationLook, { terminal }: Pick<Input, "terminal">) {
  return migrationPlan(facts, errors, stampAt(terminal.now()));
}

async function show(plan: MigrationPlan, { flags, terminal }: Input): Promise<ExitCode> {
  const commands = commandsOf(flags);
  // The clusters of the summary are those that were read.
  const unread = new Set(plan.errors.map(({ cluster }) => JSON.stringify(cluster))).size;
  await print(
    {
      document: plan,
      table: () => migrationTable(plan),
      footer: migrationDetails(plan, { wide: flags.output === "wide", commands }),
      names: plan.items.map(({ id }) => id),
      notes: [
        ...plan.summary.remarks.map(plainText),
        ...(plan.summary.toDo > 0 ? ["Nothing was changed; --apply does it."] : []),
        ...unreadNotes(plan.errors, { unread, clusters: plan.summary.clusters + unread }),
      ],
    },
    flags,
    terminal,
  );
  return migrationExitCode(plan);
}

/** Shows the plan before it is carried out: on standard error where a document of the end is asked for. */
function showBefore(plan: MigrationPlan, input: Input): void {
  const { flags, terminal } = input;
  const wide = flags.output === "wide";
  const output = isTable(flags) ? terminal.stdout : terminal.stderr;
  if (!isTable(flags) && flags.quiet) return;
  const shown = { ...terminal, stdout: output };
  const table = tableText(
    migrationTable(plan),
    { ...flags, output: wide ? "wide" : "table" },
    shown,
  );
  output.write(`${table}${migrationDetails(plan, { wide, commands: commandsOf(flags) })}\n`);
  for (const remark of plan.summary.remarks) tell(remark, input);
}

interface Ended {
  readonly plan: MigrationPlan;
  readonly code: ExitCode;
}

// Helm and the rollout of what it installs take minutes, and a person may be slow.
const defaultWaitMs = 3_600_000;
const pauseMs = 2_000;

/** Carries the steps out in their order. Each look at the fleet says anew what is done, so a run that was interrupted goes on where it was. */
async function migrate(
  reading: MigrationReading,
  input: Input,
  signal: AbortSignal,
): Promise<Ended> {
  const { flags } = input;
  const waitMs = flags.timeoutGiven ? flags.timeoutMs : defaultWaitMs;
  const over = withTimeout(systemClock, waitMs, signal);
  const told = new Set<string>();
  for (;;) {
    const look = await readMigration(reading, signal);
    const plan = planOf(look, input);
    if (isHeld(plan, input.options)) {
      tellUnread(plan, told, input);
      if (over.aborted) return { plan, code: refuseUnread(plan, input) };
      await delay(pauseMs, undefined, { signal });
      continue;
    }
    tellDone(plan, told, input);
    const step = plan.items.find(({ state }) => state === "Blocked") ?? firstOpen(plan);
    if (step === undefined) return { plan, code: endAfterAll(plan, input) };
    if (step.state === "Blocked") {
      tell(detailsOf({ ...step, next: [] }, { wide: false, commands: commandsOf(flags) }), input);
      return { plan, code: refuseBlocked(step, input) };
    }
    tellOpen(step, told, input);
    if (step.by === "command") {
      const carryingOut = carryOut(step.id, { ...reading, look }, signal);
      await carryingOut.catch((error: unknown) => tellChanged(error, step, input));
    }
    if (step.by !== "command" || told.has(`again ${step.id}`)) {
      if (over.aborted) return { plan, code: endLate(step, input) };
      await delay(pauseMs, undefined, { signal });
    }
    told.add(`again ${step.id}`);
  }
}

/** Says that an object has another version, or uid, than the one that was read: it stays as it is, and is read again. Throws all other errors. */
function tellChanged(error: unknown, { number, id }: NumberedStep, input: Input): void {
  if (!(error instanceof ApiError) || error.reason !== "Conflict") throw error;
  tell(
    `again: ${number} ${id}: changed by somebody else since it was read: ${error.message}`,
    input,
  );
}

/** Says once of each cluster that it cannot be read. */
function tellUnread({ errors }: MigrationPlan, told: Set<string>, input: Input): void {
  for (const { cluster, message } of errors) {
    const line = `not read: ${cluster ?? "the hub"}: ${message} (--skip-unread goes on without it)`;
    if (!told.has(line)) tell(line, input);
    told.add(line);
  }
}

function firstOpen({ items }: MigrationPlan): NumberedStep | undefined {
  return items.find(({ state }) => state !== "Done");
}

/** Says once of each step that it is done, up to the first that is not. */
function tellDone(plan: MigrationPlan, told: Set<string>, input: Input): void {
  for (const { id, number, state, message } of plan.items) {
    if (state !== "Done") return;
    if (told.has(`done ${id}`)) continue;
    told.add(`done ${id}`);
    tell(`done: ${number} ${id}: ${message}`, input);
  }
}

/** Says once of each message of a step that it is to do, with what to run by hand. */
function tellOpen(step: NumberedStep, told: Set<string>, input: Input): void {
  const line = `${step.by === "you" ? "by hand" : "to do"}: ${step.number} ${step.id}: ${step.message}`;
  if (told.has(line)) return;
  told.add(line);
  tell(line, input);
  if (step.by !== "you") return;
  tell(detailsOf(step, { wide: true, commands: commandsOf(input.flags) }), input);
}

function tell(text: string, { flags, terminal }: Pick<Input, "flags" | "terminal">): void {
  const line = text.endsWith("\n") ? text : `${plainText(text)}\n`;
  if (isTable(flags)) terminal.stdout.write(line);
  else if (!flags.quiet) terminal.stderr.write(line);
}
