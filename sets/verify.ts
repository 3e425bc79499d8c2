import type { CheckSpec, FleetSet, StageStatus, VerifySpec } from "../api/fleet-set.ts";
import type { Answers, CheckAnswer, Verification } from "./check-answer.ts";
import { type ClusterState, untilTime } from "./cluster-state.ts";
import { timeOf, updatedAtOf } from "./component-condition.ts";
import type { Member } from "./facts.ts";
import { durationOf } from "./limits.ts";
import { stampOf } from "./standing.ts";

/** Name of the check of the users' workloads. Another check cannot have it, because the webhook refuses that. */
export const workloadsCheck = "workloads";

const usual = { withinMs: 180_000, intervalMs: 30_000, limitMs: 20_000, webhookMs: 10_000 };
/** Ms that the answer of a webhook may take at the most. */
export const mostWebhookMs = 15_000;
/** Ms between two questions of one check at the least. */
export const leastIntervalMs = 10_000;
/** Where workloads may be broken for a short time only, they are asked more often, but not more often than this, in ms. */
const leastWorkloadsMs = 5_000;
/** By how much a pause between two questions may be shorter or longer than the interval. */
export const jitter = 0.1;
/** A question lasts a moment. */
const answerMs = 1_000;
/** After a check has failed the rollout, it has to be good for so long. */
const mendedMs = 300_000;

/** One question of a `verify`. */
export interface Check {
  readonly name: string;
  /** How long the answer has to be good. */
  readonly forMs: number;
  /** How long the answer may be bad. */
  readonly withinMs: number;
  readonly intervalMs: number;
  /** How long an answer may take. */
  readonly limitMs: number;
  /** How much later than the deadline of a cluster its good answer may come. */
  readonly lastsMs: number;
  /** How long it has to be good after it has failed the rollout. */
  readonly mendMs: number;
  /** Of a cluster that fails by this check. */
  readonly reason: "WorkloadsBroken" | "CheckFailed";
  readonly ask: CheckSpec | NonNullable<VerifySpec["workloads"]>;
}

/** The questions of a `verify`, each with its times. */
export function checksOf({ workloads, checks = [] }: VerifySpec): readonly Check[] {
  const own: readonly Check[] =
    workloads === undefined
      ? []
      : [
          {
            name: workloadsCheck,
            forMs: 0,
            ...workloadsTimes(durationOf(workloads.within, usual.withinMs)),
            limitMs: usual.limitMs,
            lastsMs: 0,
            mendMs: mendedMs,
            reason: "WorkloadsBroken",
            ask: workloads,
          },
        ];
  const others = checks.map((ask): Check => ({
    name: ask.name,
    withinMs: 0,
    limitMs: limitOf(ask),
    reason: "CheckFailed",
    ask,
    ...timesOf(ask),
  }));
  return [...own, ...others];
}

function workloadsTimes(withinMs: number): Pick<Check, "withinMs" | "intervalMs"> {
  const intervalMs = Math.min(usual.intervalMs, Math.max(leastWorkloadsMs, withinMs));
  return { withinMs, intervalMs };
}

/** A Job runs once, and is looked at until it has ended. */
function timesOf(ask: CheckSpec): Pick<Check, "forMs" | "intervalMs" | "lastsMs" | "mendMs"> {
  if (ask.job !== undefined) {
    const { activeDeadlineSeconds } = ask.job;
    return {
      forMs: 0,
      intervalMs: leastIntervalMs,
      lastsMs: activeDeadlineSeconds * 1_000,
      mendMs: 0,
    };
  }
  const forMs = durationOf(ask.for, 0);
  const intervalMs = Math.max(leastIntervalMs, durationOf(ask.interval, usual.intervalMs));
  return { forMs, intervalMs, lastsMs: forMs, mendMs: mendedMs };
}

/** How long an answer counts, in ms: until two questions have gone without one. An interval may be longer by a tenth. */
export function patienceOf({ intervalMs, limitMs }: Pick<Check, "intervalMs" | "limitMs">): number {
  return 2 * (1 + jitter) * intervalMs + limitMs;
}

function limitOf({ webhook }: CheckSpec): number {
  if (webhook === undefined) return usual.limitMs;
  return Math.min(mostWebhookMs, durationOf(webhook.timeout, usual.webhookMs));
}

/** `verify` of a stage; undefined when nothing is asked there. */
export function verifyOf({ spec }: FleetSet, stage: string): VerifySpec | undefined {
  const { stages = [], verify } = spec.rollout ?? {};
  const found = stages.find(({ name }) => name === stage)?.verify ?? verify;
  const { workloads, checks = [] } = found ?? {};
  return workloads === undefined && checks.length === 0 ? undefined : found;
}

/** What the state of a verified cluster follows from, besides its answers. */
export interface VerifyContext {
  readonly about: Omit<Verification, "cluster" | "component" | "stamp" | "since" | "spec">;
  readonly verify: VerifySpec;
  /** What the status says about the stage in this rollout. */
  readonly before: Pick<StageStatus, "state" | "doneAt"> | undefined;
  /** Whether the cluster was failed at the last decision, as far as the status says. */
  readonly hasFailed: boolean;
  /** Whether it was failed by a check. One that is bad now and then stays failed, so that it counts once and begins no soak anew. */
  readonly hasFailedCheck: boolean;
  readonly answers: Answers;
  readonly now: number;
  readonly deadlineMs: number | undefined;
  readonly isPaused: boolean;
}

type ReadyMember = Pick<Member, "key" | "child" | "state">;

/**
 * What is to be asked about a cluster that is ready with the revision; undefined: nothing. In a passed stage, only clusters that joined later are asked.
 */
export function verificationOf(
  { key, child, state }: ReadyMember,
  { about, verify, before, now }: VerifyContext,
): Verification | undefined {
  if (child === undefined || state.name !== "Done") return undefined;
  const since = updatedAtOf(child, now);
  if (before?.state === "Passed" && wasVerified(since, before, now)) return undefined;
  const stamp = stampOf(child);
  return { ...about, cluster: key, component: child, stamp, since, spec: verify };
}

/** The state of a cluster about which something is asked, by what its checks say: Done, Verifying, or Failed. Pure. Spec: verify.md 2. */
export function verifiedState(
  member: Pick<ReadyMember, "key" | "state">,
  { stamp, since, spec }: Verification,
  context: VerifyContext,
): ClusterState {
  const { before, now, answers } = context;
  const known = answers.get(member.key);
  const asked = known?.stamp === stamp ? known : undefined;
  const again = {
    askedSince: asked?.askedSince,
    isAgain: wasVerified(since, before, now),
    isHalted: before?.state === "Halted",
  };
  const outcomes = checksOf(spec).map((check) =>
    outcomeOf(check, asked?.checks.get(check.name), { ...context, ...again, since }),
  );
  const failed = outcomes.find(({ kind }) => kind === "failed");
  if (failed !== undefined) {
    const { reason, message } = failed;
    return { name: "Failed", reason, message, ...untilOf(outcomes) };
  }
  const open = outcomes.find(({ kind }) => kind === "open");
  if (open === undefined) return { ...member.state, ...untilOf(outcomes) };
  return { name: "Verifying", reason: "Verifying", message: open.message, ...untilOf(outcomes) };
}

/** Whether a cluster was verified before the stage was done: the status keeps that time, also for the next process. */
function wasVerified(stampedAt: number, before: VerifyContext["before"], now: number): boolean {
  return before?.doneAt !== undefined && stampedAt <= timeOf(before.doneAt, now);
}

interface CheckOutcome {
  readonly kind: "passed" | "open" | "failed";
  readonly reason: string;
  readonly message: string;
  /** When time alone changes it, in ms since the epoch. */
  readonly until?: number;
}

interface Asked extends Pick<
  VerifyContext,
  "now" | "deadlineMs" | "isPaused" | "hasFailed" | "hasFailedCheck"
> {
  /** When the cluster got the revision. */
  readonly since: number;
  /** Since when this process asks; undefined: it does not yet. */
  readonly askedSince: number | undefined;
  /** It was verified before: only a bad answer changes that. */
  readonly isAgain: boolean;
  readonly isHalted: boolean;
}

function outcomeOf(check: Check, answer: CheckAnswer | undefined, asked: Asked): CheckOutcome {
  const { now, isAgain } = asked;
  const { name, reason, forMs, mendMs } = check;
  const outcome = (kind: CheckOutcome["kind"], message: string, until: number): CheckOutcome => ({
    kind: kind === "open" && isAgain ? "passed" : kind,
    reason,
    message: `Check ${name}: ${message}`,
    ...(until > now && untilTime(until)),
  });
  const hasToMend = mustMend(answer, asked);
  const good = goodAnswer(check, answer, now);
  // A cluster that has to mend stays failed: only a good answer ends that.
  if (good === undefined) {
    const { message, until } = lackOf(check, answer, asked);
    return outcome(hasToMend || now >= until ? "failed" : "open", message, until);
  }
  const { since } = good;
  const tooShort = "it is good for too short a time yet";
  if (hasToMend && now < since + mendMs) return outcome("failed", tooShort, since + mendMs);
  const until = Math.max(since + forMs, earliestAt(check, since, asked));
  const oldAt = oldAtOf(check, good);
  if (good.at >= until) return outcome("passed", "", oldAt);
  // The next answer is not told when it says the same.
  const nextAt = good.at + (1 + jitter) * check.intervalMs + answerMs;
  return outcome("open", tooShort, now < nextAt ? nextAt : oldAt);
}

/** Whether a check has failed the cluster, or its stage, and so has to be good for five minutes. Another process knows only from the status that it was bad. */
function mustMend(answer: CheckAnswer | undefined, asked: Asked): boolean {
  const hasHalted = asked.isHalted && (asked.hasFailed || answer?.badAt !== undefined);
  return hasHalted || asked.hasFailedCheck;
}

/** The answer of a check if it is good and still counts. */
function goodAnswer(
  check: Check,
  answer: CheckAnswer | undefined,
  now: number,
): CheckAnswer | undefined {
  if (answer?.kind !== "good") return undefined;
  return now < oldAtOf(check, answer) ? answer : undefined;
}

/** When an answer counts no more, in ms since the epoch. */
function oldAtOf(check: Check, { at, isFinal }: CheckAnswer): number {
  return isFinal === true ? Number.POSITIVE_INFINITY : at + patienceOf(check);
}

/** What stands in place of a good answer that counts, and until when it may. */
function lackOf(
  check: Check,
  answer: CheckAnswer | undefined,
  asked: Asked,
): { readonly message: string; readonly until: number } {
  const deadline = deadlineOf(check, asked);
  // A process that has just begun to ask fails no cluster for that.
  if (answer === undefined) {
    const { askedSince = Infinity } = asked;
    return {
      message: "it is being asked",
      until: Math.max(deadline, askedSince + patienceOf(check)),
    };
  }
  const { kind, message, since } = answer;
  const oldAt = oldAtOf(check, answer);
  if (asked.now >= oldAt) {
    return { message: "its last answer is too old", until: Math.max(deadline, oldAt) };
  }
  return kind === "bad"
    ? { message, until: since + check.withinMs }
    : { message: `it has no answer: ${message}`, until: deadline };
}

/** The first good answer of the workloads, which came at `since`, may be older than what the new controllers do: the second one counts. */
function earliestAt({ name, intervalMs }: Check, since: number, { isAgain }: Asked): number {
  if (isAgain || name !== workloadsCheck) return since;
  return since + (1 - jitter) * intervalMs;
}

/** Until when a check may go without an answer. A pause and a rollout without a deadline wait for ever; a soak does not fail for a cluster that cannot be asked. */
function deadlineOf({ lastsMs }: Check, { since, deadlineMs, isPaused, isAgain }: Asked): number {
  if (deadlineMs === undefined || isPaused || isAgain) return Number.POSITIVE_INFINITY;
  return since + deadlineMs + lastsMs;
}

function untilOf(outcomes: readonly CheckOutcome[]): Pick<ClusterState, "until"> {
  return untilTime(Math.min(...outcomes.map(({ until = Infinity }) => until)));
}
