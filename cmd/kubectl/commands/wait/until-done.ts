import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Changes } from "../../hub/hub-changes.ts";
import { minimumOf, type WaitItem, type WaitSummary } from "./wait.ts";

const pollMs = 10_000;

/** What is looked at again and again. */
export interface Subject {
  /** The rows as the hub says; `before` are those of the last look. Throws what KubeClient throws. */
  readonly read: (before: readonly WaitItem[], signal: AbortSignal) => Promise<readonly WaitItem[]>;
  /** Tells when to look again. */
  readonly changes: (signal: AbortSignal) => Changes;
  /** Whether it counts as met when there is nothing. */
  readonly mayBeEmpty: boolean;
}

interface Waiting {
  readonly subject: Subject;
  readonly min: string;
  readonly failFast: boolean;
  readonly stableMs: number;
  /** Nothing is waited for. */
  readonly isOneLook: boolean;
  readonly timeoutMs: number;
}

interface Done {
  readonly items: readonly WaitItem[];
  readonly summary: WaitSummary;
}

/** Looks until the goal is met for long enough, cannot be met, the time is over, or the user interrupts. Throws what the first look throws. */
export async function untilDone(
  { subject, min, failFast, stableMs, isOneLook, timeoutMs }: Waiting,
  signal: AbortSignal,
): Promise<Done> {
  const limit = withTimeout(systemClock, timeoutMs, signal);
  using changes = subject.changes(limit);
  const began = performance.now();
  let items: readonly WaitItem[] = [];
  let isFirst = true;
  let metSince: number | undefined;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    const found = await look(subject, { before: items, isFirst }, limit);
    if (isFirst && found === undefined && !signal.aborted) limit.throwIfAborted();
    isFirst = false;
    if (found !== undefined) items = found;
    const ends = { isTimedOut: isOneLook || limit.aborted, isStopped: signal.aborted };
    const { mayBeEmpty } = subject;
    const summary = summaryOf(items, { min, failFast, mayBeEmpty, ...ends, began });
    metSince = summary.outcome === "met" ? (metSince ?? performance.now()) : undefined;
    const leftMs = metSince === undefined ? pollMs : stableMs - (performance.now() - metSince);
    const outcome = settledOutcome(summary.outcome, { ...ends, leftMs });
    if (outcome !== "waiting") return { items, summary: { ...summary, outcome } };
    // oxlint-disable-next-line no-await-in-loop -- nothing is read before something may have changed
    await changes.next(leftMs, limit);
  }
}

/** A goal has to stay met for a while; one that was not met long enough when the time ended counts as not met. */
function settledOutcome(
  outcome: Judged["outcome"],
  {
    isTimedOut,
    isStopped,
    leftMs,
  }: Pick<Terms, "isTimedOut" | "isStopped"> & { readonly leftMs: number },
): Judged["outcome"] {
  if (outcome !== "met" || leftMs <= 0) return outcome;
  if (isStopped) return "interrupted";
  return isTimedOut ? "timedOut" : "waiting";
}

/** The rows as they are; undefined when a hub that answered before does not now. */
async function look(
  { read }: Subject,
  { before, isFirst }: { readonly before: readonly WaitItem[]; readonly isFirst: boolean },
  signal: AbortSignal,
): Promise<readonly WaitItem[] | undefined> {
  try {
    return await read(before, signal);
  } catch (error) {
    if (isFirst && !signal.aborted) throw error;
    return undefined;
  }
}

interface Judged extends Omit<WaitSummary, "outcome"> {
  readonly outcome: WaitSummary["outcome"] | "waiting";
}

interface Terms extends Pick<Waiting, "min" | "failFast">, Pick<Subject, "mayBeEmpty"> {
  readonly isTimedOut: boolean;
  readonly isStopped: boolean;
  readonly began: number;
}

function summaryOf(items: readonly WaitItem[], terms: Terms): Judged {
  const { min, failFast, isTimedOut, isStopped, began } = terms;
  const total = items.length;
  const met = items.filter(({ state }) => state === "met").length;
  const failed = items.filter(({ state }) => state === "failed").length;
  const wanted = minimumOf(min, total);
  const counts = {
    total,
    met,
    failed,
    wanted,
    elapsedSeconds: Math.round((performance.now() - began) / 1000),
  };
  // Nothing that is selected and nothing to wait for: a typo must not pass as success.
  const isEmpty = total === 0 && !terms.mayBeEmpty;
  if (!isEmpty && met >= wanted) return { ...counts, outcome: "met" };
  if (isStopped) return { ...counts, outcome: "interrupted" };
  // Where more are wanted than there are, others have to come, and may.
  const isHopeless = wanted <= total && total - failed < wanted;
  if (failFast && isHopeless) return { ...counts, outcome: "failed" };
  return { ...counts, outcome: isTimedOut ? "timedOut" : "waiting" };
}
