import type { Component } from "../../../../api/component.ts";
import { type ActionInput, print } from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { hubChanges } from "../../hub/hub-changes.ts";
import { listInstallations } from "../../hub/installations.ts";
import { parseDurationMs } from "../../output/duration.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, nameOf } from "../../output/names.ts";
import { reportOf, stampAt } from "../../output/report.ts";
import { orNone, type Table } from "../../output/table.ts";
import { readSelection } from "../../selection/selection-file.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import {
  type Goal,
  goalOf,
  minimumOf,
  waitExitCode,
  type WaitItem,
  waitItems,
  type WaitReport,
  type WaitSummary,
} from "./wait.ts";

/** Flags of `wait` alone. */
interface WaitFlags extends FilenameFlag {
  readonly for?: string;
  readonly min?: string;
  readonly stable?: string;
}

const defaultTimeoutMs = 600_000;
const pollMs = 10_000;

/** `kubectl knfleet wait`. */
export async function runWait(
  input: ActionInput<WaitFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const goal = goalOf(options.for ?? "ready");
  const min = options.min ?? "100%";
  minimumOf(min, 0);
  const wantedMs = parseDurationMs(options.stable ?? "2s", "--stable");
  // One look cannot tell for how long.
  const isOneLook = flags.timeoutZero === true;
  const stableMs = isOneLook ? 0 : wantedMs;
  const timeoutMs = flags.timeoutGiven ? flags.timeoutMs : defaultTimeoutMs;
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const selection = await readSelection(input, access, signal);
  checkMinimum(min, selection);
  const clock = AbortSignal.timeout(timeoutMs);
  const failFast = flags.failFast ?? true;
  const { items, summary } = await untilDone(
    { goal, min, failFast, stableMs, isOneLook, access, selection },
    { clock, stop: signal },
    AbortSignal.any([signal, clock]),
  );
  return await finish(items, summary, input);
}

/** More than can ever be there would be waited for in vain. Throws UsageError. */
function checkMinimum(min: string, { names, namespace, kinds }: Selection): void {
  const isFixed =
    names.length > 0 && names.every((one) => (one.namespace ?? namespace) !== undefined);
  if (!isFixed) return;
  const most = names.reduce((sum, { kind }) => sum + (kind === undefined ? kinds.length : 1), 0);
  if (minimumOf(min, most) <= most) return;
  throw new UsageError(`--min ${min} is more than the ${most} that are waited for`);
}

interface Waiting {
  readonly goal: Goal;
  readonly min: string;
  readonly failFast: boolean;
  readonly stableMs: number;
  /** Nothing is waited for. */
  readonly isOneLook: boolean;
  readonly access: ClusterAccess;
  readonly selection: Selection;
}

interface Ends {
  /** The time is over. */
  readonly clock: AbortSignal;
  /** The user interrupted. */
  readonly stop: AbortSignal;
}

interface Done {
  readonly items: readonly WaitItem[];
  readonly summary: WaitSummary;
}

/** Looks until the goal is met for long enough, cannot be met, or an end has come. */
async function untilDone(
  { goal, min, failFast, stableMs, isOneLook, access, selection }: Waiting,
  { clock, stop }: Ends,
  signal: AbortSignal,
): Promise<Done> {
  using changes = hubChanges(access, selection, signal);
  const began = performance.now();
  let items: readonly WaitItem[] = [];
  let isFirst = true;
  let metSince: number | undefined;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    const components = await look({ access, selection, isFirst }, signal);
    if (isFirst && components === undefined && !stop.aborted) clock.throwIfAborted();
    isFirst = false;
    if (components !== undefined) items = waitItems(goal, components, { selection, before: items });
    const ends = { isTimedOut: isOneLook || clock.aborted, isStopped: stop.aborted };
    const summary = summaryOf(items, { min, failFast, goal, ...ends, began });
    metSince = summary.outcome === "met" ? (metSince ?? performance.now()) : undefined;
    const leftMs = metSince === undefined ? pollMs : stableMs - (performance.now() - metSince);
    const outcome = settledOutcome(summary.outcome, { ...ends, leftMs });
    if (outcome !== "waiting") return { items, summary: { ...summary, outcome } };
    // oxlint-disable-next-line no-await-in-loop -- nothing is read before something may have changed
    await changes.next(leftMs, signal);
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

/** The components as they are; undefined when a hub that answered before does not now. */
async function look(
  {
    access,
    selection,
    isFirst,
  }: Pick<Waiting, "access" | "selection"> & { readonly isFirst: boolean },
  signal: AbortSignal,
): Promise<readonly Component[] | undefined> {
  try {
    return await listInstallations(access, selection, signal);
  } catch (error) {
    if (isFirst && !signal.aborted) throw error;
    return undefined;
  }
}

interface Judged extends Omit<WaitSummary, "outcome"> {
  readonly outcome: WaitSummary["outcome"] | "waiting";
}

interface Terms extends Pick<Waiting, "min" | "failFast"> {
  readonly goal: Goal;
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
  const isEmpty = total === 0 && terms.goal.kind !== "deleted";
  if (!isEmpty && met >= wanted) return { ...counts, outcome: "met" };
  if (isStopped) return { ...counts, outcome: "interrupted" };
  // Where more are wanted than there are, others have to come, and may.
  const isHopeless = wanted <= total && total - failed < wanted;
  if (failFast && isHopeless) return { ...counts, outcome: "failed" };
  return { ...counts, outcome: isTimedOut ? "timedOut" : "waiting" };
}

async function finish(
  items: readonly WaitItem[],
  summary: WaitSummary,
  { flags, terminal }: ActionInput<WaitFlags>,
): Promise<ExitCode> {
  const report: WaitReport = sortedBy(
    reportOf("Wait", stampAt(terminal.now()), {
      complete: summary.outcome !== "interrupted",
      summary,
      items: items.toSorted((a, b) => (sortKeyOf(a) < sortKeyOf(b) ? -1 : 1)),
      errors: [],
    }),
    flags.sortBy,
  );
  await print(
    {
      document: report,
      table: (wide) => waitTable(report.items, wide),
      names: report.items.flatMap(metName),
      notes: [noteOf(summary)],
    },
    flags,
    terminal,
  );
  return waitExitCode(summary);
}

/** As kubectl: the names of the objects that meet the condition. */
function metName({ state, kind, name }: WaitItem): readonly string[] {
  return state === "met" && kind !== null ? [nameOf({ kind, name })] : [];
}

const ranks = { failed: 0, waiting: 1, met: 2 } as const;

function sortKeyOf({ state, namespace, name, kind }: WaitItem): string {
  return [ranks[state], namespace, name, kind].join("\u0000");
}

function waitTable(items: readonly WaitItem[], wide: boolean): Table {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  const code = wide ? ["CODE"] : [];
  const tones = { met: "good", waiting: "warning", failed: "bad" } as const;
  return {
    headers: ["NAMESPACE", "NAME", "KIND", "CLUSTER", "STATE", ...code, "REASON", "MESSAGE"],
    mayShorten: ["MESSAGE"],
    rows: items.map(({ namespace, name, kind, cluster, state, message, ...why }) => [
      orNone(namespace),
      name,
      orNone(kind),
      why.reason === "NotFound" ? "<unknown>" : clusterOf(cluster),
      { text: state, tone: tones[state] },
      ...(wide ? [orNone(why.code)] : []),
      orNone(why.reason),
      orNone(message),
    ]),
  };
}

function noteOf({ met, total, wanted, outcome, elapsedSeconds }: WaitSummary): string {
  if (total === 0 && outcome !== "met")
    return "error: There is nothing to wait for: no installation matches";
  const counts = `${met} of ${total}, ${wanted} wanted, after ${elapsedSeconds} s`;
  const words = {
    met: "met",
    failed: "error: it cannot become true without help",
    timedOut: "error: timed out",
    interrupted: "interrupted",
  };
  return `${words[outcome]}: ${counts}`;
}
